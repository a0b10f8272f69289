"""Multi-agent off-policy cores: remember joint steps and learn from samples of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_batches import Actions, Available
from pe_sim.learning.agents.marl_env import Flags, Info, Observations
from pe_sim.learning.agents.marl_explorers import ExploringActors
from pe_sim.learning.agents.marl_memory import JointReplay
from pe_sim.learning.agents.marl_networks import kept
from pe_sim.learning.agents.marl_testing import run_test
from pe_sim.learning.agents.marl_training import JointStep
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.settings import setting


class OffPolicyMARLAgents(ExploringActors):
    """Base of multi-agent off-policy cores; an algorithm builds networks and learns from samples.

    All agents in play decide at every step: for agents with rates of their own take an on-policy core.
    :meth:`train_epochs` is called once for every training_frequency environment steps after start_training, several
    times a step where there are more environments than that, and not before a whole sequence is stored. Further
    settings: buffer_size (joint steps of all environments), batch_size, start_training (environment steps before the
    first update, default 1), training_frequency (environment steps between updates, default 1), start_greedy,
    end_greedy and decay_step_greedy (choices), start_noise, end_noise and running_steps (values; noise in parts of half
    the width between the bounds), and with use_rnn sequence_length (steps of a sample, default 16). For arguments and
    attributes see :class:`~pe_sim.learning.agents.marl_agents.MARLAgents`.
    """

    memory: JointReplay

    def _build_memory(self) -> JointReplay:
        config = self.config
        self.buffer_size, self.batch_size = int(setting(config, "buffer_size")), int(setting(config, "batch_size"))
        self._read_schedules()
        length = int(getattr(config, "sequence_length", None) or 16) if self.use_rnn else 1
        if length > self.buffer_size // self.n_envs:
            raise PeError("config.buffer_size", f"must hold {length} steps of each environment", self.buffer_size)
        self.hidden = self.init_rnn_hidden(self.n_envs)
        return JointReplay(self.n_envs, self.buffer_size, self.batch_size, length)

    def store_experience(  # noqa: PLR0917 - XuanCe's signature
        self, obs_dict: list[Observations], avail_actions: Available | None, actions_dict: list[Actions],
        obs_next_dict: list[Observations], avail_actions_next: Available | None, rewards_dict: list[dict[str, float]],
        terminals_dict: list[Flags], info: list[Info], **kwargs: Any,
    ) -> None:
        """Store one step of every environment.

        Args:
            obs_dict: what the agents saw, by environment and agent.
            avail_actions: what they could do; used with use_actions_mask.
            actions_dict: what they did.
            obs_next_dict: what they saw then, at the end of an episode the last of it.
            avail_actions_next: what they could do then.
            rewards_dict: what they got.
            terminals_dict: for whom the game has ended.
            info: of the step: 'agent_mask', whose action counted, and 'episode_step', 1 at an episode's first step.
            kwargs: 'state' and 'next_state', (n_envs, S), if they are used; 'rnn_hidden', recurrent states before the
                step; whatever :meth:`get_aux_info` adds.
        """
        fields: dict[str, Any] = {
            "obs": self.column(obs_dict), "actions": self.column(actions_dict), "obs_next": self.column(obs_next_dict),
            "rewards": self.column(rewards_dict), "terminals": self.column(terminals_dict),
            "agent_mask": self.column([one["agent_mask"] for one in info]),
            "episode_steps": np.asarray([one["episode_step"] - 1 for one in info]),
        }
        state, next_state, hidden = (kwargs.pop(name, None) for name in ("state", "next_state", "rnn_hidden"))
        if self.use_global_state:
            fields |= {"state": np.asarray(state, np.float32), "state_next": np.asarray(next_state, np.float32)}
        if self.use_actions_mask and avail_actions is not None and avail_actions_next is not None:
            fields["avail_actions"] = self.available_column(avail_actions)
            fields["avail_actions_next"] = self.available_column(avail_actions_next)
        if self.use_rnn:
            for key, one in (hidden or self.init_rnn_hidden(self.n_envs) or {}).items():
                fields[f"hidden {key}"] = kept(one, self.n_envs)
        self.memory.store(**fields, **kwargs)

    def _choose(self, envs: VecMultiAgentEnv) -> dict[str, Any]:
        self.note_present(envs)
        return self.get_actions(envs.buf_obs, envs.buf_avail_actions, self.hidden, agent_mask=envs.buf_acting)

    def _require_learnable(self, step: JointStep) -> None:
        """Refuse a step in which an agent in play does not decide.

        Raises:
            PeError: with its name.
        """
        for info in step.infos:
            late = [agent for agent, waits in info["waiting"].items() if waits]
            if late:
                cure = "give all roles one decision rate, or take an on-policy core"
                raise PeError(late[0], "is in play but does not decide at every step", cure=cure)

    def _remember(self, step: JointStep, out: dict[str, Any]) -> None:
        self.store_experience(
            step.obs, step.avail_actions, step.acts, step.next_obs, step.next_avail_actions, step.rewards,
            step.terminals, step.infos, state=step.state, next_state=step.next_state, rnn_hidden=self.hidden,
            **self.get_aux_info(out),
        )
        self.hidden = out["hidden_state"]

    def _begin_again(self, e: int) -> None:
        self.hidden = self.reset_hidden(e, self.hidden)

    def _updates_due(self) -> int:
        return super()._updates_due() if self.memory.ready else 0

    def run_episodes(
        self, n_episodes: int = 1, run_envs: VecMultiAgentEnv | None = None, test_mode: bool = False,
        close_envs: bool = True,
    ) -> list[float]:
        """Run episodes from their beginnings to their ends, shared out evenly among the environments.

        Outside of test mode what happens is stored, updates are made as in :meth:`train`, and steps and episodes are
        counted.

        Args:
            n_episodes: how many.
            run_envs: where; None for the training environments, which are never tested in.
            test_mode: whether nothing is to be stored or learnt, and nothing tried out.
            close_envs: whether to close the environments after a test.

        Returns:
            Score of each, the mean over the agents, ``n_episodes`` of them.

        Raises:
            ValueError: if a test has no environments of its own, or these are not as many as in training.
        """
        if test_mode:
            return self.test(n_episodes, run_envs, close_envs)
        return self._train_episodes(n_episodes, run_envs)

    def train_epochs(self, n_epochs: int = 1) -> dict[str, Any]:
        """Learn from ``n_epochs`` samples; return the last one's metrics, 'epsilon-greedy' and 'noise_scale'.

        Raises:
            PeError: if less than one sequence is stored.
        """
        self.training_envs()
        if not self.memory.ready:
            raise PeError("memory", f"must hold {self.memory.length} steps to learn from", self.memory.size)
        info: dict[str, Any] = {}
        for _ in range(n_epochs):
            info = self.learn_from(self.memory.sample(self.rng))
        return {**info, "epsilon-greedy": self.e_greedy, "noise_scale": self.noise_scale}

    def test(
        self, test_episodes: int, test_envs: VecMultiAgentEnv | None = None, close_envs: bool = True
    ) -> list[float]:
        """Run episodes to their ends without exploring; nothing is stored and no training environment is touched.

        Returns:
            Score of each, the mean over the agents.

        Raises:
            ValueError: if there are no environments to test in, or they are the training environments.
        """
        return run_test(self, test_episodes, test_envs, deterministic=True, close_envs=close_envs)
