"""Start places: within their boxes, apart, and each agent's own whatever else is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from pe_sim.arrays import namespace
from pe_sim.errors import EngagementError

from .kit import OBSTACLES, begun, made


def test_starts_keep_their_boxes_distances_and_obstacles() -> None:
    fat = {"model": "single_integrator", "max_speed": 5, "radius": 0.5}
    roles = {
        "p": (fat, 3, {"low": [-20, -20, 0], "high": [0, 20, 12], "heading": [0.5, 1.0], "speed": [1, 2]}),
        "e": (fat, 2, {}),
    }
    engagement = made(roles, obstacles=OBSTACLES, min_start_distance=6, min_separation=2)
    world = begun(engagement, batch=500)
    place = np.asarray(world.state.block[:3])
    assert place[0, :3].max() <= 0.0
    for axis, (low, high) in enumerate(zip((-20, -20, 0), (20, 20, 12), strict=True)):
        assert place[axis].min() >= low + 0.5
        assert place[axis].max() <= high - 0.5
    for obstacle in engagement.world.obstacles:  # type: ignore[attr-defined]
        assert obstacle.surface(namespace(), tuple(place))[0].min() > 0.5
    apart = np.sqrt(((place[:, :, None] - place[:, None]) ** 2).sum(axis=0)) + 99 * np.eye(5)[:, :, None]
    assert apart.min() > 2
    assert apart[:3, 3:].min() > 6
    speed = np.asarray(world.state.block[7, :3])
    assert speed.min() >= 1
    assert speed.max() <= 2
    heading = 2 * np.arctan2(np.asarray(world.state.block[5, :3]), np.asarray(world.state.block[6, :3]))
    assert heading.min() >= 0.5 - 1e-12
    assert heading.max() <= 1.0 + 1e-12
    assert np.ptp(heading) > 0.45


def test_an_agent_more_changes_no_start_of_the_agents_before_it() -> None:
    few = begun(made({"p": ("multirotor", 2, {}), "e": "multirotor"}), batch=20)
    more = begun(made({"p": ("multirotor", 2, {}), "e": ("multirotor", 3, {})}), batch=20)
    assert np.array_equal(few.state.block, more.state.block[:, :3])


def test_given_points_are_taken_as_they_are() -> None:
    points = [[1, 2, 3], [-4, 5, 6]]
    world = begun(made({"p": ("multirotor", 2, {"points": points})}), batch=3)
    for row in range(3):
        assert np.asarray(world.state.pos)[row, :2].tolist() == points


def test_an_arena_too_small_for_its_distances_is_refused_at_the_reset() -> None:
    engagement = made({"p": ("multirotor", 2, {}), "e": "multirotor"}, min_separation=60)
    with pytest.raises(EngagementError, match=r"roles.p.start: no free place found for p_1 .* lower world.min_start"):
        begun(engagement)


def test_a_box_outside_the_arena_or_too_narrow_for_the_body_is_refused() -> None:
    with pytest.raises(EngagementError, match=r"roles.p.start: \(0.0, 0.0, 99.0\) is outside the arena"):
        made({"p": ("multirotor", 1, {"low": [0, 0, 0], "high": [0, 0, 99]})})
    fat = {"model": "multirotor", "max_speed": 5, "radius": 2}
    with pytest.raises(EngagementError, match=r"roles.p.start: leaves no room inside the arena"):
        made({"p": (fat, 1, {"low": [19, 0, 0], "high": [20, 9, 9]})})
