"""Grid games learned against the best response: what is promised, stopped and resumed, refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError, PeError
from pe_sim.evaluation.exact_game import best_response, solve_exactly, start_states
from pe_sim.evaluation.grid_policy import game_of, policy_table
from pe_sim.learning.game_trainer import GameTrainer
from pe_sim.learning.kinds import parse_any, trainer_of
from pe_sim.learning.trainer import CHECKPOINT

from ..files import grid_file  # noqa: TID252 - shared by one room

SENSORS = {"position": {"kind": "position", "rate": 10}, "tracker": {"kind": "relative", "rate": 10}}
FOUR_WAY = grid_file(
    world={"size": 5, "min_start_distance": 1.5}, rules={"max_step": 100},
    roles={"pursuer": {"dynamics": {"model": "grid_mover", "moves": 4}, "sensors": SENSORS}},
)


def trainer_at(path, steps=60, data=None, **game) -> GameTrainer:
    file = {
        "training": "t", "engagement": "x", "steps": steps, "checkpoint_every": 20,
        "game": {
            "role": "pursuer", "network": {"hidden": [32, 32]}, "exact_rounds": 20, "minibatch": 256,
            "learning_rate": 5e-3, **game,
        },
    }
    spec = parse_any(file)
    trainer = trainer_of(spec, parse(data or FOUR_WAY), path)
    assert isinstance(trainer, GameTrainer)
    return trainer


def test_what_flies_loses_little_to_the_best_response(tmp_path):
    trainer = trainer_at(tmp_path, 250)
    trainer.run()
    bundle = trainer.write_bundles()["pursuer"]
    assert not bundle.description.deterministic
    engagement = trainer.flown_by({"pursuer": bundle.path})
    game = game_of(engagement)
    starts = start_states(game, 1.5)
    table = policy_table(engagement, game, "pursuer")
    against = best_response(game, table, most_rounds=1000)[starts].mean()
    assert against < 1.15 * solve_exactly(game).value[starts].mean()
    # The bundle says of itself what the trainer knew, and draws its moves with these chances.
    assert against == pytest.approx(trainer.history[-1]["against_best_response"], rel=1e-3)
    draws = 400
    state = int(np.nonzero(~game.caught)[0][table[~game.caught].max(axis=1).argmin()])
    flown = [drawn(engagement, game, state, seed) for seed in range(draws)]
    assert np.bincount(flown, minlength=5) / draws == pytest.approx(table[state], abs=4 * 0.5 / np.sqrt(draws))


def drawn(engagement, game, state, seed):
    """The move that the bundle draws in a state, in the episode of the state's number."""
    from pe_sim.evaluation.rollout import load_policies
    from pe_sim.simulation import Simulation

    simulation = Simulation(engagement, 1)
    policy = load_policies(simulation)["pursuer"]
    simulation.reset(np.asarray([seed]), np.asarray([0]))
    policy.reset(simulation.roots, None)
    for agent, cell in enumerate(game.places[:, state]):
        simulation.state.block[0, agent], simulation.state.block[1, agent] = divmod(int(cell), game.grid.size)
    simulation.sense()
    views = simulation.roles["pursuer"].perception.view(simulation.now)
    return int(policy.decide(views, simulation.now, np.ones((1, 1), np.bool_))[0, 0, 0])


@pytest.mark.parametrize("stop", [7, 33])
def test_a_training_goes_on_to_the_same_bits(tmp_path, stop):
    whole, first, second = (trainer_at(tmp_path / name) for name in ("whole", "part", "part"))
    for name in ("whole", "part"):
        (tmp_path / name).mkdir()
    whole.run()
    first.run(lambda standing: standing.update < stop)
    second.resume(tmp_path / "part" / CHECKPOINT)
    assert second.steps == stop
    second.run()
    assert np.array_equal(whole._learner.table(), second._learner.table())
    assert [one["loss"] for one in whole.history] == [one["loss"] for one in second.history]


def test_what_is_the_same_in_every_state_does_not_count(tmp_path):
    trainer = trainer_at(tmp_path, 5)
    trainer.run()
    weight = trainer.write_bundles()["pursuer"].weights["0.layers.0.weight"]
    names = trainer.write_bundles()["pursuer"].description.observation
    for place, name in enumerate(names):
        told = name.endswith((".x", ".y"))
        assert (np.abs(weight[:, place]).max() > 0) == told, name


def test_files_that_are_no_such_game_are_refused(tmp_path):
    trainer = trainer_at(tmp_path)
    path = trainer.save()
    with pytest.raises(PeError, match="another training"):
        trainer_at(tmp_path, minibatch=128).resume(path)
    with pytest.raises(PeError, match="steps: is a checkpoint of another training, where it is 60"):
        trainer_at(tmp_path, steps=61).resume(path)
    block = {"obstacles": [[2, 2], [2, 3], [3, 2], [3, 3]], "size": 6}
    with pytest.raises(PeError, match="never caught"):
        trainer_at(tmp_path, data=grid_file(world=block))
    with pytest.raises(EngagementError, match="one evader"):
        trainer_at(tmp_path, data=grid_file(roles={"evader": {"count": 2}}))
    with pytest.raises(EngagementError, match="network"):
        parse_any({"training": "t", "engagement": "x", "steps": 1, "game": {"role": "pursuer", "nettwork": {}}})
