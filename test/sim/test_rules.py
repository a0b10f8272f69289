"""Rules by hand-computed values: capture in all its ways, escape, the time limit, outcomes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement, parse
from pe_sim.errors import EngagementError
from pe_sim.rules import OUTCOMES, Rules, Verdict
from pe_sim.state import State

from .files import grid_file, merged, plane_file

XP = namespace()


def engagement_of(pursuers: int = 1, evaders: int = 1, grid: bool = False, **rules: Any) -> Engagement:
    base = grid_file() if grid else plane_file()
    base["rules"] = {"max_step": 50, **rules}
    return parse(merged(base, {"roles": {"pursuer": {"count": pursuers}, "evader": {"count": evaders}}}))


def state_of(*places: tuple[float, ...]) -> State:
    state = State.zeros(XP, len(places), 1)
    for i, place in enumerate(places):
        state.block[: len(place), i, 0] = place
    return state


class Game:
    """One engagement judged tick by tick from positions given by hand."""

    def __init__(self, engagement: Engagement, *start: tuple[float, ...]) -> None:
        self.rules = Rules.of(engagement, XP)
        self.rules.reset(state_of(*start), None)
        self.alive = np.ones((len(start), 1), bool)
        self.tick = 0

    def judge(self, *places: tuple[float, ...], failed: list[bool] | None = None) -> Verdict:
        self.tick += 1
        fault = None if failed is None else np.asarray(failed)[:, None]
        verdict = self.rules.judge(state_of(*places), self.alive, np.asarray([self.tick]), fault)
        self.alive = verdict.alive
        return verdict


def outcome(verdict: Verdict) -> str:
    return OUTCOMES[int(verdict.outcome[0])]


@pytest.mark.parametrize(
    ("offset", "captured"), [((1, 1), True), ((2, 0), False), ((0, 1), True), ((1, 2), False), ((0, 0), True)]
)
def test_on_the_grid_capture_is_nearer_than_one_and_a_half_cells(offset: tuple[int, int], captured: bool) -> None:
    game = Game(engagement_of(grid=True, capture={"radius": 1.5}), (0, 0), (5, 5))
    verdict = game.judge((3, 3), (3 + offset[0], 3 + offset[1]))
    assert bool(verdict.terminated[0]) is captured
    assert outcome(verdict) == ("capture" if captured else "")
    assert float(verdict.distances[0, 0, 0]) == math.hypot(*offset)


def test_the_radius_itself_is_not_near_enough() -> None:
    game = Game(engagement_of(capture={"radius": 2.0}), (0, 0), (5, 0))
    assert not game.judge((0, 0), (2.0, 0)).terminated[0]
    assert game.judge((0, 0), (math.nextafter(2.0, 0), 0)).terminated[0]


def test_a_fast_pass_between_two_ticks_is_seen_only_when_swept() -> None:
    for swept in (False, True):
        game = Game(engagement_of(capture={"radius": 1.0, "swept": swept}), (-10, 0.5), (10, 0))
        verdict = game.judge((10, 0.5), (-10, 0))  # closest 0.5 m, half-way
        assert bool(verdict.terminated[0]) is swept
        assert float(verdict.distances[0, 0, 0]) == math.hypot(20, 0.5)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5))
def test_swept_capture_is_the_least_distance_of_the_straight_way(ax: float, ay: float, bx: float, by: float) -> None:
    points = [math.hypot(ax + (bx - ax) * i / 400, ay + (by - ay) * i / 400) for i in range(401)]
    least, step = min(points), math.hypot(bx - ax, by - ay) / 400
    game = Game(engagement_of(capture={"radius": 2.0, "swept": True}), (ax, ay), (0, 0))
    captured = bool(game.judge((bx, by), (0, 0)).terminated[0])
    if least < 2.0:
        assert captured
    elif least > 2.0 + step:
        assert not captured


def test_two_pursuers_may_be_needed() -> None:
    game = Game(engagement_of(2, 1, capture={"radius": 1.0, "pursuers": 2}), (5, 5), (6, 6), (0, 0))
    assert not game.judge((0.5, 0), (3, 0), (0, 0)).terminated[0]
    assert game.judge((0.5, 0), (-0.5, 0), (0, 0)).terminated[0]


def around(*degrees: float, at: float = 2.0) -> list[tuple[float, float]]:
    return [(at * math.cos(math.radians(a)), at * math.sin(math.radians(a))) for a in degrees]


@pytest.mark.parametrize(
    ("degrees", "gap", "captured"),
    [
        ((0, 120, 240), 180, True),
        ((0, 170, 345), 180, True),
        ((0, 60, 120), 180, False),
        ((0, 100, 190), 180, True),
        ((0, 90, 170), 180, False),
        ((0, 120, 240), 121, True),
        ((0, 120, 240), 119, False),
        ((-175, 175, 0), 180, True),
    ],
)
def test_encirclement_leaves_no_gap_as_wide_as_half_a_turn(
    degrees: tuple[float, ...], gap: float, captured: bool
) -> None:
    count = 3
    capture = {"by": "encirclement", "radius": 3, "max_gap": f"{gap} deg"}
    if gap < 120:
        with pytest.raises(EngagementError, match="takes 4 pursuers, of which there are 3"):
            engagement_of(count, 1, capture=capture)
        return
    game = Game(engagement_of(count, 1, capture=capture), *around(*degrees), (0, 0))
    assert bool(game.judge(*around(*degrees), (0, 0)).terminated[0]) is captured
    assert not game.judge(*around(*degrees, at=3.5), (0, 0)).terminated[0] or captured


def test_encirclement_does_not_count_pursuers_out_of_reach_or_out_of_play() -> None:
    rules = {"capture": {"by": "encirclement", "radius": 3}}
    game = Game(engagement_of(3, 1, **rules), *around(0, 120, 240), (0, 0))
    far = [*around(0, 120), *around(240, at=4)]
    assert not game.judge(*far, (0, 0)).terminated[0]
    assert not game.judge(*around(0, 120, 240), (0, 0), failed=[False, False, True, False]).terminated[0]


ZONE = {"by": "zone", "zone": {"center": [0, 0], "radius": 2}, "hold_for": "100 ms"}


def test_holding_a_zone_takes_an_uninterrupted_time() -> None:
    game = Game(engagement_of(1, 2, capture=ZONE), (9, 9), (5, 5), (6, 6))
    outside = ((5, 5), (6, 6))
    assert not game.judge((1, 0), *outside).terminated[0]
    assert not game.judge((1, 0), *outside).terminated[0]
    assert not game.judge((3, 0), *outside).terminated[0]  # left: begins anew (ticks of 50 ms)
    assert not game.judge((1, 0), *outside).terminated[0]
    assert not game.judge((1, 0), *outside).terminated[0]
    verdict = game.judge((1, 0), *outside)
    assert outcome(verdict) == "capture"
    assert verdict.alive[:, 0].tolist() == [True, False, False]


def test_an_evader_in_the_zone_contests_it() -> None:
    game = Game(engagement_of(1, 1, capture=ZONE), (9, 9), (5, 5))
    assert not any(bool(game.judge((1, 0), (0, 1)).terminated[0]) for _ in range(10))


def test_capture_that_must_last() -> None:
    game = Game(engagement_of(capture={"radius": 1, "hold_for": "150 ms"}), (9, 9), (0, 0))
    got = [bool(game.judge((0.5, 0), (0, 0)).terminated[0]) for _ in range(4)]
    assert got == [False, False, False, True]


def test_any_or_all_evaders() -> None:
    for ends, over in (("any", True), ("all", False)):
        game = Game(engagement_of(1, 2, capture={"radius": 1, "ends": ends}), (9, 9), (0, 0), (5, 5))
        verdict = game.judge((0.5, 0), (0, 0), (5, 5))
        assert bool(verdict.terminated[0]) is over
        assert verdict.alive[:, 0].tolist() == [True, False, True]
    verdict = game.judge((5, 5), (0, 0), (5, 5))
    assert outcome(verdict) == "capture"


GOAL = {"region": {"low": [10, -5, -1], "high": [12, 5, 1]}}


def test_an_evader_that_reaches_the_goal_has_escaped() -> None:
    game = Game(engagement_of(escape=GOAL), (0, 0), (5, 0))
    assert outcome(game.judge((0, 0), (9.999, 0))) == ""
    verdict = game.judge((0, 0), (10, 5))
    assert outcome(verdict) == "escape"
    assert verdict.terminated[0]
    assert not verdict.truncated[0]


def test_caught_at_the_goal_is_caught() -> None:
    assert outcome(Game(engagement_of(escape=GOAL), (0, 0), (5, 0)).judge((10.5, 0), (10, 0))) == "capture"


def test_escape_of_all() -> None:
    game = Game(engagement_of(1, 2, escape={**GOAL, "ends": "all"}), (0, 0), (5, 0), (6, 0))
    verdict = game.judge((0, 0), (11, 0), (6, 0))
    assert outcome(verdict) == ""
    assert verdict.alive[:, 0].tolist() == [True, False, True]
    assert outcome(game.judge((0, 0), (11, 0), (11, 1))) == "escape"


def test_own_motion_that_ends_a_side_is_a_failure() -> None:
    game = Game(engagement_of(2, 1), (0, 0), (1, 1), (9, 9))
    assert outcome(game.judge((0, 0), (1, 1), (9, 9), failed=[True, False, False])) == ""
    assert outcome(game.judge((0, 0), (1, 1), (9, 9), failed=[True, True, False])) == "failure"


def test_an_agent_out_of_play_catches_nobody() -> None:
    game = Game(engagement_of(2, 1), (0, 0), (5, 5), (9, 9))
    game.judge((0, 0), (5, 5), (9, 9), failed=[True, False, False])
    assert outcome(game.judge((9, 9), (5, 5), (9, 9))) == ""


def test_time_runs_out_at_exactly_the_last_step() -> None:
    game = Game(engagement_of(grid=True, max_step=20), (0, 0), (7, 7))
    verdicts = [game.judge((0, 0), (7, 7)) for _ in range(20)]
    assert [bool(v.truncated[0]) for v in verdicts] == [False] * 19 + [True]
    assert outcome(verdicts[-1]) == "timeout"
    assert not verdicts[-1].terminated[0]


def test_capture_at_the_last_step_is_a_capture() -> None:
    game = Game(engagement_of(grid=True, capture={"radius": 1.5}, max_step=1), (0, 0), (7, 7))
    verdict = game.judge((0, 0), (1, 1))
    assert outcome(verdict) == "capture"
    assert not verdict.truncated[0]


def test_a_third_team_takes_no_part() -> None:
    data = plane_file(rules={"rewards": {"terms": [{"term": "distance", "team": "birds", "weight": 1}]}})
    data["roles"]["bird"] = {**data["roles"]["evader"], "team": "birds"}
    game = Game(parse(data), (0, 0), (5, 0), (0, 0))
    verdict = game.judge((0, 0), (5, 0), (0.1, 0))
    assert outcome(verdict) == ""
    assert verdict.rewards[:, 0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        ({"capture": {"by": "zone"}}, "'zone' and 'by: zone' need each other"),
        ({"capture": {"zone": {"center": [0, 0], "radius": 1}}}, "need each other"),
        ({"capture": {"by": "encirclement", "radius": 2}}, "takes 3 pursuers, of which there are 1"),
        ({"capture": {"pursuers": 2}}, "takes 2 pursuers, of which there are 1"),
        ({"capture": {"by": "encirclement", "swept": True}}, "only capture by radius can be swept"),
        ({"escape": {"region": {"center": [0, 0]}}}, "either 'center' and 'radius', or 'low' and 'high'"),
        ({"escape": {"region": {"low": [1, 0, 0], "high": [0, 0, 0]}}}, "low must not exceed high"),
        ({"escape": {"regoin": {}}}, "did you mean 'region'"),
    ],
)
def test_rules_that_nobody_can_fulfil_are_refused(rules: dict[str, Any], rule: str) -> None:
    with pytest.raises(EngagementError) as caught:
        engagement_of(**rules)
    assert rule in caught.value.rule


def test_codes_of_outcomes_are_stable() -> None:
    assert OUTCOMES[:7] == ("", "capture", "timeout", "failure", "aborted", "stopped", "escape")
    assert OUTCOMES[7:] == ("pursuers_win", "evaders_win", "mutual_loss")


WIDE = {"region": {"low": [4, -9, -9], "high": [12, 9, 9]}, "ends": "all"}


def test_a_row_of_a_batch_is_judged_as_it_would_be_alone() -> None:
    rng = np.random.default_rng(3)
    spec = engagement_of(3, 2, capture={"radius": 4, "swept": True, "hold_for": "100 ms", "ends": "all"}, escape=WIDE)
    places = rng.uniform(-12, 12, (12, 3, 5, 40)).cumsum(axis=0) * 0.3
    batch, batch_alive = Rules.of(spec, XP), np.ones((5, 40), bool)
    alone = [Rules.of(spec, XP) for _ in range(40)]
    alive = [np.ones((5, 1), bool) for _ in range(40)]

    def state(block: np.ndarray) -> State:
        out = State.zeros(XP, 5, block.shape[-1])
        out.block[:3] = block
        return out

    batch.reset(state(places[0]), None)
    for row, rules in enumerate(alone):
        rules.reset(state(places[0][..., row : row + 1]), None)
    seen = set()
    for tick in range(1, 12):
        verdict = batch.judge(state(places[tick]), batch_alive, np.full(40, tick), None).whole()
        batch_alive = verdict.alive
        for row, rules in enumerate(alone):
            own = rules.judge(state(places[tick][..., row : row + 1]), alive[row], np.asarray([tick]), None)
            alive[row] = own.alive
            assert own.alive[:, 0].tolist() == verdict.alive[:, row].tolist()
            assert int(own.outcome[0]) == int(verdict.outcome[row])
            assert own.rewards[:, 0].tolist() == verdict.rewards[:, row].tolist()
            seen.add(int(own.outcome[0]))
    assert len(seen) >= 3
