"""Test episodes of multi-agent cores: nothing is stored, nothing is learnt, no training environment is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.testing import begin_test, end_test, require_test_envs, shares

if TYPE_CHECKING:
    from pe_sim.learning.agents.marl_agents import MARLAgents


def run_test(
    agents: MARLAgents, episodes: int, test_envs: VecMultiAgentEnv | None, *, deterministic: bool, close_envs: bool
) -> list[float]:
    """Run episodes to their ends and return the score of each, the mean over the agents, in the order they ended.

    Every environment runs its share; see :func:`~pe_sim.learning.agents.testing.shares`.

    Raises:
        ValueError: if there are no environments to test in, or they are the training environments.
    """
    envs = require_test_envs(agents, test_envs)
    left = shares(episodes, envs.num_envs)
    recorder = begin_test(agents, envs)
    hidden = agents.first_hidden(envs.num_envs)
    scores: list[float] = []
    steps = 0
    while left.any():
        obs = list(envs.buf_obs)
        if getattr(agents.config, "update_rms", False):
            agents.note_present(envs)
        out, hidden = agents.test_actions(envs, hidden, deterministic=deterministic)
        next_obs, rewards, terminated, truncated, infos = envs.step(agents.to_env(out["actions"]))
        steps += envs.num_envs
        if recorder is not None:
            recorder.add(infos)
        agents.callback.on_test_step(
            envs=envs, policy=agents.policy, images=[info.get("frame") for info in infos], test_mode=True, obs=obs,
            policy_out=out, acts=out["actions"], next_obs=next_obs, rewards=rewards, terminals=terminated,
            truncations=truncated, infos=infos, current_train_step=agents.current_step, n_episodes=episodes,
            current_step=steps, current_episode=len(scores),
        )
        for e, info in enumerate(infos):
            if "reset_obs" not in info:
                continue
            hidden, score = agents.reset_hidden(e, hidden), agents.score(info)
            if recorder is not None:
                recorder.end(e, {**info, "episode_score": score}, counted=bool(left[e]))
            if left[e]:
                left[e] -= 1
                scores.append(score)
    end_test(agents, envs, scores, recorder, steps, close_envs=close_envs)
    return scores
