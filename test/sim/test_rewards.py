"""Rewards by hand-computed values; shared and zero-sum ones add up exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.arrays import namespace
from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.rules import Rules
from pe_sim.state import State

from .files import grid_file, merged, plane_file

XP = namespace()


def term(name: str, team: str, weight: float, **more: Any) -> dict[str, Any]:
    return {"term": name, "team": team, "weight": weight, **more}


def rewards_of(
    terms: list[dict[str, Any]],
    places: list[tuple[float, float]],
    velocities: list[tuple[float, float]] | None = None,
    *,
    counts: tuple[int, int] = (1, 1),
    alive: list[bool] | None = None,
    failed: list[bool] | None = None,
    tick: int = 1,
    base: Any = plane_file,
    rules: dict[str, Any] | None = None,
    **options: Any,
) -> list[float]:
    changes = {
        "rules": {"max_step": 10, "rewards": {"terms": terms, **options}, **(rules or {})},
        "roles": {"pursuer": {"count": counts[0]}, "evader": {"count": counts[1]}},
    }
    data = base()
    data["rules"].pop("time_limit", None)
    engagement = parse(merged(data, changes))
    state = State.zeros(XP, len(places), 1)
    state.block[:2, :, 0] = np.asarray(places).T
    if velocities is not None:
        state.block[7:9, :, 0] = np.asarray(velocities).T
    living = np.asarray(alive or [True] * len(places))[:, None]
    crashed = None if failed is None else np.asarray(failed)[:, None]
    verdict = Rules.of(engagement, XP).judge(state, living, np.asarray([tick]), crashed)
    return [float(r) for r in verdict.rewards[:, 0]]


FAR = [(0.0, 0.0), (3.0, 4.0)]
NEAR = [(0.0, 0.0), (0.3, 0.4)]


def test_distance_and_speed_shaping() -> None:
    terms = [term("distance", "pursuers", -0.01), term("speed_squared", "evaders", -0.005)]
    assert rewards_of(terms, FAR, [(9, 9), (2, 1)]) == pytest.approx([-0.05, -0.025], abs=1e-15)


def test_weights_per_second_do_not_depend_on_the_tick() -> None:
    terms = [term("distance", "pursuers", -0.01, per="second"), term("time", "evaders", 3.0, per="second")]
    assert rewards_of(terms, FAR) == pytest.approx([-0.05 * 0.05, 3.0 * 0.05], abs=1e-15)


def test_capture_and_timeout_are_paid_once_to_whom_it_is_due() -> None:
    terms = [term("capture", "pursuers", 10), term("capture", "evaders", -10), term("timeout", "evaders", 5)]
    assert rewards_of(terms, FAR) == [0.0, 0.0]
    assert rewards_of(terms, NEAR) == [10.0, -10.0]
    assert rewards_of(terms, FAR, tick=10) == [0.0, 5.0]
    assert rewards_of(terms, NEAR, tick=10) == [10.0, -10.0]  # a capture at the last step is no timeout


def test_capture_pays_the_team_or_those_it_is_about() -> None:
    places = [(0.5, 0.0), (9.0, 9.0), (0.0, 0.0), (-9.0, 0.0)]
    team = [term("capture", "pursuers", 1), term("capture", "evaders", -1)]
    own = [{**t, "credit": "agent"} for t in team]
    assert rewards_of(team, places, counts=(2, 2)) == [1.0, 1.0, -1.0, -1.0]
    assert rewards_of(own, places, counts=(2, 2)) == [1.0, 0.0, -1.0, 0.0]


def test_escape_and_crash() -> None:
    escape = {"escape": {"region": {"center": [3, 4], "radius": 1}}}
    terms = [term("escape", "evaders", 2), term("escape", "pursuers", -2), term("crash", "pursuers", -7)]
    assert rewards_of(terms, FAR, rules=escape) == [-2.0, 2.0]
    assert rewards_of(terms, FAR, failed=[True, False]) == [-7.0, 0.0]
    both = [(0, 0), (1, 1), (9, 9)]
    assert rewards_of(terms, both, counts=(2, 1), failed=[True, False, False]) == [-7.0, -7.0, 0.0]
    alone = [term("crash", "pursuers", -7, credit="agent")]
    assert rewards_of(alone, both, counts=(2, 1), failed=[True, False, False]) == [-7.0, 0.0, 0.0]


def test_a_diagonal_move_costs_extra_on_the_grid() -> None:
    terms = [term("diagonal", "pursuers", -0.02), term("diagonal", "evaders", -0.02)]
    assert rewards_of(terms, [(0, 0), (5, 5)], [(10, 10), (10, 0)], base=grid_file) == [-0.02, 0.0]
    assert rewards_of(terms, [(0, 0), (5, 5)], [(0, 0), (-10, 10)], base=grid_file) == [0.0, -0.02]


def test_distance_is_to_the_nearest_opponent_in_play() -> None:
    places = [(0, 0), (10, 0), (0, 4), (3, 0)]
    terms = [term("distance", "pursuers", 1), term("distance", "evaders", 1)]
    assert rewards_of(terms, places, counts=(2, 2)) == [3.0, 7.0, 4.0, 3.0]
    assert rewards_of(terms, places, counts=(2, 2), alive=[True, True, True, False]) == [
        4.0,
        math.hypot(10, 4),
        4.0,
        0.0,
    ]


def test_who_is_out_of_play_receives_nothing() -> None:
    terms = [term("time", "pursuers", 1), term("time", "evaders", 1)]
    assert rewards_of(terms, [(0, 0), (9, 0), (0, 9)], counts=(2, 1), alive=[True, False, True]) == [1.0, 0.0, 1.0]


def test_scale_then_clip() -> None:
    terms = [term("distance", "pursuers", -1.0)]
    assert rewards_of(terms, FAR, scale=0.1) == [-0.5, 0.0]
    assert rewards_of(terms, FAR, clip=1) == [-1.0, 0.0]
    assert rewards_of(terms, FAR, scale=0.1, clip=1) == [-0.5, 0.0]


def test_normalised_terms_lie_between_nought_and_one() -> None:
    terms = [term("distance", "pursuers", 1), term("speed_squared", "evaders", 1)]
    assert rewards_of(terms, FAR, [(0, 0), (3, 4)], normalise=True) == pytest.approx([5 / math.hypot(40, 40), 1.0])
    with pytest.raises(EngagementError, match="has no bounds to normalise by"):
        parse(TEMPLATE)


@pytest.mark.parametrize(
    ("base", "dynamics", "fastest"),
    [
        (plane_file, {"model": "dubins_car", "speed": 6, "max_turn_rate": 1}, (0, 6)),
        (plane_file, {"model": "unicycle", "max_speed": 3, "min_speed": -6, "max_turn_rate": 1}, (-6, 0)),
        (grid_file, {"moves": 4, "steps": 3}, (30, 0)),
        (grid_file, {"moves": 8, "steps": 2}, (20, 20)),
    ],
)
def test_squared_speeds_are_divided_by_that_of_the_fastest_a_model_ever_is(
    base: Any, dynamics: dict[str, Any], fastest: tuple[float, float]
) -> None:
    def with_dynamics() -> Any:
        data = base()
        data["roles"]["evader"]["dynamics"] = {**({} if base is plane_file else {"model": "grid_mover"}), **dynamics}
        return data

    terms = [term("speed_squared", "evaders", 1)]
    got = rewards_of(terms, FAR, [(0, 0), fastest], base=with_dynamics, normalise=True)
    assert got == pytest.approx([0.0, 1.0])


TEMPLATE: dict[str, Any] = {
    "engagement": "line",
    "world": {"backend": "template", "tick": 0.1},
    "rules": {"rewards": {"normalise": True}},
    "roles": {
        role: {"team": team, "dynamics": {"model": "template_mover"}, "policy": {"use": "guidance/random", "rate": 5}}
        for role, team in (("p", "pursuers"), ("e", "evaders"))
    },
}


def test_shared_rewards_are_the_mean_of_the_team() -> None:
    places = [(0, 0), (10, 0), (0, 4)]
    terms = [term("distance", "pursuers", -1), term("distance", "evaders", 1)]
    nearest = (4.0, math.hypot(10, 4))
    assert rewards_of(terms, places, counts=(2, 1), shared=True) == [-sum(nearest) / 2, -sum(nearest) / 2, 4.0]


def test_zero_sum_for_two_is_the_difference() -> None:
    terms = [term("distance", "pursuers", -0.01), term("capture", "pursuers", 1)]
    got = rewards_of(terms, FAR, zero_sum=True)
    assert got == pytest.approx([-0.025, 0.025], abs=1e-9)
    assert sum(got) == 0.0


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-19, 19), st.floats(-19, 19)), min_size=5, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.permutations(range(5)),
    st.sampled_from([None, 1.0, 0.05]),
    st.booleans(),
)
def test_zero_sum_rewards_sum_to_exactly_zero_in_any_order(
    places: list[tuple[float, float]], alive: list[bool], order: list[int], clip: float | None, shared: bool
) -> None:
    terms = [
        term("distance", "pursuers", -0.1),
        term("speed_squared", "evaders", -0.003),
        term("capture", "pursuers", 1 / 3),
        term("time", "evaders", 0.07),
    ]
    got = rewards_of(
        terms,
        places,
        [(1.1 * i, 0.3) for i in range(5)],
        counts=(3, 2),
        alive=alive,
        zero_sum=True,
        shared=shared,
        **({"clip": clip} if clip else {}),
    )
    assert sum(got[i] for i in order) == 0.0
    assert all(r == 0.0 for r, living in zip(got, alive, strict=True) if not living)
    if clip is not None:
        assert max(abs(r) for r in got) <= clip
