"""Zero-order hold against a reference in plain Python: latency, order of arrival, staleness, expiry."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.actions import Mode, continuous
from pe_sim.arrays import namespace
from pe_sim.hold import ActionHold
from pe_sim.roles import ActionTiming

XP = namespace()
ACTION = continuous("velocity", {"x": ("m/s", -1e6, 1e6)})
TICK = 10


class Role:
    """What the hold reads of a role."""

    def __init__(self, latency: int, valid_for: int, on_expiry: str) -> None:
        self.action = ActionTiming(
            latency=Fraction(latency, 10**9), valid_for=Fraction(valid_for, 10**9), on_expiry=on_expiry
        )
        self.valid_for = valid_for


class Reference:
    """One agent's hold, said as simply as possible."""

    def __init__(self, valid_for: int, on_expiry: str) -> None:
        self.valid_for, self.on_expiry = valid_for, on_expiry
        self.under_way: list[tuple[int, int, float]] = []  # stamp, effect, value
        self.current: tuple[int, int, float] | None = None
        self.stale = 0

    def command(self, now: int) -> tuple[float, Mode]:
        for action in [a for a in self.under_way if a[1] <= now]:
            self.under_way.remove(action)
            if self.current is None or action[0] > self.current[0]:
                self.current = action
            else:
                self.stale += 1
        if self.current is None:
            return 0.0, Mode.COAST
        expired = now >= self.current[1] + self.valid_for
        mode = (
            {"hold": Mode.EXECUTE, "coast": Mode.COAST, "stop": Mode.STOP}[self.on_expiry] if expired else Mode.EXECUTE
        )
        return self.current[2], mode


def a_hold(
    latency: int = 0, valid_for: int = 100, on_expiry: str = "stop", agents: int = 1, batch: int = 1
) -> ActionHold:
    role: Any = Role(latency, valid_for, on_expiry)
    return ActionHold(role, ACTION, agents, batch, XP)


def put(hold: ActionHold, value: float, stamp: int, **more: Any) -> None:
    hold.put(np.full((1, 1, 1), value, np.float32), np.ones((1, 1), bool), np.asarray([stamp]), **more)


def now(instant: int) -> np.ndarray:
    return np.asarray([instant])


def said(hold: ActionHold, instant: int, elapsed: int | None = None) -> tuple[float, Mode]:
    command = hold.command(now(instant), elapsed)
    return float(command.values[0, 0, 0]), Mode.EXECUTE if command.mode is None else Mode(int(command.mode[0, 0]))


def test_before_the_first_action_agents_coast() -> None:
    assert said(a_hold(), 0) == (0.0, Mode.COAST)


def test_an_action_takes_effect_after_its_latency_and_expires_after_its_validity() -> None:
    hold = a_hold(latency=25, valid_for=50, on_expiry="coast")
    put(hold, 7.0, 0, elapsed=0)
    got = [said(hold, t, t) for t in range(0, 100, TICK)]
    assert got == [(0.0, Mode.COAST)] * 3 + [(7.0, Mode.EXECUTE)] * 5 + [(7.0, Mode.COAST)] * 2
    assert int(hold.effect[0, 0]) == 25
    assert int(hold.stamp[0, 0]) == 0


@pytest.mark.parametrize(("word", "mode"), [("hold", Mode.EXECUTE), ("coast", Mode.COAST), ("stop", Mode.STOP)])
def test_what_an_expired_action_becomes(word: str, mode: Mode) -> None:
    hold = a_hold(valid_for=20, on_expiry=word)
    put(hold, 3.0, 0, elapsed=0)
    assert said(hold, 0, 0) == (3.0, Mode.EXECUTE)
    assert said(hold, 10, 10) == (3.0, Mode.EXECUTE)
    assert said(hold, 20, 20) == (3.0, mode)


def test_the_newest_decision_wins_and_an_older_one_is_counted_stale() -> None:
    hold = a_hold()
    put(hold, 1.0, 0, effect=np.asarray([[50]]))
    put(hold, 2.0, 10, effect=np.asarray([[20]]))
    assert said(hold, 20) == (2.0, Mode.EXECUTE)
    assert said(hold, 50) == (2.0, Mode.EXECUTE)
    assert int(hold.stale[0, 0]) == 1


def test_an_action_with_a_later_effect_waits_even_when_everybody_decided_without_latency() -> None:
    hold = a_hold(latency=0)
    put(hold, 5.0, 0, effect=np.asarray([[30]]), elapsed=0)
    assert said(hold, 0, 0) == (0.0, Mode.COAST)
    assert said(hold, 20, 20) == (0.0, Mode.COAST)
    assert said(hold, 30, 30) == (5.0, Mode.EXECUTE)


