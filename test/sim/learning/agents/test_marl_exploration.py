"""What multi-agent cores try out: each environment and agent by itself, down to a floor, within bounds."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents

from .marl_games import Meet
from .marl_samples import off


def test_exploration_is_drawn_for_each_environment_and_agent_within_the_masks():
    agents = off(IQLAgents, start_greedy=0.5, end_greedy=0.5)
    count, best = 6000, {"scout_0": 0, "hunter_0": 0, "hunter_1": 0}
    masks = [{a: np.asarray([True, True, False, True][: agents.choices(a)]) for a in best}] * count
    found = agents.exploration(count, [best] * count, masks)
    table = np.asarray([[int(one[a]) for a in best] for one in found])
    assert set(table[:, 0]) == {0, 1, 3}
    expected = np.asarray([0.5 + 0.5 / 3, 0.5 / 3, 0.0, 0.5 / 3]) * count
    seen = np.bincount(table[:, 0], minlength=4)
    assert ((seen - expected)[[0, 1, 3]] ** 2 / expected[[0, 1, 3]]).sum() < 13.8  # 2 degrees of freedom, 0.1 %
    both = ((table[:, 0] != 0) & (table[:, 1] != 0)).mean()
    assert both == pytest.approx((1 / 3) * 0.25, abs=0.02)  # not all agents at once
    assert found[0] is not best
    agents.use_actions_mask = False
    free = agents.exploration(count, [best] * count, masks)
    assert {int(one["scout_0"]) for one in free} == {0, 1, 2, 3}


def test_exploration_falls_to_its_floor_and_noise_keeps_within_bounds():
    agents = off(IQLAgents, start_greedy=0.9, end_greedy=0.1, decay_step_greedy=40)
    found = []
    for _ in range(13):
        found.append(agents.e_greedy)
        agents.train(1)
    assert found == pytest.approx([max(0.1, 0.9 - 0.02 * 4 * k) for k in range(13)])
    assert agents.noise_scale is None
    noisy = off(MADDPGAgents, Meet, start_noise=1.0, end_noise=0.2, running_steps=16)
    middle = {"a_0": np.zeros(1, np.float32), "a_1": np.full(2, 0.5, np.float32)}
    drawn = noisy.exploration(3000, [middle] * 3000)
    wide, narrow = (np.stack([one[a] for one in drawn]) for a in middle)
    assert all(noisy.action_space[a].contains(one[a]) for one in drawn for a in middle)
    assert [np.mean(abs(wide) < 2.0), np.mean(abs(narrow - 0.5) < 0.5)] == pytest.approx([0.683, 0.683], abs=0.03)
    noisy.train(10)
    assert noisy.noise_scale == 0.2
    assert noisy.e_greedy is None
