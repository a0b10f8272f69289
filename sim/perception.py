"""What the agents of a role know, and when their decisions are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pe_sim.arrays import Array
from pe_sim.sensors.channel import SensorChannel, SensorLayout, SensorTiming
from pe_sim.sensors.inbox import Inbox, SensorView
from pe_sim.state import State
from pe_sim.timing import NEVER, TickSchedule

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class Perception:
    """All sensors of the agents of one role in a batch, with their inboxes."""

    def __init__(
        self, engagement: Engagement, role: str, batch: int, xp: Any, numbers: list[int] | None = None
    ) -> None:
        self._xp = xp
        self.role = role
        self.channels = {
            name: SensorChannel(engagement, role, name, xp, numbers) for name in engagement.roles[role].sensors
        }
        self.inboxes = {
            name: Inbox(xp, channel.width, len(channel.agents), batch, channel.pending_slots)
            for name, channel in self.channels.items()
        }

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin new episodes."""
        for name, channel in self.channels.items():
            channel.reset(roots, rows)
            self.inboxes[name].clear(rows)

    def sense(
        self, state: State, alive: Array, tick: Array, clock: int | None, now: Array, running: Array | None = None
    ) -> None:
        """Take the readings due at this tick and deliver those that have arrived.

        Args:
            state: state of all agents.
            alive: agents in play, bool (N, B).
            tick: present tick, int64 (B,).
            clock: the same where all engagements are at one tick, else None.
            now: present instant [ns], int64 (B,).
            running: engagements not ended, bool (B,); None for all.
        """
        for name, channel in self.channels.items():
            taken, sequence = due_at(self._xp, channel.timing.schedule, tick, clock, running)
            if sequence is not None:
                reading = channel.sample(state, alive, now, sequence, taken)
                self.inboxes[name].put(reading, now)
            self.inboxes[name].deliver(now)

    def view(self, now: Array) -> dict[str, SensorView]:
        """Return what is known from each sensor at an instant [ns], int64 (B,)."""
        return {name: inbox.view(now) for name, inbox in self.inboxes.items()}

    def layouts(self, place: int = 0) -> list[SensorLayout]:
        """Return the layouts of all sensors for the agent in a place of this role."""
        return [channel.layout(place) for channel in self.channels.values()]


def due_at(
    xp: Any, schedule: TickSchedule, tick: Array, clock: int | None, running: Array | None = None
) -> tuple[Array | None, Array | None]:
    """Return in which engagements a schedule is due (None for all) and its number there (None for nowhere)."""
    if clock is not None:
        if not schedule.due[clock]:
            return None, None
        return running, xp.full(tick.shape, int(schedule.newest[clock]), dtype=xp.int64)
    if schedule.every_tick:
        return running, tick
    due, newest = schedule.tables(xp)
    taken = xp.take(due, tick)
    if running is not None:  # an ended engagement stays at its last tick: nothing is due there again
        taken = taken & running
    if not bool(xp.any(taken)):
        return None, None
    return taken, xp.take(newest, tick)


class Triggers:
    """When the decisions of the agents of one role are due.

    A rate gives due ticks in closed form. A policy that decides on a sensor decides at the tick at which a reading
    newer than any before is delivered; that depends on delays and losses only, never on values, so the simulation
    node knows it without sensing.
    """

    def __init__(
        self, engagement: Engagement, role: str, batch: int, xp: Any, numbers: list[int] | None = None
    ) -> None:
        self._xp = xp
        spec = engagement.roles[role]
        first, last = engagement.role_ranges[role]
        self._agents = [first + i for i in (range(last - first) if numbers is None else numbers)]
        self._batch = batch
        self._tick = engagement.world.tick
        self.schedule = spec.trigger.on_ticks(engagement.world.tick, engagement.horizon)
        self._timing: SensorTiming | None = None
        if spec.policy.decide_on is not None:
            self._timing = SensorTiming(engagement, role, spec.policy.decide_on, self._agents, xp)
        self.count: Array = xp.zeros((len(self._agents), batch), dtype=xp.int64)
        self._all = xp.ones((len(self._agents), batch), dtype=xp.bool)
        self._clear(None)

    def _clear(self, rows: Array | None) -> None:
        xp = self._xp
        if rows is None:
            self._seen = xp.full((len(self._agents), self._batch), -1, dtype=xp.int64)
            self._pending: list[tuple[Array, Array]] = []
            return
        self._seen[:, rows] = -1
        for _, arrival in self._pending:
            arrival[:, rows] = NEVER

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin new episodes."""
        if self._timing is not None:
            self._timing.reset(roots, rows)
            self._clear(rows)

    def due(self, tick: Array, clock: int | None, running: Array | None = None) -> Array | None:
        """Return which agents decide at this tick, bool (n, B); None for nobody. Call once per tick, in order.

        Nobody may write into the array.
        """
        xp = self._xp
        taken, number = due_at(xp, self.schedule, tick, clock, running)
        if self._timing is None:
            if number is None:
                return None
            return self._all if taken is None else taken & self._all
        now = tick * self._tick
        if number is not None:
            arrival = self._timing.arrival(now, number)
            if taken is not None:
                arrival = xp.where(taken, arrival, NEVER)
            self._pending.append((number, arrival))
        return self._arrivals(now)

    def _arrivals(self, now: Array) -> Array | None:
        """Return who got a reading newer than any before by now."""
        xp = self._xp
        news: Array | None = None
        kept = []
        for number, arrival in self._pending:
            newer = (arrival <= now) & (number > self._seen)
            self._seen = xp.where(newer, number, self._seen)
            news = newer if news is None else news | newer
            rest = xp.where(arrival <= now, NEVER, arrival)
            if bool(xp.any(rest < NEVER)):
                kept.append((number, rest))
        self._pending = kept
        return news if news is not None and bool(xp.any(news)) else None
