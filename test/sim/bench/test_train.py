"""The benchmark of learning: environment steps are counted alike on both sides, and what is missing is told."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.bench import train
from pe_sim.bench.sim import Contender
from pe_sim.errors import ContractError
from pe_sim.learning.trainer import Trainer


def small(spec, batch: int = 4, decisions: int = 6):
    return spec.model_copy(update={"batch": batch, "decisions": decisions})


def test_a_joint_decision_is_a_tick_in_the_like_for_like_setting(tmp_path):
    spec, engagement = train.tag_training(8, 1, 1)
    trainer = Trainer(small(spec), engagement, tmp_path)
    decisions = 0
    for _ in range(5):
        trainer.advance()
        decisions += train.joint_decisions(trainer)
    # A decision counts once it has come to its reward: the last one of each of the four engagements is still open.
    assert trainer.steps - 4 <= decisions <= trainer.steps


def test_it_is_five_ticks_in_the_shipped_training(tmp_path):
    spec, engagement = train.shipped_training()
    period = engagement.roles[next(iter(spec.roles))].trigger.period
    assert period == 5 * engagement.world.tick
    trainer = Trainer(small(spec), engagement, tmp_path)
    decisions = 0
    for _ in range(6):
        trainer.advance()
        decisions += train.joint_decisions(trainer)
    assert decisions == pytest.approx(trainer.steps / 5, rel=0.2)


def test_both_sides_have_teams_networks_and_passes_of_the_same_size(tmp_path):
    for setting in (*train.AS_XUANCE, train.AS_SHIPPED):
        spec, engagement = train.tag_training(setting.width, setting.epochs, setting.minibatches)
        learner = spec.roles["adversary"]
        assert engagement.roles["adversary"].count == 3
        assert learner.algorithm == "mappo"
        assert learner.network.hidden == learner.critic.hidden == (setting.width, setting.width)
        assert (learner.epochs, learner.minibatches) == (setting.epochs, setting.minibatches)
        assert setting.transitions % setting.parallels == 0
    spec, _ = train.shipped_training()
    shipped = next(iter(spec.roles.values()))
    assert (train.AS_SHIPPED.epochs, train.AS_SHIPPED.minibatches) == (shipped.epochs, shipped.minibatches)


@pytest.fixture
def fast(monkeypatch):
    def contender(name, spec, engagement, directory):
        return Contender(name, lambda calls: (1.0, 30_000 * calls))

    monkeypatch.setattr(train, "contender", contender)
    monkeypatch.setattr(train, "rivals_python", lambda directory, requirements: directory)
    monkeypatch.setattr(
        train, "rival", lambda stack, python, setting: Contender(setting.name, lambda calls: (1.0, 1_000 * calls))
    )


def test_the_goal_is_twenty_times_the_rival_however_it_steps_its_environments(fast, tmp_path):
    figures = train.speed(tmp_path, tmp_path, quick=True)
    goals = [figure for figure in figures if figure.goal is not None]
    assert [(figure.ratio, figure.goal, figure.holds) for figure in goals] == [(30.0, 20.0, True)] * 2
    assert figures[-1].rival is None
    assert "world ticks/s" in figures[-1].note


def test_a_rival_that_cannot_be_installed_is_named_with_the_command(fast, tmp_path, monkeypatch):
    def refuse(directory, requirements):
        assert requirements[0] == "xuance==1.4.4"
        raise ContractError("rivals", "cannot be installed: no network", cure="pip install xuance==1.4.4")

    monkeypatch.setattr(train, "rivals_python", refuse)
    figures = train.speed(tmp_path, tmp_path, quick=True)
    assert all(figure.goal is None for figure in figures)
    assert "pip install xuance==1.4.4" in figures[0].note


def test_learning_to_capture_stops_at_the_limit(tmp_path, monkeypatch):
    spec, engagement = train.shipped_training()
    monkeypatch.setattr(train, "shipped_training", lambda: (small(spec), engagement))
    spent, busy, rate, decisions = train.time_to_capture(tmp_path, 0.05)
    assert spent >= 0.05
    assert busy >= 0.0
    assert rate < train.SHARE
    assert decisions >= 0
