"""The safety gate: nothing outside the limits, nothing too fast, nothing that is not a number gets through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pe_sim.actions import ActionSpec, continuous, discrete
from pe_sim.arrays import namespace
from pe_sim.errors import EngagementError
from pe_sim.gate import ActionGate, Gate
from pe_sim.roles import GateSpec

XP = namespace()
VELOCITY = continuous("velocity", {"x": ("m/s", -5.0, 5.0), "yaw_rate": ("rad/s", -1.0, 1.0)})
MOVE = discrete("grid_move9", 9)
FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


def a_gate(action: ActionSpec = VELOCITY, period: float = 0.1, **spec: dict[str, object]) -> ActionGate:
    return ActionGate(GateSpec.model_validate(spec), action, period, XP)


def check(gate: ActionGate, *values: float, previous: tuple[float, ...] | None = None) -> tuple[list[float], Gate]:
    last = np.asarray(previous or [0.0] * len(values), np.float32).reshape(-1, 1, 1)
    has = np.full((1, 1), previous is not None)
    allowed, bits = gate.check(np.asarray(values, np.float32).reshape(-1, 1, 1), last, has)
    assert allowed.dtype == np.float32
    return allowed[:, 0, 0].tolist(), Gate(int(bits[0, 0]))


def test_what_is_within_limits_passes_untouched() -> None:
    assert check(a_gate(), 3.0, -0.5) == ([3.0, -0.5], Gate.NONE)


def test_values_outside_the_limits_are_clipped() -> None:
    assert check(a_gate(), 9.0, -3.0) == ([5.0, -1.0], Gate.CLIPPED)
    assert check(a_gate(limits={"x": [-2, 1]}), 3.0, 0.0) == ([1.0, 0.0], Gate.CLIPPED)
    assert check(a_gate(limits={"x": [-200, 100]}), 50.0, 0.0) == (
        [5.0, 0.0],
        Gate.CLIPPED,
    )  # never looser than the model


def test_limits_are_quantities() -> None:
    gate = a_gate(limits={"x": ["-7.2 km/h", 1], "yaw_rate": [-1, "30 deg/s"]}, slew={"x": "10 m/s^2"})
    assert check(gate, -4.0, 0.9)[0] == pytest.approx([-2.0, np.pi / 6])
    assert check(gate, 1.0, 0.0, previous=(-1.0, 0.0)) == ([0.0, 0.0], Gate.SLEW)
    for spec, rule in (
        ({"limits": {"x": ["2 m", 3]}}, "wrong unit"), ({"slew": {"x": "1 m/s"}}, "wrong unit"),
        ({"slew": {"x": 0}}, "greater than 0"), ({"limits": {"x": [2, 1]}}, "no action possible"),
    ):
        with pytest.raises(EngagementError, match=rule):
            a_gate(**spec)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_never_counts(bad: float) -> None:
    assert check(a_gate(), bad, 0.5, previous=(2.0, 0.25)) == ([2.0, 0.25], Gate.NOT_FINITE)
    assert check(a_gate(), 1.0, bad) == ([0.0, 0.0], Gate.NOT_FINITE)
    assert check(a_gate(limits={"x": [1, 4]}), bad, 0.0) == ([1.0, 0.0], Gate.NOT_FINITE)


def test_slew_limits_the_change_per_decision() -> None:
    gate = a_gate(slew={"x": 10})
    assert check(gate, 5.0, 1.0, previous=(2.0, -1.0)) == ([3.0, 1.0], Gate.SLEW)
    assert check(gate, -5.0, 1.0, previous=(2.0, -1.0)) == ([1.0, 1.0], Gate.SLEW)
    assert check(gate, 2.5, 1.0, previous=(2.0, -1.0)) == ([2.5, 1.0], Gate.NONE)
    assert check(gate, 5.0, 1.0) == ([5.0, 1.0], Gate.NONE)  # the first decision has nothing to be compared with


def test_discrete_choices_are_whole_and_in_range() -> None:
    gate = a_gate(MOVE)
    assert check(gate, 3.0) == ([3.0], Gate.NONE)
    assert check(gate, 3.4) == ([3.0], Gate.CLIPPED)
    assert check(gate, 12.0) == ([8.0], Gate.CLIPPED)
    assert check(gate, -1.0) == ([0.0], Gate.CLIPPED)


def test_limits_of_what_is_not_there_name_the_nearest() -> None:
    with pytest.raises(EngagementError, match=r"gate\.limits\.yawrate: no such action value; did you mean 'yaw_rate'"):
        a_gate(limits={"yawrate": [0, 1]})
    with pytest.raises(EngagementError, match="no such action value"):
        a_gate(slew={"X": 1})
    with pytest.raises(EngagementError, match="leaves no action possible"):
        a_gate(limits={"x": [8, 9]})


@given(hnp.arrays(np.float32, (2, 3, 4), elements=FLOATS), hnp.arrays(np.bool_, (3, 4)))
def test_whatever_comes_in_what_goes_out_is_finite_within_limits_and_within_slew(
    values: np.ndarray, has: np.ndarray
) -> None:
    gate = a_gate(limits={"x": [-2, 3]}, slew={"yaw_rate": 1})
    previous = np.zeros((2, 3, 4), np.float32)
    allowed, bits = gate.check(values, previous, has)
    assert np.isfinite(allowed).all()
    assert (allowed[0] >= -2).all()
    assert (allowed[0] <= 3).all()
    assert (np.abs(allowed[1][has]) <= np.float32(0.1)).all()
    unchanged = (allowed == values).all(axis=0)
    assert (unchanged == (bits == 0)).all()


@given(hnp.arrays(np.float32, (2, 1, 5), elements=FLOATS))
def test_rows_do_not_influence_one_another(values: np.ndarray) -> None:
    gate = a_gate()
    nothing, has = np.zeros((2, 1, 5), np.float32), np.zeros((1, 5), bool)
    allowed, bits = gate.check(values, nothing, has)
    for row in range(5):
        one = slice(row, row + 1)
        alone, own = gate.check(values[..., one], nothing[..., one], has[..., one])
        assert alone.tolist() == allowed[..., one].tolist()
        assert own.tolist() == bits[..., one].tolist()
