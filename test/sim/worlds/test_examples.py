"""The shipped engagements that show what the worlds can do run, keep the contract and play out as they should."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pe_sim.engagement import Engagement, load
from pe_sim.evaluation.rollout import Rollout
from pe_sim.worlds.contract import WorldContract

ENGAGEMENTS = Path(__file__).resolve().parents[3] / "config" / "engagements"


def shipped(name: str, **changes: object) -> Engagement:
    return load(ENGAGEMENTS / f"{name}.yaml", {key.replace("__", "."): value for key, value in changes.items()})


class TestCourtyard(WorldContract):
    ticks = 25

    def engagement(self) -> Engagement:
        return shipped("courtyard_2v1")


class TestGusts(WorldContract):
    ticks = 25

    def engagement(self) -> Engagement:
        return shipped("gusts_3v1")


class TestGridMaze(WorldContract):
    def engagement(self) -> Engagement:
        return shipped("grid_maze_2v1")


@pytest.mark.parametrize(
    ("name", "changes"),
    # Half a minute of flight brings the airplanes within their 12 m; within 60 m takes a few seconds.
    [("courtyard_2v1", {}), ("gusts_3v1", {"rules__capture__radius": 60}), ("grid_maze_2v1", {})],
)
def test_it_plays_to_an_outcome_and_a_row_of_a_batch_is_the_same_alone(name: str, changes: dict[str, object]) -> None:
    engagement = shipped(name, **changes)
    together = Rollout(engagement, 3).run([1] * 3, list(range(1, 4)))
    alone = Rollout(engagement).run([1], [3])[0]
    assert alone == together[2]
    outcomes = Counter(result.outcome for result in together)
    assert outcomes["capture"] >= 2, outcomes
    assert len({result.trajectory_sha256 for result in together}) == 3


def test_the_maze_lets_its_evader_move_twice_as_far_half_as_often() -> None:
    engagement = shipped("grid_maze_2v1")
    contract = TestGridMaze()
    world = contract.make()
    contract.begin(world, [0, 1, 2, 3])
    states = contract.fly(world, [0, 1, 2, 3], 60)
    evader = engagement.agents.index("evader_0")
    place = np.stack([state[:2, evader] for state in states])
    moved = np.abs(np.diff(place, axis=0)).max(axis=1)
    assert moved[0::2].max() == 0, "state k is after tick k: it moves at even ticks only"
    assert moved[1::2].max() == 2
