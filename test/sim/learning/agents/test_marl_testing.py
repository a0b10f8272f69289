"""Multi-agent cores in tests: nothing changes, every episode counts once, the best one is filmed."""

from __future__ import annotations

import copy

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents

from .marl_builds import EVERY, Log, build
from .marl_games import Meet, TwoStep, Unequal, same, vector


@pytest.mark.parametrize(
    ("kind", "recurrent"),
    [(kind, False) for kind in EVERY] + [(kind, True) for kind in (IPPOAgents, COMAAgents, IQLAgents)],
)
def test_a_test_writes_nothing_and_touches_no_training_environment(kind, recurrent):
    log = Log()
    agents = build(kind, callback=log, use_obsnorm=True, use_rnn=recurrent)
    agents.train(6)
    game = Meet if kind is MADDPGAgents else Unequal
    tests, before = vector(game, 3), copy.deepcopy(agents.state())
    log.calls.clear()
    scores = agents.test(7, test_envs=tests, close_envs=False)
    assert len(scores) == 7
    assert same(before, agents.state())  # weights, statistics, memory, counts, random generators, environments
    assert not any(env.closed for env in tests.envs)
    assert agents.test(7, test_envs=tests) == scores  # deterministic by default, in a world without chance
    assert all(env.closed for env in tests.envs)
    assert set(log.calls) == {"test step", "test end"}
    assert log.calls.count("test end") == 2
    for envs in (None, agents.train_envs):
        with pytest.raises(ValueError, match="not tested in"):
            agents.test(1, test_envs=envs)
        if envs is None:
            with pytest.raises(ValueError, match="not tested in"):
                agents.run_episodes(1, test_mode=True)
    assert len(agents.run_episodes(4, run_envs=vector(game, 3), test_mode=True)) == 4


def test_statistics_are_frozen_in_tests_unless_told_otherwise_and_are_exported():
    agents = build(IPPOAgents, use_obsnorm=True)
    agents.train(16)
    count = agents.obs_rms["scout_0"].count
    assert count == 4 * (2 * 3 + 1)  # decided at steps 1 and 2 of episodes of five, in two horizons of eight
    agents.test(3, test_envs=vector(Unequal, 2))
    assert agents.obs_rms["scout_0"].count == count
    exported = agents.export("scout_0")
    assert exported["normalisation.mean"] == pytest.approx(agents.obs_rms["scout_0"].mean)
    agents.config.update_rms = True
    agents.test(3, test_envs=vector(Unequal, 2))
    assert agents.obs_rms["scout_0"].count > count


def test_a_score_is_the_mean_over_the_agents():
    agents = build(IPPOAgents, TwoStep)
    assert agents.score({"episode_score": {"a_0": 1.0, "a_1": 4.0}}) == 2.5


def test_a_shorter_episode_is_not_counted_more_often():
    class Uneven(Unequal):
        made = 0

        def __init__(self):
            super().__init__()
            Uneven.made += 1
            self.limit = 2 if Uneven.made % 2 else 8

    agents = build(IPPOAgents, use_actions_mask=True)
    lengths = []
    agents.callback.on_test_step = lambda **now: lengths.extend(
        info["episode_step"] for info in now["infos"] if "reset_obs" in info
    )
    Uneven.made = 0
    assert len(agents.test(6, test_envs=vector(Uneven, 2))) == 6
    assert lengths.count(8) == 3


class Drawn(Unequal):
    """Its picture tells the environment's time."""

    def render(self):
        return np.full((2, 2, 3), self.time, np.uint8)


def test_the_video_of_the_best_episode_has_its_steps_and_one_picture_more(tmp_path):
    agents = build(IPPOAgents, render=True, render_mode="rgb_array", fps=5, log_dir=str(tmp_path))
    agents.test(3, test_envs=vector(Drawn, 2))
    assert agents.best_episode_video is not None
    if agents.best_episode_video.suffix == ".npz":
        assert np.load(agents.best_episode_video)["frames"][:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    agents.config.render = False
    agents.test(1, test_envs=vector(Unequal, 2))
    assert agents.best_episode_video is None
