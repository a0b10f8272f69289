"""The contract of a world as a test to inherit: every failure says what the world does and what to do about it.

In the tests of a world of your own::

    class TestMyWorld(WorldContract):
        def engagement(self) -> Engagement:
            return load("my_engagement.yaml")

pytest then runs every ``test_...`` below on it. Everything is compared to the bit: a world that passes gives the same
trajectory alone, in a batch, in the env and in the simulation node.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pe_sim import registry, streams
from pe_sim.actions import Mode
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.state import COMPONENTS
from pe_sim.worlds.base import Command, World
from pe_sim.worlds.contract_tools import block_of, drawn_parts, other_values, same_bits, with_mode

HELD = 7
"""Ticks for which a drawn command is held."""

UNIT = 1e-9
"""How far the length of an attitude quaternion may be from 1."""


class WorldContract:
    """What every world owes to the scheduler.

    Attributes:
        batch: engagements run at once.
        ticks: ticks run per test.
        library: array library.
    """

    batch: ClassVar[int] = 4
    ticks: ClassVar[int] = 40
    library: ClassVar[str] = "numpy"

    def engagement(self) -> Engagement:
        """Return an engagement of the world under test, best one with several roles and agents."""
        raise NotImplementedError("return an engagement whose world.backend is the world under test")

    # What a test needs.

    def make(self, batch: int | None = None) -> World:
        """Return a world, not yet reset."""
        engagement = self.engagement()
        world = registry.lookup("pe_sim.worlds", engagement.world.backend)
        made: World = world(engagement, self.batch if batch is None else batch, namespace(self.library))
        return made

    def begin(self, world: World, episodes: list[int], rows: list[int] | None = None) -> None:
        """Reset engagements of a world, all or some, to the starts of given episodes."""
        xp = world.xp
        numbers = xp.asarray(np.asarray(episodes, dtype=np.int64))
        keys = streams.episode_keys(numbers * 0 + 7, numbers)
        world.reset(keys, None if rows is None else xp.asarray(np.asarray(rows, dtype=np.int64)))

    def draw(self, world: World, episodes: list[int], tick: int) -> dict[str, Command]:
        """Return random commands within the action specs; those of a row depend on its episode and the tick only."""
        commands = {}
        for place, role in enumerate(world.engagement.roles):
            spec, count = world.action_spec(role), world.engagement.roles[role].count
            rows = []
            for episode in episodes:
                part = drawn_parts(episode, tick // HELD, place, (spec.size, count))
                value = spec.low[:, None] + part * (spec.high - spec.low)[:, None]
                rows.append(np.floor(part * (spec.choices - 0.001)) if spec.discrete else value)
            commands[role] = Command(world.xp.asarray(np.stack(rows, axis=-1).astype(np.float32)), None)
        return commands

    def fly(self, world: World, episodes: list[int], ticks: int | None = None, first: int = 0) -> list[NDArray[Any]]:
        """Run a world under drawn commands and return the state after every tick, (13, N, B)."""
        states = []
        for tick in range(first, first + (self.ticks if ticks is None else ticks)):
            world.step(self.draw(world, episodes, tick), None)
            states.append(block_of(world))
        return states

    # What a world owes.

    def test_is_registered_under_its_name(self) -> None:
        """The engagement file finds the world, and its section is read by the world's own parameters."""
        world = self.make()
        assert type(world).name == world.engagement.world.backend, (
            f"{type(world).__name__}.name is {type(world).name!r}, but the file calls it "
            f"{world.engagement.world.backend!r}: give it the name it is registered under"
        )
        assert isinstance(world.engagement.world, type(world).Parameters), (
            f"set {type(world).__name__}.Parameters to the class of its section of the engagement file"
        )

    def test_describes_its_actions(self) -> None:
        """Every role has an action with finite limits, a name and a unit per value."""
        world = self.make()
        for role in world.engagement.roles:
            spec = world.action_spec(role)
            say = f"action_spec({role!r}), kind {spec.kind!r}:"
            assert spec.size >= 1, f"{say} an action needs a value; build it with pe_sim.actions.continuous or discrete"
            assert len(spec.names) == len(spec.units) == len(spec.low) == len(spec.high), (
                f"{say} give one unit, one least and one greatest value per name"
            )
            assert spec.low.dtype == spec.high.dtype == np.float32, f"{say} low and high must be float32"
            assert np.isfinite(spec.low).all(), f"{say} low must be finite: policies scale by it"
            assert np.isfinite(spec.high).all(), f"{say} high must be finite: policies scale by it"
            assert (spec.low <= spec.high).all(), f"{say} low must not exceed high"

    def test_starts_soundly(self) -> None:
        """After a reset the state is canonical, finite, and keeps the least start distances."""
        world = self.make()
        self.begin(world, list(range(self.batch)))
        self.check(world, "reset")
        spec, teams = world.engagement.world, world.engagement.teams
        place = block_of(world)[:3]
        for i, team in enumerate(teams):
            for j in range(i):
                least = max(spec.min_separation, spec.min_start_distance if teams[j] != team else 0.0)
                apart = np.sqrt(((place[:, i] - place[:, j]) ** 2).sum(axis=0)).min()
                assert apart > least or apart == least == 0.0, (
                    f"agents {i} and {j} start {apart} m apart, the file asks for more than {least} m: "
                    "draw their places with pe_sim.worlds.placement.StartPlaces"
                )

    def test_stays_sound(self) -> None:
        """Whatever is commanded within the limits, the state stays canonical and finite."""
        world = self.make()
        episodes = list(range(self.batch))
        self.begin(world, episodes)
        memory = world.state.block
        for tick in range(self.ticks):
            world.step(self.draw(world, episodes, tick), None)
            self.check(world, f"tick {tick}")
        assert world.state.block is memory, "step() must write state.block in place: others hold views of it"

    def test_repeats_itself(self) -> None:
        """The same keys and commands give the same trajectory: nothing else is random, nothing is left over."""
        episodes = list(range(self.batch))
        first, second = self.make(), self.make()
        self.begin(first, episodes)
        self.begin(second, [episode + 100 for episode in episodes])
        self.fly(second, episodes, 3)
        self.begin(second, episodes)
        same_bits(
            [block_of(first), *self.fly(first, episodes)], [block_of(second), *self.fly(second, episodes)],
            "two runs of the same episodes differ (the second world had flown before): draw all randomness from the "
            "keys given to reset(), and let reset() clear everything that a world remembers",
        )

    def test_runs_a_row_of_a_batch_as_alone(self) -> None:
        """Engagement i of a batch is the same engagement as a batch of one."""
        episodes = [3 * row + 1 for row in range(self.batch)]
        world = self.make()
        self.begin(world, episodes)
        together = [block_of(world), *self.fly(world, episodes)]
        for row, episode in enumerate(episodes):
            alone = self.make(1)
            self.begin(alone, [episode])
            same_bits(
                [state[:, :, row : row + 1] for state in together], [block_of(alone), *self.fly(alone, [episode])],
                f"row {row} of a batch of {self.batch} differs from the same episode alone: compute element by "
                "element, write sums out, and let no row see another",
            )
            alone.close()

    def test_resets_some_rows_and_no_others(self) -> None:
        """A reset of some engagements begins those as anew and leaves the others as they are."""
        episodes = list(range(self.batch))
        world, other = self.make(), self.make()
        for each in (world, other):
            self.begin(each, episodes)
            self.fly(each, episodes)
        rows = list(range(1, self.batch, 2))
        kept = [row for row in range(self.batch) if row not in rows]
        self.begin(world, [episode + 50 for episode in rows], rows)
        mixed = [episode + 50 if episode in rows else episode for episode in episodes]
        flown, reference = self.fly(world, mixed, first=0), self.fly(other, mixed, first=0)
        same_bits(
            [state[:, :, kept] for state in flown], [state[:, :, kept] for state in reference],
            f"a reset of rows {rows} changed others: write only [..., rows] in reset()",
        )
        fresh = self.make(len(rows))
        self.begin(fresh, [episode + 50 for episode in rows])
        same_bits(
            [state[:, :, rows] for state in flown], self.fly(fresh, [episode + 50 for episode in rows]),
            f"rows {rows} differ after their reset from new engagements: reset() must clear all that a row remembers",
        )

    def test_leaves_inactive_agents_alone(self) -> None:
        """Who is not active keeps every bit of its state, and goes on from there."""
        episodes = list(range(self.batch))
        world = self.make()
        self.begin(world, episodes)
        self.fly(world, episodes, 5)
        random = np.random.default_rng(1)
        for tick in range(self.ticks):
            active = random.uniform(size=(len(world.engagement.agents), self.batch)) < 0.5
            before = block_of(world)
            world.step(self.draw(world, episodes, tick), world.xp.asarray(active))
            after = block_of(world)
            same_bits(
                [before[:, ~active]], [after[:, ~active]],
                "an agent that is not active changed: write only where ``active``, to the last bit",
            )
            self.check(world, f"tick {tick} with some agents inactive")

    def test_does_not_care_for_the_order_of_commands(self) -> None:
        """All agents move at once, whatever the order of the roles in the dict."""
        episodes = list(range(self.batch))
        first, second = self.make(), self.make()
        for world in (first, second):
            self.begin(world, episodes)
        for tick in range(self.ticks):
            commands = self.draw(first, episodes, tick)
            first.step(commands, None)
            second.step(dict(reversed(commands.items())), None)
        same_bits(
            [block_of(first)], [block_of(second)],
            "the order of the commands changes the trajectory: let no agent see the new state of another",
        )

    def test_keeps_its_hands_off_the_commands(self) -> None:
        """A command is held over many ticks; step() must not write to it."""
        world = self.make()
        episodes = list(range(self.batch))
        self.begin(world, episodes)
        commands = self.draw(world, episodes, 0)
        before = {role: np.asarray(command.values).copy() for role, command in commands.items()}
        world.step(commands, None)
        for role, command in commands.items():
            same_bits(
                [before[role]], [np.asarray(command.values)],
                f"step() changed the values of the command of {role!r}: work on a copy",
            )

    def test_carries_out_every_mode(self) -> None:
        """EXECUTE and HOLD follow the values, COAST and STOP do without them, mixed as they come."""
        episodes = list(range(self.batch))
        plain, hold, mixed, wild = (self.make() for _ in range(4))
        for world in (plain, hold, mixed, wild):
            self.begin(world, episodes)
        random = np.random.default_rng(2)
        for tick in range(self.ticks):
            commands = self.draw(plain, episodes, tick)
            plain.step(commands, None)
            hold.step({role: with_mode(hold, command, int(Mode.HOLD)) for role, command in commands.items()}, None)
            chosen = {
                role: random.integers(0, len(Mode), command.values.shape[1:]) for role, command in commands.items()
            }
            some = {role: with_mode(mixed, command, chosen[role]) for role, command in commands.items()}
            mixed.step(some, None)
            wild.step({role: other_values(wild, command) for role, command in some.items()}, None)
            self.check(mixed, f"tick {tick} under mixed modes")
        same_bits(
            [block_of(plain)], [block_of(hold)], "HOLD differs from EXECUTE: both carry out the values they are given"
        )
        same_bits(
            [block_of(mixed)], [block_of(wild)],
            "the values of a command matter although its mode is COAST or STOP: handle command.mode",
        )

    def test_closes_twice(self) -> None:
        """Closing is safe at any time and any number of times."""
        world = self.make()
        world.close()
        world.close()
        flown = self.make()
        self.begin(flown, list(range(self.batch)))
        flown.close()
        flown.close()

    def check(self, world: World, when: str) -> None:
        """Assert that the state is canonical: shape, type, finite, unit quaternions; and ``failed`` with it."""
        engagement = world.engagement
        shape = (COMPONENTS, len(engagement.agents), world.batch)
        block = block_of(world)
        assert block.shape == shape, f"after {when} the state has shape {block.shape}, not {shape}"
        assert block.dtype == np.float64, f"after {when} the state is {block.dtype}, not float64"
        for component, agent, row in np.argwhere(~np.isfinite(block))[:1]:
            raise AssertionError(
                f"after {when} component {component} of {engagement.agents[agent]} in row {row} is "
                f"{block[component, agent, row]}: no action within its spec may lead to that"
            )
        length = np.sqrt((block[3:7] ** 2).sum(axis=0))
        assert (np.abs(length - 1.0) < UNIT).all(), (
            f"after {when} an attitude has the length {length.flat[np.abs(length - 1.0).argmax()]}: "
            "quaternions must be of unit length"
        )
        if world.failed is not None:
            failed = np.asarray(world.failed)
            assert failed.shape == shape[1:], f"failed has shape {failed.shape}, not {shape[1:]}"
            assert failed.dtype == np.bool_, f"failed is {failed.dtype}, not bool"
