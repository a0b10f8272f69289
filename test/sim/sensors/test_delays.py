"""When readings arrive: latency, jitter and dropout, and the inbox that keeps the newest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.perception import Perception
from pe_sim.sensors.channel import Reading
from pe_sim.sensors.inbox import Inbox
from pe_sim.timing import NEVER

from .scenes import PERIOD, XP, Station, file, random_state, roots

MS = 1_000_000


def arrivals(batch: int = 3000, readings: int = 2, **timing: Any) -> Any:
    station = Station(file(s={"kind": "position", **timing}), "s", batch)
    state = random_state(4, batch)
    return np.asarray([station.take(state, k).arrival - k * PERIOD for k in range(readings)])


def test_without_delays_a_reading_arrives_when_it_is_taken() -> None:
    assert not arrivals().any()


def test_latency_is_exact() -> None:
    assert (arrivals(latency="13 ms") == 13 * MS).all()


def test_jitter_is_uniform_from_zero_to_its_greatest() -> None:
    delays = arrivals(latency="5 ms", jitter="30 ms") - 5 * MS
    assert delays.min() >= 0
    assert delays.max() <= 30 * MS
    shares = np.histogram(delays, bins=6, range=(0, 30 * MS))[0] / delays.size
    assert shares == pytest.approx([1 / 6] * 6, abs=0.02)
    assert np.abs(np.corrcoef(delays.reshape(4, -1)) - np.eye(4)).max() < 0.1


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5, 1.0])
def test_dropout_loses_its_share_independently(dropout: float) -> None:
    lost = arrivals(dropout=dropout, readings=3) > 1000 * PERIOD
    assert lost.mean() == pytest.approx(dropout, abs=0.02)
    if 0 < dropout < 1:
        assert np.abs(np.corrcoef(lost.reshape(6, -1)) - np.eye(6)).max() < 0.1


@settings(max_examples=20, deadline=None)
@given(numbers=st.lists(st.integers(0, 500), min_size=1, max_size=20))
def test_delays_of_one_engagement_are_those_of_a_batch_in_any_order(numbers: list[int]) -> None:
    engagement = file(s={"kind": "position", "jitter": "30 ms", "dropout": 0.3, "latency": "1 ms"})
    alone, together = Station(engagement, "s", keys=roots(3)[1:2]), Station(engagement, "s", 3)
    for k in numbers:
        one = alone.channel.timing.arrival(np.array([k * PERIOD]), np.array([k]))
        three = together.channel.timing.arrival(np.full(3, k * PERIOD), np.full(3, k))
        assert np.array_equal(one[:, 0], three[:, 1])


@dataclass
class Told:
    """One reading on its way to one agent."""

    sequence: int
    arrival: int
    value: float


class PlainInbox:
    """The rule in plain Python: the newest that has arrived; nothing older than that is ever delivered."""

    def __init__(self) -> None:
        self.under_way: list[Told] = []
        self.newest: Told | None = None

    def deliver(self, now: int) -> bool:
        news = False
        for told in sorted((t for t in self.under_way if t.arrival <= now), key=lambda t: t.sequence):
            if self.newest is None or told.sequence > self.newest.sequence:
                self.newest, news = told, True
        self.under_way = [t for t in self.under_way if t.arrival > now]
        return news


class Boxes:
    """An inbox, and one plain inbox per agent and engagement beside it."""

    def __init__(self, data: st.DataObject, agents: int, batch: int, *, immediate: bool) -> None:
        self.draw = data.draw
        self.immediate = immediate
        self.shape = (agents, batch)
        self.inbox = Inbox(XP, 1, agents, batch, 0 if immediate else 8)
        self.plain = [[PlainInbox() for _ in range(batch)] for _ in range(agents)]
        self.everybody = [(i, b) for i in range(agents) for b in range(batch)]

    def put(self, tick: int) -> None:
        """A reading is due, in some engagements; some are lost."""
        agents, batch = self.shape
        taken = np.array(self.draw(st.lists(st.booleans(), min_size=batch, max_size=batch)))
        delays = st.just(0) if self.immediate else st.integers(0, 60)
        arrival = np.zeros((agents, batch), dtype=np.int64)
        for i, b in self.everybody:
            lost = self.draw(st.sampled_from([False, False, True]))
            arrival[i, b] = NEVER if lost else tick * 10 + self.draw(delays)
            if taken[b] and not lost:
                self.plain[i][b].under_way.append(Told(tick, int(arrival[i, b]), float(tick)))
        everywhere = bool(taken.all()) and self.draw(st.booleans())
        values, now = np.full((1, agents, batch), float(tick), dtype=np.float32), np.full(batch, tick * 10)
        valid = np.ones(values.shape, dtype=bool)
        sequence = np.full(batch, tick)
        self.inbox.put(Reading(values, valid, now, sequence, arrival, None if everywhere else taken), now)

    def forget_one(self) -> None:
        gone = self.draw(st.integers(0, self.shape[1] - 1))
        self.inbox.clear(np.asarray([gone]))
        for row in self.plain:
            row[gone] = PlainInbox()

    def deliver(self, tick: int) -> None:
        self.inbox.deliver(np.full(self.shape[1], tick * 10))
        for i, b in self.everybody:
            self.plain[i][b].deliver(tick * 10)

    def view(self, tick: int) -> Any:
        """The view, found equal to the plain ones."""
        view = self.inbox.view(np.full(self.shape[1], tick * 10))
        for i, b in self.everybody:
            told = self.plain[i][b].newest
            expected = (-1, 0.0, -1, -1) if told is None else (
                told.sequence, told.value, told.sequence * 10, tick * 10 - told.sequence * 10
            )
            assert (view.sequence[i, b], view.values[0, i, b], view.stamp[i, b], view.age[i, b]) == expected
            assert view.valid[0, i, b] == (told is not None)
        return view


@settings(max_examples=60, deadline=None)
@given(data=st.data(), agents=st.integers(1, 2), batch=st.integers(1, 3), immediate=st.booleans())
def test_the_inbox_keeps_the_newest_as_the_plain_rule_does(
    data: st.DataObject, agents: int, batch: int, immediate: bool
) -> None:
    boxes = Boxes(data, agents, batch, immediate=immediate)
    views: list[tuple[Any, bytes]] = []
    for tick in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()):
            boxes.put(tick)
        boxes.deliver(tick)
        if data.draw(st.sampled_from([False] * 5 + [True])):
            boxes.forget_one()
        view = boxes.view(tick)
        views.append((view, view.values.tobytes() + view.sequence.tobytes()))
    for view, bits in views:  # what was seen once stays what it was
        assert view.values.tobytes() + view.sequence.tobytes() == bits


@settings(max_examples=15, deadline=None)
@given(latency=st.integers(0, 70), jitter=st.integers(0, 90), dropout=st.sampled_from([0.0, 0.4]))
def test_what_an_agent_knows_is_never_from_the_future_and_grows_newer(
    latency: int, jitter: int, dropout: float
) -> None:
    engagement = file(s={"kind": "position", "latency": latency / 1000, "jitter": jitter / 1000, "dropout": dropout})
    perception, state = Perception(engagement, "pursuer", 2, XP), random_state(4, 2)
    perception.reset(roots(2), None)
    alive, seen = np.ones((4, 2), dtype=bool), np.full((2, 2), -1)
    for tick in range(40):
        now = np.full(2, tick * PERIOD)
        perception.sense(state, alive, np.full(2, tick), tick, now)
        view = perception.view(now)["s"]
        known = view.sequence >= 0
        assert (view.sequence >= seen).all()
        assert (view.age[known] >= latency * MS).all()
        assert (view.stamp[known] + view.age[known] == tick * PERIOD).all()
        seen = view.sequence
    if dropout == 0.0:
        assert (seen >= 0).all()


def test_nothing_gathers_in_an_inbox_whose_readings_are_all_lost() -> None:
    engagement = file(s={"kind": "position", "latency": "50 ms", "dropout": 1.0})
    perception, state = Perception(engagement, "pursuer", 1, XP), random_state(4, 1)
    perception.reset(roots(1), None)
    for tick in range(100):
        now = np.full(1, tick * PERIOD)
        perception.sense(state, np.ones((4, 1), dtype=bool), np.full(1, tick), tick, now)
    assert not perception.inboxes["s"]._pending
