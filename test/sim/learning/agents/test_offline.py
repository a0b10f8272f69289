"""Learning from data: what they must be, and better than who made them."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.errors import PeError
from pe_sim.learning.agents.bc import BCAgent
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.dataset import PARTS, read_dataset, write_dataset
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.offline import OfflineAgent
from pe_sim.learning.agents.replay import Transitions
from pe_sim.learning.agents.td3_bc import TD3BCAgent

from .tasks import Line, Track, best_track_score, many, off_policy_settings, signature_of

GOLDEN = json.loads((Path(__file__).parent / "xuance_1_4_4.json").read_text())["OfflineAgent"]


def track_data(choose, episodes: int = 150, seed: int = 5) -> tuple[Transitions, float]:
    """What somebody did, and the mean score of it; ``choose`` has where it is and a random generator."""
    env, rng, steps, scores = Track(), np.random.default_rng(seed), [], []
    for episode in range(episodes):
        seen, _ = env.reset(seed=seed * 1000 + episode)
        score, over = 0.0, False
        while not over:
            action = np.clip(np.asarray([choose(float(seen[0]), rng)], np.float32), -1.0, 3.0)
            following, reward, ended, over, _ = env.step(action)
            steps.append((seen, action, reward, following, ended))
            seen, score = following, score + reward
        scores.append(score)
    return Transitions(*(np.asarray(part) for part in zip(*steps, strict=True))), float(np.mean(scores))


def clumsy(x: float, rng: np.random.Generator) -> float:
    """Towards 0 hesitatingly, and shakily; 1 is to stay."""
    return 1.0 - 0.8 * x + rng.normal(0.0, 0.8)


@pytest.fixture(scope="module")
def clumsy_data() -> tuple[Transitions, float]:
    return track_data(clumsy)


def score_of(built, episodes: int = 40) -> float:
    return float(np.mean(built.test(lambda: many(Track, 4, 100), episodes)))


@pytest.mark.parametrize("method", GOLDEN)
def test_signatures_are_those_of_the_golden_file(method):
    assert signature_of(getattr(OfflineAgent, method)) == GOLDEN[method]


def test_td3_bc_beats_its_behaviour_data(clumsy_data):
    data, behaved = clumsy_data
    built = TD3BCAgent(off_policy_settings(batch_size=64), many(Track))
    built.load_dataset(data)
    built.train(700)
    best = np.mean([best_track_score(x) for x in np.linspace(-1, 1, 101)])
    assert behaved < -0.8
    assert score_of(built) > behaved + 0.7 * (best - behaved)


def test_behaviour_cloning_beats_the_shaky_hand_that_it_copies(clumsy_data):
    data, behaved = clumsy_data
    built = BCAgent(off_policy_settings(batch_size=64, use_obsnorm=True), many(Track))
    built.load_dataset(data)
    built.train(400)
    assert score_of(built) > behaved + 0.3 * abs(behaved)  # what was shaken is the mean of what was done
    seen = built._process_observation(np.asarray([[-0.5], [0.0], [0.5]], np.float32))
    assert built.get_actions(seen)["actions"][:, 0] == pytest.approx([1.4, 1.0, 0.6], abs=0.15)


def test_behaviour_cloning_copies_the_choices_of_an_agent_from_its_memory(tmp_path):
    taught = DQNAgent(off_policy_settings(start_greedy=0.2, end_greedy=0.2), many(Line))
    taught.policy["q"].body.head.bias.data[1] = 100.0  # it goes right
    taught.start_training = 10**6
    taught.train(200)
    path = write_dataset(tmp_path / "walks.npz", taught.memory.transitions())
    built = BCAgent(off_policy_settings(dataset=path), many(Line))
    built.train(200)
    assert built.test(lambda: many(Line), 4) == pytest.approx([1.0 - 4 * 0.05] * 4)


def test_a_dataset_is_read_as_it_was_written(tmp_path, clumsy_data):
    data, _ = clumsy_data
    back = read_dataset(write_dataset(tmp_path / "data.npz", data))
    for part in PARTS:
        assert np.array_equal(getattr(back, part), getattr(data, part))


def arrays(**changes):
    values = {
        "observations": np.zeros((6, 1), np.float32), "actions": np.zeros((6, 1), np.float32), "rewards": np.zeros(6),
        "next_observations": np.zeros((6, 1), np.float32), "terminals": np.zeros(6),
    }
    values.update(changes)
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(("changes", "message"), [
    ({"rewards": None}, "lacks rewards"),
    ({"rewards": np.zeros((6, 1))}, "rewards: must be one number per step"),
    ({"rewards": np.zeros(0)}, "rewards: must be one number per step"),
    ({"actions": np.zeros((5, 1))}, "actions: must hold 6 steps"),
    ({"observations": np.zeros((6, 3))}, "observations: must have the shape"),
    ({"actions": np.zeros((6, 2))}, "actions: must have the shape"),
    ({"observations": np.full((6, 1), np.nan)}, "observations: must be finite"),
    ({"rewards": np.asarray([0, 0, np.inf, 0, 0, 0])}, "rewards: must be finite"),
    ({"actions": np.full((6, 1), 3.5)}, "actions: must lie within the bounds"),
    ({"observations": np.full((6, 1), "x")}, "observations: must be numbers"),
])
def test_data_that_cannot_be_learned_from_are_refused(changes, message):
    built = TD3BCAgent(off_policy_settings(), many(Track))
    with pytest.raises(PeError, match=message):
        built.load_dataset(arrays(**changes))
    assert built.memory is None
    built.load_dataset(arrays())


def test_choices_that_there_are_not_are_refused():
    built = BCAgent(off_policy_settings(), many(Line))
    shape = np.zeros((6, 5))
    for wrong in (2, -1, 0.5):
        with pytest.raises(PeError, match="choices from 0 to 1"):
            built.load_dataset(arrays(observations=shape, next_observations=shape, actions=np.full(6, wrong)))


def test_files_that_are_no_datasets_are_named(tmp_path):
    text, pickled = tmp_path / "a.npz", tmp_path / "b.npz"
    text.write_text("no data")
    np.savez(pickled, observations=np.asarray([object()]))
    built = TD3BCAgent(off_policy_settings(), many(Track))
    for path, message in ((tmp_path / "none.npz", "cannot be read"), (text, "no .npz file"), (pickled, "no .npz file")):
        with pytest.raises(PeError, match=message):
            built.load_dataset(path)
    with pytest.raises(PeError, match="cannot be written"):
        write_dataset(tmp_path / "missing" / "c.npz", Transitions(*arrays().values()))


def test_without_data_there_is_nothing_to_learn_from():
    built = TD3BCAgent(off_policy_settings(), many(Track))
    with pytest.raises(PeError, match="load_dataset"):
        built.train(1)
    with pytest.raises(PeError, match="use_rewnorm"):
        TD3BCAgent(off_policy_settings(use_rewnorm=True), many(Track))
    with pytest.raises(PeError, match="action_space"):
        TD3BCAgent(off_policy_settings(), many(Line))


def test_updates_are_counted_exactly_and_a_callback_can_stop(clumsy_data):
    class Stop(BaseCallback):
        updates = 0

        def on_train_epochs_end(self, current_step, **kwargs):
            self.updates += 1

        def on_train_step_end(self, current_step, **kwargs):
            self.stop_training = current_step >= 10

    callback = Stop()
    built = BCAgent(off_policy_settings(training_frequency=3, n_epochs=2), many(Track), callback)
    built.load_dataset(clumsy_data[0])
    built.train(1000)
    assert built.current_step == 10
    assert callback.updates == 3
    assert built.learner.iterations == 6


def test_a_test_closes_its_environments_and_touches_no_other(clumsy_data):
    built = BCAgent(off_policy_settings(), many(Line))
    made = []
    scores = built.test(lambda: made.append(many(Line, 2)) or made[0], 5)
    assert len(scores) == 5
    assert all(env.closed for env in made[0].envs)
    assert [env.resets for env in built.train_envs.envs] == [1] * 4


def test_observations_are_scaled_by_the_statistics_of_the_data(clumsy_data):
    data, _ = clumsy_data
    built = BCAgent(off_policy_settings(use_obsnorm=True), many(Track))
    built.load_dataset(data)
    scaled = built._process_observation(data.observations)
    assert scaled.mean() == pytest.approx(0.0, abs=1e-2)
    assert scaled.std() == pytest.approx(1.0, abs=5e-2)


def test_a_space_of_its_own_is_needed():
    with pytest.raises(ValueError, match="observation_space"):
        BCAgent(off_policy_settings(), None)
    assert isinstance(BCAgent(off_policy_settings(), many(Line)).action_space, gym.spaces.Discrete)
