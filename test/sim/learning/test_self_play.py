"""Self-play: pools grow, who has learned beats who has not, and a training stopped goes on to the same bits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.engagement import override, parse
from pe_sim.errors import EngagementError, PeError
from pe_sim.evaluation.evaluate import evaluate
from pe_sim.learning.scores import PURSUERS_SCORE, pursuers_score
from pe_sim.learning.self_play import SelfPlay, training_of
from pe_sim.learning.spec import parse_training
from pe_sim.learning.tournament import POOL, read_pools, tournament
from pe_sim.learning.trainer import CHECKPOINT, Trainer
from pe_sim.policies.bundle import read
from pe_sim.rules import OUTCOMES

from ..files import grid_file, plane_file  # noqa: TID252 - shared by one room

SMALL = grid_file(
    world={"size": 5},
    rules={
        "max_step": 12,
        "rewards": {"terms": [
            {"term": "capture", "team": "pursuers", "weight": 1}, {"term": "capture", "team": "evaders", "weight": -1},
            {"term": "time", "team": "pursuers", "weight": -0.05}, {"term": "time", "team": "evaders", "weight": 0.05},
        ]},
    },
)
LEARNER = {"network": {"hidden": [32]}, "critic": {"hidden": [32]}, "epochs": 2, "minibatches": 2}


def training(path, data=None, roles=("pursuer", "evader"), opponents=None, **sections):
    file = {
        "training": "t", "engagement": "x", "batch": 16, "decisions": 8, "steps": 1200, "checkpoint_every": 2,
        "roles": {role: {**LEARNER, **sections.pop(role, {})} for role in roles},
        "opponents": opponents or {"pursuers": {"kind": "pool", "snapshot_every": 2}}, **sections,
    }
    path.mkdir(exist_ok=True)
    return training_of(parse_training(file), parse(data or SMALL), path)


def weights_of(play: SelfPlay):
    return [v for side in play.sides for learner in side.trainer.learners for v in learner.weights().values()]


@pytest.mark.parametrize("network", [{}, {"recurrent": "gru", "memory": 8}, {"recurrent": "lstm", "memory": 8}])
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_training_stopped_goes_on_to_the_same_bits_and_the_same_pool(tmp_path, network, stop):
    shape = {"network": {"hidden": [8], **network}}
    try:
        whole = training(tmp_path / "whole", pursuer=shape, evader=shape)
    except EngagementError as fault:
        pytest.skip(f"not trained: {fault}")
    whole.run()
    assert whole.update > stop
    first = training(tmp_path / "parts", pursuer=shape, evader=shape)
    first.run(lambda standing: standing.update < stop)
    second = training(tmp_path / "parts", pursuer=shape, evader=shape)
    second.resume(tmp_path / "parts" / CHECKPOINT)
    second.run()
    assert second.steps == whole.steps
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(whole), weights_of(second), strict=True))
    for team, pool in whole.pools.items():
        others = second.pools[team].members
        assert len(pool.members) > 2
        told = [(m.name, m.elo, m.games, m.score, m.total, m.hashes) for m in pool.members]
        assert told == [(m.name, m.elo, m.games, m.score, m.total, m.hashes) for m in others]
        assert sum(m.total for m in pool.members) > 0
    assert [side.rating for side in whole.sides] == [side.rating for side in second.sides]


@pytest.mark.timeout(600)
def test_the_pool_grows_and_the_newest_beats_the_oldest(tmp_path):
    play = training(
        tmp_path, batch=64, decisions=16, steps=160_000, pursuer={"learning_rate": 3e-3},
        evader={"learning_rate": 3e-3}, opponents={"pursuers": {"kind": "pool", "snapshot_every": 10}},
    )
    play.run()
    pursuers, evaders = play.pools["pursuers"].members, play.pools["evaders"].members
    assert [m.name for m in pursuers] == [f"{10 * k:06d}" for k in range(len(pursuers))]
    assert len(pursuers) > 5

    def time_to_capture(pursuer, evader):
        uses = {"roles.pursuer.policy": pursuer.uses["pursuer"], "roles.evader.policy": evader.uses["evader"]}
        changes = {
            f"{key}.{part}": value
            for key, use in uses.items()
            for part, value in (("use", use), ("parameters", {"deterministic": False}))
        }
        result = evaluate(parse(override(play.engagement.resolved(), changes)), 400)
        return result.capture_rate, result.mean_time_to_capture

    rate, seconds = time_to_capture(pursuers[0], evaders[0])
    learned_rate, learned_seconds = time_to_capture(pursuers[-1], evaders[0])
    assert learned_rate > rate + 0.05
    assert learned_seconds < seconds
    assert time_to_capture(pursuers[0], evaders[-1])[0] < rate - 0.05
    assert play.sides[0].rating > 1000
    shown = json.loads((tmp_path / POOL).read_text())
    assert len(shown["pools"]["evaders"]) == len(evaders)
    standings = tournament(play.engagement, *read_pools(tmp_path, 2), 200)
    assert standings.names == {"pursuers": ["000000", pursuers[-1].name], "evaders": ["000000", evaders[-1].name]}
    for team in ("pursuers", "evaders"):
        oldest, newest = standings.ratings[team]
        assert newest > oldest + 30


def test_a_team_that_learns_alone_plays_against_those_named(tmp_path):
    members = ["guidance/random", "guidance/hold_still"]
    play = training(tmp_path, roles=("pursuer",), opponents={"evaders": {"kind": "pool", "members": members}})
    play.run()
    assert [side.team for side in play.sides] == ["pursuers"]
    pool = play.pools["evaders"].members
    assert [m.name for m in pool] == members
    assert all(m.total > 0 for m in pool)
    assert not (tmp_path / "pool").exists()
    assert set(play.write_bundles()) == {"pursuer"}


def test_teams_of_two_roles_are_played_by_one_snapshot_at_a_time(tmp_path):
    data = plane_file(rules={"time_limit": "1 s"})
    data["roles"]["decoy"] = {**data["roles"]["evader"]}
    play = training(tmp_path, data, roles=("pursuer", "evader", "decoy"), batch=8)
    play.run()
    chasing = play.sides[0]
    assert set(play.pools["evaders"].members[0].uses) == {"evader", "decoy"}
    for lane in chasing._mixed:
        one, other = (mixed.chosen for mixed in lane)
        assert np.array_equal(one, other)


def test_each_side_learns_by_its_own_algorithm(tmp_path):
    play = training(tmp_path, pursuer={"algorithm": "mappo"}, evader={"algorithm": "ippo"})
    assert [type(side.trainer.learners[0]).__name__ for side in play.sides] == ["Mappo", "Ippo"]
    figures = play.advance()
    wanted = {"pursuers/elo", "evaders/elo", "pursuers/pool", "pursuer/entropy", "evader/entropy", "episodes"}
    assert wanted <= set(figures)


def test_without_a_pool_all_roles_learn_in_one_environment(tmp_path):
    assert isinstance(training(tmp_path, opponents={"evaders": {"kind": "scripted", "use": "guidance/random"}},
                               roles=("pursuer",)), Trainer)


@pytest.mark.parametrize(
    ("opponents", "rule"),
    [
        ({"evader": {"kind": "pool"}}, r"opponents\.evader.*no such team.*evaders"),
        ({"evaders": {"kind": "scripted", "use": "guidance/random"}}, "only a pool can play it as well"),
    ],
)
def test_opponents_that_do_not_go_with_the_engagement_are_refused(tmp_path, opponents, rule):
    with pytest.raises(EngagementError, match=rule):
        training(tmp_path, opponents=opponents)


def test_a_pool_that_nobody_learns_against_is_refused(tmp_path):
    with pytest.raises(EngagementError, match="nobody learns against this team"):
        training(tmp_path, roles=("pursuer",), opponents={"pursuers": {"kind": "pool"}})


def test_a_snapshot_that_was_changed_stops_the_resumption_and_nothing_is_written(tmp_path):
    first = training(tmp_path)
    first.run(lambda standing: standing.update < 2)
    checkpoint = (tmp_path / CHECKPOINT).read_bytes()
    snapshot = tmp_path / "pool" / "evaders" / "000000" / "evader"
    weights = (snapshot / "weights.safetensors").read_bytes()
    other = training(tmp_path / "other", seed=9)
    other.run(lambda _: False)
    changed = tmp_path / "other" / "pool" / "evaders" / "000000" / "evader"
    for name in ("policy.yaml", "weights.safetensors"):
        (snapshot / name).write_bytes((changed / name).read_bytes())
    with pytest.raises(PeError, match="is not the snapshot"):
        training(tmp_path).resume(tmp_path / CHECKPOINT)
    assert (tmp_path / CHECKPOINT).read_bytes() == checkpoint
    assert (snapshot / "weights.safetensors").read_bytes() != weights
    assert read(snapshot).description.sha256 == read(changed).description.sha256


def test_a_checkpoint_of_a_training_against_other_opponents_is_refused(tmp_path):
    training(tmp_path).run(lambda _: False)
    with pytest.raises(PeError, match="opponents"):
        training(tmp_path, opponents={"pursuers": {"kind": "pool", "snapshot_every": 3}}).resume(tmp_path / CHECKPOINT)


def test_a_directory_without_pools_is_refused(tmp_path):
    with pytest.raises(PeError, match="tells of no pools"):
        read_pools(tmp_path, 3)


def test_the_scores_name_outcomes_that_there_are():
    assert set(PURSUERS_SCORE) | {"", "aborted", "stopped"} == set(OUTCOMES)


def test_a_capture_after_par_is_lost():
    capture, timeout, stopped = (OUTCOMES.index(name) for name in ("capture", "timeout", "stopped"))
    assert [pursuers_score(capture, time, 600) for time in (600, 601)] == [1.0, 0.0]
    assert pursuers_score(capture, 10**9, None) == 1.0
    assert pursuers_score(timeout, 10, 600) == 0.0
    assert pursuers_score(stopped, 10, 600) is None


def test_par_decides_in_training_and_in_a_tournament(tmp_path):
    pool = {"kind": "pool", "snapshot_every": 2, "par": "100 ms"}
    play = training(tmp_path, opponents={"pursuers": pool}, steps=600)
    play.run()
    assert {pool.spec.par for pool in play.pools.values()} == {100_000_000}
    won = sum(member.score for member in play.pools["evaders"].members)
    assert 0 < won < 0.9 * sum(member.games for member in play.pools["evaders"].members)
    pools, how = read_pools(tmp_path, 1)
    free = tournament(play.engagement, pools, replace(how, par={}), 100)
    tight = tournament(play.engagement, pools, how, 100)
    assert 0 < tight.scores[0, 0] < free.scores[0, 0] - 0.1


def test_a_training_goes_on_from_wherever_its_directory_is_now(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    whole = training(Path("run"))
    whole.run(lambda standing: standing.update < 4)
    shutil.copytree("run", tmp_path / "moved")
    whole.run(lambda standing: standing.update < 6)
    shutil.rmtree("run")
    monkeypatch.chdir(tmp_path)
    other = training(Path("moved"))
    other.resume(Path("moved") / CHECKPOINT)
    other.run(lambda standing: standing.update < 6)
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(whole), weights_of(other), strict=True))
    pools, how = read_pools(tmp_path / "moved", 2)
    assert tournament(parse(SMALL), pools, how, 2).scores.shape == (2, 2)
