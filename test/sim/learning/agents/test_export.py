"""What an agent learned flies as a bundle and decides the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.engagement import parse
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.errors import PeError
from pe_sim.evaluation.rollout import rollout
from pe_sim.learning.agents.bc import BCAgent
from pe_sim.learning.agents.ddpg import DDPGAgent
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.export import export_bundle
from pe_sim.learning.agents.offline import OfflineAgent
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.sac import SACAgent
from pe_sim.learning.agents.td3 import TD3Agent
from pe_sim.learning.agents.td3_bc import TD3BCAgent
from pe_sim.learning.agents.vector_env import DummyVecEnv
from pe_sim.policies.bundle import read

from ...files import grid_file, plane_file  # noqa: TID252 - shared by one room
from .tasks import many, off_policy_settings, on_policy_settings


def flown(data, path, episodes: int):
    """Outcome and duration of every episode that the bundle flies."""
    data = {**data, "roles": {name: dict(role) for name, role in data["roles"].items()}}
    data["roles"]["pursuer"]["policy"] = {"use": str(path), "rate": 10}
    return [(result.outcome, result.duration) for result in rollout(parse(data), episodes, seed=3)]


def played(agent, engagement, episodes: int):
    """The same of every episode that the agent itself plays."""
    env, results = SinglePursuit(engagement, "pursuer_0", seed=3), []
    for _ in range(episodes):
        seen, _ = env.reset()
        over = False
        while not over:
            scaled = agent._process_observation(seen[None])
            mode = {"deterministic": True} if isinstance(agent, PPOAgent) else {"test_mode": True}
            action = agent.get_actions(scaled, **({} if isinstance(agent, OfflineAgent) else mode))["actions"][0]
            seen, _, terminal, truncated, info = env.step(agent._to_env(action))
            over = terminal or truncated
        results.append((info["outcome"], info["time"]))
    return results


COLLECTORS = {BCAgent: DQNAgent, TD3BCAgent: TD3Agent}


def trained(kind, config, envs, steps):
    """An agent after some steps; one that learns from data, from those of another after as many."""
    collects = COLLECTORS.get(kind, kind)(config, envs)
    collects.train(steps)
    if kind not in COLLECTORS:
        return collects
    agent = kind(config, envs)
    agent.load_dataset(collects.memory.transitions())
    agent.train(20)
    return agent


@pytest.mark.parametrize("kind", [PPOAgent, DQNAgent, BCAgent])
@pytest.mark.parametrize("normalised", [False, True])
def test_a_bundle_on_the_grid_decides_what_the_agent_does(tmp_path, kind, normalised):
    data = grid_file(rules={"max_step": 15})
    engagement = parse(data)
    envs = DummyVecEnv([lambda: SinglePursuit(engagement, "pursuer_0")] * 2, env_seed=1)
    config = (on_policy_settings if kind is PPOAgent else off_policy_settings)(
        use_obsnorm=normalised, horizon_size=20, n_epochs=1, start_training=10
    )
    agent = trained(kind, config, envs, 100)
    bundle = export_bundle(agent, engagement, "pursuer", tmp_path / "pursuer", {"capture_rate": 0.5})
    description = read(bundle.path).description
    assert description.provenance["algorithm"] == kind.__name__
    assert description.evaluation == {"capture_rate": 0.5}
    assert flown(data, bundle.path, 8) == played(agent, engagement, 8)


def test_a_bundle_of_values_decides_what_the_agent_does(tmp_path):
    data = plane_file()
    engagement = parse(data)
    envs = DummyVecEnv([lambda: SinglePursuit(engagement, "pursuer_0")] * 2, env_seed=1)
    agent = PPOAgent(on_policy_settings(use_obsnorm=True, horizon_size=32), envs)
    agent.train(64)
    bundle = export_bundle(agent, engagement, "pursuer", tmp_path / "pursuer")
    assert np.array_equal(bundle.weights["0.normalisation.mean"], agent.obs_rms.mean)
    assert flown(data, bundle.path, 4) == played(agent, engagement, 4)


@pytest.mark.parametrize("kind", [DDPGAgent, TD3Agent, SACAgent, TD3BCAgent])
def test_a_bundle_of_squashed_values_decides_what_the_agent_does(tmp_path, kind):
    data = plane_file()
    engagement = parse(data)
    envs = DummyVecEnv([lambda: SinglePursuit(engagement, "pursuer_0")] * 2, env_seed=1)
    config = off_policy_settings(use_obsnorm=True, start_training=10)
    agent = trained(kind, config, envs, 60)
    bundle = export_bundle(agent, engagement, "pursuer", tmp_path / "pursuer")
    assert bundle.description.distribution == "squashed"
    assert not any("log_std" in name for name in bundle.weights)
    assert flown(data, bundle.path, 4) == played(agent, engagement, 4)


def test_what_cannot_be_written_is_told(tmp_path):
    engagement = parse(plane_file())

    def make():
        return SinglePursuit(engagement, "pursuer_0")

    agent = PPOAgent(on_policy_settings(), many(make, 1))
    with pytest.raises(PeError, match="role pursuer: sees"):
        export_bundle(agent, parse(grid_file()), "pursuer", tmp_path / "two")
    assert not list(tmp_path.iterdir())
