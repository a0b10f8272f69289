"""A lane: neighbouring rows of a batched environment, stepped together in one simulation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pe_sim.arrays import Array
from pe_sim.engagement import Engagement
from pe_sim.envs.observer import Observer
from pe_sim.policies.base import Policy
from pe_sim.policies.loader import load_policy
from pe_sim.randomise import SENSOR_DELAYS
from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command

if TYPE_CHECKING:
    from pe_sim.envs.vector_pursuit import Buffers


def stride_of(engagement: Engagement, roles: tuple[str, ...]) -> int:
    """Return the greatest number of ticks of which every decision of the roles falls on a multiple."""
    tick, strides = engagement.world.tick, []
    for name in roles:
        role = engagement.roles[name]
        sensor = role.sensors.get(role.policy.decide_on or "")
        schedule = role.trigger.on_ticks(tick, engagement.horizon)
        period = schedule.period_in_ticks
        if period is None or (sensor is not None and (sensor.jitter or sensor.latency % tick)):
            return 1
        if {f"roles.{name}.sensors.{role.policy.decide_on}.{key}" for key in SENSOR_DELAYS} & set(engagement.randomise):
            return 1
        delay = 0 if sensor is None else sensor.latency
        strides += [period, (schedule.schedule.phase + delay) // tick]
    return max(1, math.gcd(*strides)) if strides else 1


class Lane:
    """Rows ``first`` to ``first`` + ``count`` - 1 of a batched environment.

    Args:
        engagement: the engagement.
        first: its first row in the batch.
        count: how many rows.
        roles: roles whose actions come from outside.
        stride: ticks per step.
        library: 'numpy' or 'torch'.
        restart_share: ended engagements wait until they are more than this share of all.
    """

    def __init__(
        self, engagement: Engagement, first: int, count: int, roles: tuple[str, ...], *, stride: int, library: str,
        restart_share: float,
    ) -> None:
        self.first = first
        self._most_waiting = int(restart_share * count)
        self.simulation = Simulation(engagement, count, library=library)
        self.simulation.freeze_ended = self._most_waiting == 0
        self.observer = Observer(self.simulation, roles)
        self._xp = xp = self.simulation.xp
        self._engagement = engagement
        self._roles = roles
        self._stride = stride
        self._columns = slice(first, first + count)
        self._policies: dict[str, Policy] = {
            name: load_policy(engagement, name, role.action, batch=count, xp=xp)
            for name, role in self.simulation.roles.items()
            if name not in roles
        }
        self._due: dict[str, Array | None] = {}
        self._direct = self._all_act_at_once_every_tick()
        self._rewards: Array = xp.zeros((len(engagement.agents), count), dtype=xp.float64)
        self._episodes: Array = xp.zeros((count,), dtype=xp.int64)
        self._seed = 0
        self._batch = count

    def reset(self, seed: int, batch: int, buffers: Buffers) -> None:
        """Begin episode i in row i of the batch."""
        xp = self._xp
        self._seed, self._batch = seed, batch
        self._episodes = xp.arange(self._columns.start, self._columns.stop, dtype=xp.int64)
        self._restart(None)
        self.simulation.sense()
        self._find_due()
        self._rewards = self.simulation.rewards
        self._write_rewards(buffers)
        self._write(buffers)

    def _restart(self, rows: Array | None) -> None:
        xp, simulation = self._xp, self.simulation
        episodes = self._episodes if rows is None else xp.take(self._episodes, rows)
        simulation.reset(xp.full(episodes.shape, self._seed, dtype=xp.int64), episodes, rows)
        self.observer.reset(rows)
        for policy in self._policies.values():
            policy.reset(simulation.roots if rows is None else xp.take(simulation.roots, rows), rows)

    def step(self, values: dict[str, Array], buffers: Buffers) -> tuple[Array, dict[str, Array], Array, Array]:
        """Submit the lane's part of the actions (A, n, B), run one stride, and write the buffers.

        Returns:
            Of the episodes that ended: rows of the batch, last observations (K, n, R) by role, outcomes, lengths.
        """
        simulation, before = self.simulation, self.simulation.running
        if self._direct:
            self._act(values)
        else:
            self._submit(values)
            self._run()
        self._write_rewards(buffers)
        over = before & ~simulation.running
        buffers.terminated[self._columns] = over & ~simulation.truncated
        buffers.truncated[self._columns] = over & simulation.truncated
        finals = self._finals(self._xp.nonzero(over)[0])
        self._begin_anew()
        if not self._direct:
            self._find_due()
        self._write(buffers)
        return finals

    def _all_act_at_once_every_tick(self) -> bool:
        """Return whether every agent decides at every tick, and what it decides takes effect then and there."""
        return not self._policies and all(
            role.triggers.schedule.every_tick
            and self._engagement.roles[name].policy.decide_on is None
            and role.hold.immediate
            and role.gate.open
            for name, role in self.simulation.roles.items()
        )

    def _act(self, values: dict[str, Array]) -> None:
        """Run one tick under actions that have nothing to wait for: neither gate nor hold would change anything."""
        xp, simulation, commands = self._xp, self.simulation, {}
        for name in self._roles:
            mine = xp.astype(values[name][:, :, self._columns], xp.float32)
            due = self._due[name]
            assert due is not None
            self.observer.note(name, mine, due)
            commands[name] = Command(mine, None)
        simulation.advance(commands)
        self._rewards = simulation.rewards
        simulation.sense()

    def _submit(self, values: dict[str, Array]) -> None:
        xp = self._xp
        for name in self._roles:
            due = self._due[name]
            if due is not None:
                mine = xp.astype(values[name][:, :, self._columns], xp.float32)
                self.simulation.submit(name, mine, due, possible=True)
                self.observer.note(name, mine, due)

    def _run(self) -> None:
        """Run one stride; sum the rewards."""
        simulation = self.simulation
        for tick in range(self._stride):
            if tick:
                self._find_due()
            simulation.advance()
            self._rewards = simulation.rewards if tick == 0 else self._rewards + simulation.rewards
            simulation.sense()

    def _find_due(self) -> None:
        """Let the file's policies decide where they are due, and note which controlled agents are."""
        simulation = self.simulation
        for name, role in simulation.roles.items():
            due = simulation.due(name)
            policy = self._policies.get(name)
            if policy is None:
                self._due[name] = due
            elif due is not None:
                assert role.perception is not None
                views = role.perception.view(simulation.now)
                simulation.submit(name, policy.decide(views, simulation.now, due), due)

    def _finals(self, ended: Array) -> tuple[Array, dict[str, Array], Array, Array]:
        """Return what the episodes that have just ended saw last, and what they came to."""
        xp, simulation = self._xp, self.simulation
        if ended.shape[0] == 0:
            return ended, {}, ended, ended
        seen = {name: self.observer.observe_rows(name, ended) for name in self._roles}
        outcomes, ticks = xp.take(simulation.outcome, ended), xp.take(simulation.tick, ended)
        return ended + self.first, seen, outcomes, ticks

    def _begin_anew(self) -> None:
        """Begin the next episodes where the last have ended, once enough have."""
        xp, simulation = self._xp, self.simulation
        fresh = ~simulation.running
        ended = xp.nonzero(fresh)[0]
        if ended.shape[0] <= self._most_waiting:
            return
        self._episodes[ended] += self._batch
        self._restart(ended)
        simulation.sense(fresh)

    def _write_rewards(self, buffers: Buffers) -> None:
        for name in self._roles:
            role = self.simulation.roles[name]
            buffers.rewards[name][:, self._columns] = self._rewards[role.first : role.last]

    def _write(self, buffers: Buffers) -> None:
        simulation, columns = self.simulation, self._columns
        for name in self._roles:
            role = simulation.roles[name]
            if self.observer.size(name):
                self.observer.observe(name, buffers.observations[name][:, :, columns])
            due, alive = self._due[name], simulation.alive[role.first : role.last]
            buffers.due[name][:, columns] = False if due is None else due & simulation.running & alive
            buffers.alive[name][:, columns] = alive
        buffers.running[columns] = simulation.running
