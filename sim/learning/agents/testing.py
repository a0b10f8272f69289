"""What test episodes of all cores have in common: environments of their own, fair shares, the best one's video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.vector_env import VecEnv
from pe_sim.learning.agents.video import EpisodeRecorder, write_video

if TYPE_CHECKING:
    from pe_sim.learning.agents.core import Core, Envs


def require_test_envs(core: Core[Envs], envs: Envs | None) -> Envs:
    """Return the environments to test in.

    Raises:
        ValueError: if there are none, or they are the training environments.
    """
    if envs is None or envs is core.train_envs:
        raise ValueError("give test_envs: the training environments are not tested in")
    return envs


def shares(episodes: int, n_envs: int) -> NDArray[np.int64]:
    """Return how many episodes each environment runs, alike to within one.

    Counting those of all environments that end first would count short ones more often.
    """
    return np.asarray([episodes // n_envs + (e < episodes % n_envs) for e in range(n_envs)], np.int64)


def begin_test(core: Core[Any], envs: VecEnv | VecMultiAgentEnv) -> EpisodeRecorder | None:
    """Begin an episode in each environment; return what films them, None where no video is asked for."""
    filming = getattr(core.config, "render", False) and getattr(core.config, "render_mode", "") == "rgb_array"
    if filming:
        envs.record(on=True)
    _, infos = envs.reset()
    return EpisodeRecorder(infos) if filming else None


def end_test(
    core: Core[Any], envs: VecEnv | VecMultiAgentEnv, scores: list[float], recorder: EpisodeRecorder | None, steps: int,
    *, close_envs: bool,
) -> None:
    """Write the video, if one was taken, tell the callback, and close the environments if so asked."""
    core.best_episode_video = None
    if recorder is not None:
        envs.record(on=False)
        if recorder.best:
            path = Path(getattr(core.config, "log_dir", "logs")) / f"best_episode_{core.current_step}"
            core.best_episode_video = write_video(path, recorder.best, int(getattr(core.config, "fps", 30)))
    core.callback.on_test_end(
        envs=envs, policy=core.policy, current_train_step=core.current_step, current_step=steps,
        current_episode=len(scores), scores=scores, best_score=max(scores, default=-np.inf),
        video=core.best_episode_video,
    )
    if close_envs:
        envs.close()