def test_a_given_mode_is_carried_out() -> None:
    hold = a_hold()
    put(hold, 5.0, 0, mode=np.asarray([[int(Mode.STOP)]], dtype=np.int8))
    assert said(hold, 0) == (5.0, Mode.STOP)


@pytest.mark.parametrize("word", ["hold", "coast", "stop"])
def test_a_stop_does_not_expire_but_gives_way_to_the_next_action(word: str) -> None:
    hold = a_hold(valid_for=100, on_expiry=word)
    put(hold, 7.0, 0)
    assert said(hold, 0, 0)[1] is Mode.EXECUTE
    put(hold, 0.0, 10, mode=np.full((1, 1), int(Mode.STOP), np.int8))
    assert [said(hold, instant, instant)[1] for instant in (10, 110, 500)] == [Mode.STOP] * 3
    put(hold, 3.0, 510)
    assert said(hold, 510, 510) == (3.0, Mode.EXECUTE)
    after = {"hold": Mode.EXECUTE, "coast": Mode.COAST, "stop": Mode.STOP}[word]
    assert said(hold, 610, 610) == (3.0, after)


def test_a_reset_of_some_rows_forgets_theirs_and_touches_nothing_else() -> None:
    hold = a_hold(latency=20, agents=2, batch=3)
    where = np.ones((2, 3), bool)
    values = np.arange(6, dtype=np.float32).reshape(1, 2, 3) + 1.0
    hold.put(values, where, np.zeros(3, np.int64), elapsed=0)
    hold.command(np.zeros(3, np.int64), 0)
    hold.reset(np.asarray([1]))
    command = hold.command(np.asarray([20, 0, 20]), 20)
    assert command.values[0].tolist() == [[1.0, 0.0, 3.0], [4.0, 0.0, 6.0]]
    assert command.mode is not None
    assert command.mode.tolist() == [[0, 2, 0], [0, 2, 0]]
    assert where.all()  # an array that somebody else may still use
    assert hold.decided.tolist() == [[True, False, True]] * 2


def test_a_reset_after_everybody_decided_at_once_touches_no_foreign_mask() -> None:
    hold = a_hold(batch=2)
    mask = np.ones((1, 2), bool)
    hold.put(np.ones((1, 1, 2), np.float32), mask, np.zeros(2, np.int64), elapsed=0)
    hold.reset(np.asarray([0]))
    assert mask.all()
    command = hold.command(np.zeros(2, np.int64), 0)
    assert command.mode is not None
    assert command.mode.tolist() == [[2, 0]]
    assert hold.stamp.tolist() == [[-1, 0]]


EVENTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 120), st.booleans()),  # tick of putting, delay, by the file's latency
    max_size=15,
)


@settings(max_examples=300, deadline=None)
@given(
    EVENTS,
    st.sampled_from([0, 15, 40]),
    st.sampled_from([5, 30, 75]),
    st.sampled_from(["hold", "coast", "stop"]),
    st.booleans(),
)
def test_any_stream_of_actions_is_held_as_the_reference_holds_it(
    events: list[tuple[int, int, bool]], latency: int, valid_for: int, on_expiry: str, told: bool
) -> None:
    hold, reference = a_hold(latency, valid_for, on_expiry), Reference(valid_for, on_expiry)
    value = 0.0
    for tick in range(60):
        instant = tick * TICK
        for at, delay, by_file in events:
            if at != tick:
                continue
            value += 1.0
            late = latency if by_file else delay
            effect = None if by_file else np.asarray([[instant + delay]])
            put(hold, value, instant, effect=effect, elapsed=instant + 1000 if told else None)
            reference.under_way.append((instant, instant + late, value))
        assert said(hold, instant, instant + 1000 if told else None) == reference.command(instant)
        assert int(hold.stale[0, 0]) == reference.stale


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=5, max_size=40), st.sampled_from([0, 20, 55]))
def test_rows_and_agents_are_held_independently(plan: list[list[bool]], latency: int) -> None:
    together = a_hold(latency, 35, "stop", agents=2, batch=3)
    alone = [a_hold(latency, 35, "stop") for _ in range(6)]
    for tick, decided in enumerate(plan):
        where = np.asarray(decided).reshape(2, 3)
        if where.any():
            values = np.full((1, 2, 3), float(tick + 1), np.float32)
            together.put(values, where, np.full(3, tick * TICK), elapsed=tick * TICK)
        command = together.command(np.full(3, tick * TICK), tick * TICK)
        for place, hold in enumerate(alone):
            if decided[place]:
                put(hold, float(tick + 1), tick * TICK, elapsed=tick * TICK)
            i, j = divmod(place, 3)
            mode = Mode.EXECUTE if command.mode is None else Mode(int(command.mode[i, j]))
            assert (float(command.values[0, i, j]), mode) == said(hold, tick * TICK, tick * TICK)
