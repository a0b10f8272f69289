"""Evaluation: the same episodes as a rollout, and intervals with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from pe_sim.evaluation.evaluate import evaluate, mean_interval, wilson
from pe_sim.evaluation.rollout import rollout

from ..files import shipped  # noqa: TID252 - shared by one room


def test_an_evaluation_is_made_of_the_episodes_of_a_rollout():
    engagement = shipped("grid_1v1", rules__max_step=40)
    one_by_one = list(rollout(engagement, 13, 5))
    captures = [one.duration for one in one_by_one if one.outcome == "capture"]
    assert captures
    for batch in (4, 13):
        found = evaluate(engagement, 13, 5, batch=batch)
        assert found.outcomes.get("capture", 0) == len(captures)
        assert found.mean_time_to_capture == pytest.approx(np.mean(captures))
        for agent, value in found.mean_rewards.items():
            assert value == pytest.approx(np.mean([one.rewards[agent] for one in one_by_one]))


def test_intervals_have_their_closed_forms():
    # Wilson, 8 of 10: as tabulated by Newcombe (1998).
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=2e-4)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == pytest.approx(1.0)
    values = np.asarray([1.0, 2.0, 3.0])
    assert mean_interval(values) == pytest.approx((2 - 1.96 / np.sqrt(3), 2 + 1.96 / np.sqrt(3)), abs=1e-3)
    assert mean_interval(values[:1]) is None
