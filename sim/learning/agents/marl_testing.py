"""Test episodes of multi-agent cores: nothing is stored, nothing is learnt, no training environment is touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.video import EpisodeRecorder, write_video

if TYPE_CHECKING:
    from pe_sim.learning.agents.marl_agents import MARLAgents


def run_test(
    agents: MARLAgents, episodes: int, envs: VecMultiAgentEnv, *, deterministic: bool, close_envs: bool
) -> list[float]:
    """Run episodes to their ends and return the score of each, the mean over the agents, in the order they ended.

    Every environment runs its share; see :func:`shares`.
    """
    left = shares(episodes, envs.num_envs)
    filming = getattr(agents.config, "render", False) and getattr(agents.config, "render_mode", "") == "rgb_array"
    if filming:
        envs.record(on=True)
    _, infos = envs.reset()
    recorder = EpisodeRecorder(infos) if filming else None
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
    _finish(agents, envs, scores, recorder, steps)
    if close_envs:
        envs.close()
    return scores


def shares(episodes: int, n_envs: int) -> NDArray[np.int64]:
    """Return how many episodes each environment runs, alike to within one.

    Counting those of all environments that end first would count short ones more often.
    """
    return np.asarray([episodes // n_envs + (e < episodes % n_envs) for e in range(n_envs)], np.int64)


def _finish(
    agents: MARLAgents, envs: VecMultiAgentEnv, scores: list[float], recorder: EpisodeRecorder | None, steps: int
) -> None:
    """Write the video, if one was taken, and tell the callback."""
    video: Any = None
    if recorder is not None:
        envs.record(on=False)
        if recorder.best:
            path = Path(getattr(agents.config, "log_dir", "logs")) / f"best_episode_{agents.current_step}"
            video = write_video(path, recorder.best, int(getattr(agents.config, "fps", 30)))
    agents.best_episode_video = video
    agents.callback.on_test_end(
        envs=envs, policy=agents.policy, current_train_step=agents.current_step, current_step=steps,
        current_episode=len(scores), scores=scores, best_score=max(scores, default=-np.inf), video=video,
    )
