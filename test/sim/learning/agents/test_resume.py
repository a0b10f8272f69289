"""Every agent stopped, saved, loaded and resumed goes on to the same bits; what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.engagement import parse
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.errors import PeError
from pe_sim.learning.agents.a2c import A2CAgent
from pe_sim.learning.agents.bc import BCAgent
from pe_sim.learning.agents.ddpg import DDPGAgent
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.sac import SACAgent
from pe_sim.learning.agents.subproc_vec_env import SubprocVecEnv
from pe_sim.learning.agents.td3 import TD3Agent
from pe_sim.learning.agents.td3_bc import TD3BCAgent
from pe_sim.learning.agents.vector_env import DummyVecEnv

from ...files import grid_file  # noqa: TID252 - shared by one room
from .tasks import Line, Track, many, off_policy_settings, on_policy_settings

ENGAGEMENT = parse(grid_file(rules={"max_step": 8}))


def pursuit() -> SinglePursuit:
    return SinglePursuit(ENGAGEMENT, "pursuer_0")


def online(kind, envs):
    if kind in (PPOAgent, A2CAgent):
        config = on_policy_settings(horizon_size=8, use_obsnorm=True, use_rewnorm=True)
    else:
        # Memory wraps, and random choices and noise are still being reduced, when it stops.
        config = off_policy_settings(
            buffer_size=60, start_training=10, use_obsnorm=True, use_rewnorm=True, hidden=(16,), batch_size=8
        )
    return kind(config, envs)


@pytest.mark.parametrize(("kind", "make", "subprocesses"), [
    (PPOAgent, Track, False), (A2CAgent, Track, False), (DDPGAgent, Track, False), (TD3Agent, Track, False),
    (SACAgent, Track, True), (SACAgent, Track, False), (DQNAgent, Line, False), (PPOAgent, pursuit, False),
    (DQNAgent, pursuit, True),
])
def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path, kind, make, subprocesses):
    def envs():
        if subprocesses:
            return SubprocVecEnv([make] * 3, env_seed=2, in_series=2)
        return DummyVecEnv([make] * 3, env_seed=2)

    whole, stopped, resumed = (online(kind, envs()) for _ in range(3))
    try:
        whole.train(20)
        whole.train(23)
        stopped.train(20)
        stopped.save_model("model.bin", tmp_path / "run")
        stopped.train(5)  # what is saved does not change with what goes on
        resumed.load_model(tmp_path / "run", "model.bin")
        resumed.train(23)
        np.testing.assert_equal(resumed.state(), whole.state())
        assert resumed.current_step == 43 * 3
        assert resumed.learner.iterations > 0
    finally:
        for one in (whole, stopped, resumed):
            one.train_envs.close()


def unseeded(agent_seed: int):
    return PPOAgent(on_policy_settings(horizon_size=8, seed=agent_seed), many(Track, 2, None))


def test_environments_without_a_seed_come_back_too(tmp_path):
    one, other = unseeded(1), unseeded(2)
    one.train(13)
    path = one.save_model("model.bin", tmp_path)
    other.load_model(path)
    for agent in (one, other):
        agent.train(20)
    np.testing.assert_equal(other.state(), one.state())


@pytest.mark.parametrize("kind", [BCAgent, TD3BCAgent])
def test_an_offline_training_goes_on_to_the_same_bits_on_the_same_data_only(tmp_path, kind):
    collector = online(DDPGAgent, many(Track))
    collector.train(15)
    data = collector.memory.transitions()
    whole, stopped, resumed = (kind(off_policy_settings(hidden=(16,), seed=s), many(Track)) for s in (1, 1, 2))
    for one in (whole, stopped, resumed):
        one.load_dataset(data)
    whole.train(31)
    stopped.train(11)
    path = stopped.save_model("model.bin", tmp_path)
    resumed.load_model(path)
    resumed.train(20)
    np.testing.assert_equal(resumed.state(), whole.state())
    collector.train(1)
    resumed.load_dataset(collector.memory.transitions())
    with pytest.raises(PeError, match="dataset: differs"):
        resumed.load_model(path)


def test_built_from_spaces_it_loads_what_flies(tmp_path):
    trained = online(SACAgent, many(Track))
    trained.train(30)
    path = trained.save_model("model.bin", tmp_path)
    flown = SACAgent(
        off_policy_settings(hidden=(16,), use_obsnorm=True, seed=9), None, Track.observation_space, Track.action_space
    )
    flown.load_model(path)
    seen = np.linspace(-1, 1, 9, dtype=np.float32)[:, None]
    a, b = (
        one.get_actions(one._process_observation(seen), test_mode=True)["actions"] for one in (trained, flown)
    )
    assert np.array_equal(a, b)


def test_what_does_not_fit_is_refused_and_nothing_is_changed(tmp_path):
    trained = online(DQNAgent, many(Line))
    trained.train(10)
    path = trained.save_model("model.bin", tmp_path)
    others = {
        "is of a DQNAgent": online(PPOAgent, many(Line)),
        r"has the shape \(2, 16\)": DQNAgent(off_policy_settings(hidden=(8,)), many(Line)),
        "in 4 environments": online(DQNAgent, many(Line, 3)),
        "buffer_size": DQNAgent(off_policy_settings(hidden=(16,), buffer_size=8), many(Line)),
    }
    for message, other in others.items():
        before = other.policy.state_dict()
        before = {name: values.clone() for name, values in before.items()}
        with pytest.raises(PeError, match=message):
            other.load_model(path)
        np.testing.assert_equal(
            {n: v.numpy() for n, v in other.policy.state_dict().items()}, {n: v.numpy() for n, v in before.items()}
        )
        assert other.current_step == 0
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(PeError, match="damaged"):
        online(DQNAgent, many(Line)).load_model(path)
    with pytest.raises(PeError, match="cannot be read"):
        online(DQNAgent, many(Line)).load_model(tmp_path, "none.bin")


def test_an_environment_that_does_not_come_back_is_named(tmp_path):
    class Elsewhere(Track):
        count = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            Elsewhere.count += 1
            self.x = Elsewhere.count / 1000  # of no seed, and of no random generator
            return np.asarray([self.x], np.float32), {}

    one = online(DDPGAgent, many(Elsewhere, 2))
    one.train(3)
    path = one.save_model("model.bin", tmp_path)
    with pytest.raises(PeError, match="environment 0: does not come back"):
        online(DDPGAgent, many(Elsewhere, 2)).load_model(path)


def test_what_cannot_be_written_is_told(tmp_path):
    agent = PPOAgent(on_policy_settings(), many(Line, 1))
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(PeError, match="cannot be written"):
        agent.save_model("agent.bin", tmp_path / "file")
