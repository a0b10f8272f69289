"""All multi-agent algorithms, built alike, and a callback that keeps a log."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents
from pe_sim.learning.agents.off_policy_marl import OffPolicyMARLAgents

from .marl_games import Meet, Unequal, settings, vector

ON = (IPPOAgents, MAPPOAgents, COMAAgents)
OFF = (IQLAgents, VDNAgents, QMIXAgents)
EVERY = (*ON, *OFF, MADDPGAgents)


def build(kind, game=None, envs=4, callback=None, **changes):
    game = game or (Meet if kind is MADDPGAgents else Unequal)
    off = {"buffer_size": 400, "batch_size": 16, "n_epochs": 1, "start_greedy": 0.5, "end_greedy": 0.1,
           "decay_step_greedy": 200, "start_noise": 0.5, "end_noise": 0.1, "running_steps": 200, "sequence_length": 4}
    given = {"buffer_size": 8 * envs, **(off if issubclass(kind, OffPolicyMARLAgents) else {}), **changes}
    if given.get("use_rnn"):
        given.setdefault("sequence_length", 4)
    return kind(settings(**given), vector(game, envs), callback=callback)


def spaces(game):
    envs = vector(game, 1)
    return {"observation_space": envs.observation_space, "action_space": envs.action_space,
            "state_space": envs.state_space}


class Log(BaseCallback):
    def __init__(self, stop_after: int = 10**9) -> None:
        self.calls: list[str] = []
        self._stop_after = stop_after

    def on_update_start(self, iterations, **kwargs):
        self.calls.append("update")

    def on_update_end(self, iterations, **kwargs):
        self.calls.append("updated")
        return {"mine": 7.0}

    def on_train_step(self, current_step, **kwargs):
        assert {"obs", "acts", "next_obs", "rewards", "state", "next_state", "terminals", "truncations"} <= set(kwargs)
        self.calls.append("step")

    def on_train_epochs_end(self, current_step, **kwargs):
        assert kwargs["update_info"]["mine"] == 7.0
        self.calls.append("epochs")

    def on_train_episode_info(self, **kwargs):
        assert "episode_score" in kwargs["infos"][kwargs["env_id"]]
        self.calls.append("episode")

    def on_train_step_end(self, current_step, **kwargs):
        self.calls.append("end")
        self.stop_training = current_step >= self._stop_after

    def on_test_step(self, **kwargs):
        self.calls.append("test step")

    def on_test_end(self, **kwargs):
        self.calls.append("test end")
