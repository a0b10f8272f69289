"""The video of a test's best episode: its first picture and one after each step, of that episode only."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.errors import PeError
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.sac import SACAgent
from pe_sim.learning.agents.subproc_vec_env import SubprocVecEnv
from pe_sim.learning.agents.vector_env import DummyVecEnv

from .tasks import Track, many, off_policy_settings, on_policy_settings


class Painter(gym.Env):
    """Its pictures tell environment, episode and step; episode k of environment e scores as given, in k + 2 steps."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, number: int, scores: list[float]) -> None:
        self.number, self.scores, self.episode, self.render_mode = number, scores, -1, "rgb_array"

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.time = self.episode + 1, 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.time += 1
        over = self.time == self.episode + 2
        return np.zeros(1, np.float32), self.scores[self.episode] if over else 0.0, False, over, {}

    def render(self):
        return np.full((2, 4, 3), (self.number, self.episode, self.time), np.uint8)


def painters(kind=DummyVecEnv):
    # Of seven episodes the first environment runs three and the others two each: those that score 99 do not count.
    scores = [[1.0, 2.0, 7.0, 99.0], [0.0, 2.0, 99.0, 99.0], [5.0, 4.0, 99.0, 99.0]]
    makers = [lambda i=i, given=given: Painter(i, given) for i, given in enumerate(scores)]
    return kind(makers)


def agent(path, kind=PPOAgent, **changes):
    config = (on_policy_settings if kind is PPOAgent else off_policy_settings)(
        render=True, render_mode="rgb_array", fps=10, log_dir=str(path), **changes
    )
    return kind(config, None, Painter.observation_space, Painter.action_space)


@pytest.fixture
def no_imageio(monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio", None)
    monkeypatch.setitem(sys.modules, "imageio.v3", None)


@pytest.mark.parametrize("kind", [PPOAgent, SACAgent])
@pytest.mark.parametrize("envs", [DummyVecEnv, SubprocVecEnv])
def test_it_has_a_picture_more_than_the_best_episode_has_steps(tmp_path, no_imageio, kind, envs, caplog):
    built = agent(tmp_path / "runs", kind)
    scores = built.test(7, test_envs=painters(envs))
    assert max(scores) == 7.0
    path = built.best_episode_video
    assert path == tmp_path / "runs" / "best_episode_0.npz"
    assert "imageio is not installed" in caplog.text
    with np.load(path) as file:
        pictures, fps = file["frames"], int(file["fps"])
    assert pictures.shape == (5, 2, 4, 3)  # the third episode has four steps
    assert pictures[:, 0, 0].tolist() == [[0, 2, step] for step in range(5)]
    assert fps == 10


def test_with_imageio_it_is_a_video(tmp_path, monkeypatch):
    written = {}
    module = SimpleNamespace(imwrite=lambda path, frames, **how: written.update(path=path, frames=frames, **how))
    monkeypatch.setitem(sys.modules, "imageio", ModuleType("imageio"))
    monkeypatch.setitem(sys.modules, "imageio.v3", module)
    built = agent(tmp_path)
    built.test(3, test_envs=painters())
    assert built.best_episode_video == written["path"] == tmp_path / "best_episode_0.gif"
    assert written["frames"][:, 0, 0].tolist() == [[2, 0, step] for step in range(3)]
    assert written["duration"] == 100.0


@pytest.mark.parametrize("changes", [{"render": False}, {"render_mode": "human"}])
def test_unless_asked_for_nothing_is_drawn(tmp_path, changes):
    built = agent(tmp_path)
    for name, value in changes.items():
        setattr(built.config, name, value)
    built.test(2, test_envs=many(Track, 2))
    assert built.best_episode_video is None
    assert not list(tmp_path.iterdir())


def test_an_environment_that_draws_nothing_is_named(tmp_path):
    with pytest.raises(PeError, match="draws no pictures"):
        agent(tmp_path).test(1, test_envs=many(Track, 1))


def test_after_a_test_pictures_are_no_longer_drawn(tmp_path, no_imageio):
    envs = painters()
    built = agent(tmp_path)
    built.test(3, test_envs=envs, close_envs=False)
    envs.envs[0].episode = 0
    envs.envs[0].render = lambda: pytest.fail("drawn")
    envs.step(np.zeros((3, 1), np.float32))


def test_where_it_cannot_be_written_is_told(tmp_path, no_imageio):
    (tmp_path / "file").write_text("")
    with pytest.raises(PeError, match="cannot be written"):
        agent(tmp_path / "file").test(1, test_envs=painters())
