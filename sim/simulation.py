"""The scheduler: one engagement, or a batch of them, tick by tick. Env, training and the simulation node all run it.

Order of events at tick n, instant t = n * tick:

1. sensors whose reading is due measure the state x(t);
2. readings that have arrived by t are delivered;
3. policies whose decision is due (by rate, or because a reading of their sensor was delivered) see what has arrived
   and submit an action stamped t;
4. actions whose instant of effect has come take effect, the newest decision winning; expired ones fall back;
5. the world integrates to t + tick under the actions in effect, held constant;
6. the rules judge x(t + tick).

All randomness comes from streams keyed by (seed, episode, agent, sensor, number), all instants are integers: the
trajectory depends on the engagement, the seed and the policies only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pe_sim import registry, streams
from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array, namespace, replaced
from pe_sim.draws import Parameter, latency_of
from pe_sim.engagement import Engagement
from pe_sim.gate import ActionGate
from pe_sim.hold import ActionHold
from pe_sim.perception import Perception, Triggers
from pe_sim.rules import RUNNING, Rules, Verdict
from pe_sim.state import State
from pe_sim.timing import seconds
from pe_sim.worlds.base import Command, World


@dataclass
class RoleRuntime:
    """What the scheduler keeps for one role.

    Attributes:
        name: the role.
        first, last: its agents are ``first`` to ``last`` - 1.
        action: what they can do.
        gate: limits on it.
        hold: the action in effect and those under way.
        triggers: when decisions are due.
        perception: what the agents know; None where sensing happens elsewhere.
    """

    name: str
    first: int
    last: int
    action: ActionSpec
    gate: ActionGate
    hold: ActionHold
    triggers: Triggers
    perception: Perception | None
    decisions: Array = field(default=None)


class Simulation:
    """A batch of B engagements of one file.

    Args:
        engagement: the engagement.
        batch: how many at once.
        sensing: whether to simulate sensors; False in the simulation node, whose sensor nodes do.
        library: 'numpy' or 'torch'.

    Attributes:
        tick: number of the present tick of each engagement, int64 (B,).
        alive: agents in play, bool (N, B).
        running: engagements not ended, bool (B,).
        outcome: index into :data:`pe_sim.rules.OUTCOMES`, (B,).
        rewards: rewards of the last tick, float64 (N, B).
        distances: pursuer to evader [m], (P, E, B).
        freeze_ended: whether ended engagements keep their last state (the default). Where nobody looks at it before
            they are reset, it is cheaper to let them drift.
    """

    def __init__(self, engagement: Engagement, batch: int = 1, *, sensing: bool = True, library: str = "numpy") -> None:
        self.engagement = engagement
        self.batch = batch
        self.xp = xp = namespace(library)
        self.world: World = registry.lookup("pe_sim.worlds", engagement.world.backend)(engagement, batch, xp)
        self.rules = Rules.of(engagement, xp)
        self.roles = {name: self._role(name, sensing) for name in engagement.roles}
        self.tick: Array = xp.zeros((batch,), dtype=xp.int64)
        self.alive: Array = xp.ones((len(engagement.agents), batch), dtype=xp.bool)
        self.running: Array = xp.zeros((batch,), dtype=xp.bool)
        self.outcome: Array = xp.zeros((batch,), dtype=xp.int64)
        self.rewards: Array = xp.zeros((len(engagement.agents), batch), dtype=xp.float64)
        self.truncated: Array = xp.zeros((batch,), dtype=xp.bool)
        self.distances: Array = None
        self.seeds: Array = xp.zeros((batch,), dtype=xp.int64)
        self.episodes: Array = xp.zeros((batch,), dtype=xp.int64)
        self.roots: Array = xp.zeros((batch,), dtype=xp.int64)
        self._everyone = self._all_running = self._all_in_play = True
        self.freeze_ended = True
        self._moved: Array | None = None
        self._clock: int | None = None
        self._tick_length = engagement.world.tick
        self._elapsed = 0
        self._now: Array = self.tick * self._tick_length

    def _role(self, name: str, sensing: bool) -> RoleRuntime:
        spec = self.engagement.roles[name]
        first, last = self.engagement.role_ranges[name]
        action = self.world.action_spec(name)
        gate = ActionGate(spec.gate, action, seconds(spec.trigger.period), self.xp, f"roles.{name}.gate")
        agents = self.engagement.agents[first:last]
        latency = Parameter(self.engagement, *latency_of(self.engagement, name), self.xp, agents)
        hold = ActionHold(spec, action, last - first, self.batch, self.xp, latency)
        perception = Perception(self.engagement, name, self.batch, self.xp) if sensing else None
        triggers = Triggers(self.engagement, name, self.batch, self.xp)
        return RoleRuntime(name, first, last, action, gate, hold, triggers, perception)

    @property
    def state(self) -> State:
        """True state of all agents."""
        return self.world.state

    @property
    def now(self) -> Array:
        """Present instant of each engagement [ns], int64 (B,)."""
        return self._now

    @property
    def elapsed(self) -> int:
        """Ticks advanced since the beginning, in time [ns]: what :meth:`pe_sim.hold.ActionHold.put` is told."""
        return self._elapsed

    def reset(self, seeds: Array, episodes: Array, rows: Array | None = None) -> None:
        """Begin episodes.

        Args:
            seeds: seed of each engagement to reset, int64 (R,).
            episodes: number of its episode, int64 (R,).
            rows: which engagements, indices (R,); None for all.
        """
        roots = streams.episode_keys(seeds, episodes)
        where = slice(None) if rows is None else rows
        self.roots[where] = roots
        self.seeds[where] = seeds
        self.episodes[where] = episodes
        self.world.reset(roots, rows)
        self.tick[where] = 0
        self.alive[:, where] = True
        self.running[where] = True
        self.outcome[where] = RUNNING
        self.truncated[where] = False
        self.rewards[:, where] = 0.0
        self.distances = self.rules.reset(self.state, rows, self.distances)
        for role in self.roles.values():
            role.hold.reset(rows, roots)
            role.triggers.reset(roots, rows)
            if role.perception is not None:
                role.perception.reset(roots, rows)
        self._take_stock()
        self._moved = None if self._all_running else self.running
        self._now = self.tick * self._tick_length
        self._clock = 0 if rows is None else self._common_tick()

    def _common_tick(self) -> int | None:
        """Return the tick that all engagements are at, None where they are at different ones."""
        first = int(self.tick[0])
        return first if self.batch == 1 or first == int(self.xp.max(self.tick)) == int(self.xp.min(self.tick)) else None

    def sense(self, only: Array | None = None) -> None:
        """Take the readings due now and deliver those that have arrived. Call once per tick.

        An episode's last state is still measured: the tick at which it ends is the last at which anything is due.

        Args:
            only: engagements in which to do so, bool (B,): after a reset of some in the course of a tick.
        """
        moved = self._moved if only is None else only
        for role in self.roles.values():
            assert role.perception is not None, "this simulation was made without sensing"
            role.perception.sense(self.state, self.alive, self.tick, self._clock, self._now, moved)

    def due(self, role: str) -> Array | None:
        """Return which agents of a role decide now, bool (n, B); None for nobody."""
        runtime = self.roles[role]
        due = runtime.triggers.due(self.tick, self._clock, None if self._all_running else self.running)
        if due is None or self._everyone or (self._all_in_play and not self.freeze_ended):
            return due
        due = due & self.alive[runtime.first : runtime.last] & self.running
        return due if bool(self.xp.any(due)) else None

    def submit(self, role: str, values: Array, due: Array, *, possible: bool = False) -> Array:
        """Submit the actions decided now: through the gate, then held until their instant of effect.

        Args:
            role: the role.
            values: float32 (A, n, B); what stands where ``due`` is false is ignored.
            due: who decides, bool (n, B).
            possible: whether all values are known to be choices there are; a gate that limits no further is skipped.

        Returns:
            Gate bits, (n, B).
        """
        runtime = self.roles[role]
        if possible and runtime.gate.open:
            allowed, bits = values, runtime.gate.untouched(values.shape[1:])
        else:
            allowed, bits = runtime.gate.check(values, runtime.hold.newest, runtime.hold.decided)
        if not self._all_running and runtime.hold.immediate:
            # Of no consequence where the episode is over, and so most often all are due. With a latency the action
            # would wait for an instant that an ended engagement never sees.
            due = due | ~self.running
        runtime.hold.put(allowed, due, self._now, elapsed=self._elapsed)
        return bits

    def commands(self) -> dict[str, Command]:
        """Return the actions in effect now, those that have come into effect and those that have expired applied."""
        return {name: role.hold.command(self._now, self._elapsed) for name, role in self.roles.items()}

    def advance(self, commands: dict[str, Command] | None = None) -> Verdict:
        """Integrate one tick under the actions in effect and judge the result."""
        if commands is None:
            commands = self.commands()
        going = None if self._all_running else self.running
        if self._everyone or (self._all_in_play and not self.freeze_ended):
            active = self._moved = None
        else:
            active, self._moved = self.alive if going is None else self.alive & going, going
        self.world.step(commands, active)
        self.tick = self.tick + (1 if going is None else self.xp.astype(going, self.xp.int64))
        self._clock = None if self._clock is None else self._clock + 1
        self._elapsed += self._tick_length
        self._now = self.tick * self._tick_length
        verdict = self.rules.judge(
            self.state, self.alive, self.tick, self.world.failed, self._clock, everyone=self._all_in_play, going=going
        )
        self._apply(verdict, going)
        return verdict

    def _apply(self, verdict: Verdict, going: Array | None) -> None:
        """Take over a verdict in the engagements that were going on."""
        xp = self.xp
        self.distances = verdict.distances
        nothing_else = verdict.rows is not None and self.rules.pays_events_only
        masked = going is not None and not nothing_else
        self.rewards = xp.where(going, verdict.rewards, 0.0) if masked else verdict.rewards
        if verdict.quiet:
            return
        if verdict.few is not None:
            few, rows = verdict.few, verdict.rows
            self.alive = replaced(self.alive, rows, few.alive)
            self.rewards = replaced(self.rewards, rows, few.rewards)
            self.outcome = replaced(self.outcome, rows, few.outcome)
            self.truncated = replaced(self.truncated, rows, few.truncated)
            self.running = replaced(self.running, rows, ~(few.terminated | few.truncated))
        elif going is None:
            self.alive, self.outcome, self.truncated = verdict.alive, verdict.outcome, verdict.truncated
            self.running = ~(verdict.terminated | verdict.truncated)
        else:
            self.alive = xp.where(going, verdict.alive, self.alive)
            self.outcome = xp.where(going, verdict.outcome, self.outcome)
            self.truncated = xp.where(going, verdict.truncated, self.truncated)
            self.running = going & ~(verdict.terminated | verdict.truncated)
        self._take_stock()
        if not bool(xp.any(self.running)):
            self._clock = None

    def _take_stock(self) -> None:
        """Note whether all engagements are running, and whether all agents of those that are running are in play."""
        xp = self.xp
        self._all_running = bool(xp.all(self.running))
        self._all_in_play = bool(xp.all(self.alive if self._all_running else self.alive | ~self.running))
        self._everyone = self._all_running and self._all_in_play

    def close(self) -> None:
        """Release the world."""
        self.world.close()
