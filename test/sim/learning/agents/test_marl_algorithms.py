"""What each multi-agent algorithm computes: by hand where there is a hand value, else by what must not matter."""

from __future__ import annotations

import copy
from argparse import Namespace
from functools import partial

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.engagement import parse
from pe_sim.envs.rllib import RLlibPursuit
from pe_sim.errors import PeError
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_networks import kept
from pe_sim.learning.agents.marl_qmix import Mixer, QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents
from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.vector_env import DummyVecEnv

from ...files import plane_file  # noqa: TID252 - shared by one room
from .marl_games import Easy, Game, Meet, Remember, TwoStep, Unequal, same, settings, vector

OFF = {"buffer_size": 400, "batch_size": 16, "n_epochs": 1, "sequence_length": 4, "start_training": 10**9}


def on(kind, game=Unequal, envs=4, **changes):
    return kind(settings(**{"buffer_size": 8 * envs, "sequence_length": 4, **changes}), vector(game, envs))


def off(kind, game=Unequal, envs=4, **changes):
    return kind(settings(**{**OFF, **changes}), vector(game, envs))


def horizon(agents) -> dict:
    """One horizon, not learnt from."""
    kept: list[dict] = []

    def take(sample):
        kept.append(agents.memory.sample(np.arange(agents.memory.units)))  # in order, not shuffled
        return {}

    agents.update = take
    agents.n_epochs, agents.n_minibatch = 1, 1
    agents.train(agents.memory.steps)
    del agents.update
    return kept[0]


def past(agents, steps=12) -> dict:
    agents.train(steps)
    return agents.memory.sample(np.random.default_rng(0))


def learnt(agents, sample, names=None) -> dict:
    """The weights after an update, all the rest being as it was."""
    before = copy.deepcopy(agents.state())
    agents.update(sample)
    out = {n: p.detach().clone() for n, p in agents.policy.named_parameters() if names is None or n.startswith(names)}
    agents._restore(before)
    return out


def close(a, b) -> bool:
    return a.keys() == b.keys() and all(torch.allclose(a[n], b[n], atol=1e-6) for n in a)


def rates():
    roles = {"evader": {"policy": {"rate": 20}}, "pursuer": {"count": 2}}
    data = plane_file(rules={"time_limit": "0.6 s"}, roles=roles)
    return partial(RLlibPursuit, parse(data))


@pytest.mark.parametrize("game", [Unequal, Remember, rates])
@pytest.mark.parametrize("changes", [{}, {"use_rnn": True}, {"use_rnn": True, "rnn": "LSTM", "N_recurrent_layers": 2}])
@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents])
def test_what_is_learnt_from_is_what_was_thought_when_acting(kind, changes, game):
    maker = rates() if game is rates else game
    agents = kind(settings(buffer_size=8 * 3, sequence_length=4, parameter_sharing="role", **changes),
                  DummyVecMultiAgentEnv([maker] * 3, 1))
    agents.train(3)  # the horizon begins within an episode, with something to remember
    agents.train_epochs(0)
    sample = horizon(agents)
    seen, times, masks = agents.seen(sample["obs"]), agents.times(sample), sample["agent_mask"]
    with torch.no_grad():
        available = agents.available(sample.get("avail_actions"))
        dists, _ = agents.act(seen, available, agents.revive(sample, "actor"), times)
        values, _ = agents.judge(seen, None, {}, agents.revive(sample, "critic"), times)
    for a in agents.agent_keys:
        mask = masks[a]
        assert mask.any()
        again = dists[a].log_prob(torch.from_numpy(sample["actions"][a])).numpy()
        assert again[mask] == pytest.approx(sample["log_pi_old"][a][mask], abs=1e-4)
        assert values[a].numpy()[mask] == pytest.approx(sample["values"][a][mask], abs=1e-4)
    assert not all(masks[a].all() for a in agents.agent_keys) or game is Remember


@pytest.mark.parametrize("rnn", ["GRU", "LSTM"])
@pytest.mark.parametrize("game", [Remember, Unequal])
def test_recurrent_states_that_are_remembered_lead_from_one_to_the_next(rnn, game):
    agents = off(IQLAgents, game, 3, use_rnn=True, rnn=rnn, parameter_sharing="role")
    agents.train(12)
    t, e = np.meshgrid(np.arange(12), np.arange(3), indexing="ij")
    sample = agents.memory.take(t, e)
    starts = sample["episode_steps"] == 0
    assert starts[1:].any()
    for group in agents.groups:
        stored = sample[f"hidden {group.key}"]
        assert not stored["h"][starts].any()
        assert stored["h"][~starts].any()
        rows = group.identified(group.rows(agents.seen(sample["obs"])))
        n = len(group.agents)
        active = group.rows(agents.flags(sample["agent_mask"]))
        with torch.no_grad():
            _, hiddens = agents.policy["q"][group.key].unroll(
                rows, agents.revive(sample, group.key), torch.from_numpy(starts).repeat_interleave(n, 1), active
            )
        for k in range(11):
            found = kept(hiddens[k], 3)
            for name, values in found.items():
                goes_on = ~starts[k + 1]
                assert values[goes_on] == pytest.approx(stored[name][k + 1][goes_on], abs=1e-5)


def test_the_next_state_of_an_end_is_the_last_of_its_episode():
    Clock.made = 0
    agents = off(QMIXAgents, Clock, 2)
    agents.train(5)
    t, e = np.meshgrid(np.arange(5), np.arange(2), indexing="ij")
    sample = agents.memory.take(t, e)
    assert sample["state"][:, 0, 0].tolist() == [0, 1, 2, 0, 1]
    assert sample["state_next"][:, 1, 0].tolist() == [1, 2, 3, 1, 2]
    assert sample["state_next"][..., 1].tolist() == [[0, 1]] * 5


def spoilt(sample, names, agent=None):
    """The sample with garbage wherever an agent did not decide; or everywhere, of one agent."""
    out, rng = copy.deepcopy(sample), np.random.default_rng(5)
    for name in names:
        for a, values in out[name].items():
            places = ~sample["agent_mask"][a] if agent is None else np.full(values.shape[:2], a == agent)
            if values.dtype.kind == "f":
                values[places] = rng.normal(50.0, 10.0, values[places].shape)
            elif values.dtype.kind == "i":
                values[places] = 2
    return out


@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents, COMAAgents])
def test_agents_that_die_early_contribute_no_gradient_on_policy(kind):
    agents = on(kind)
    sample = horizon(agents)
    assert not sample["agent_mask"]["scout_0"].all()
    names = ["log_pi_old", "advantages", "returns", *([] if kind is COMAAgents else ["actions"]),
             *(["obs"] if kind is IPPOAgents else [])]
    assert close(learnt(agents, sample), learnt(agents, spoilt(sample, names)))
    for mask in sample["agent_mask"].values():
        mask[:] = False
    assert close(learnt(agents, sample), dict(agents.policy.named_parameters()))


@pytest.mark.parametrize("kind", [IQLAgents, VDNAgents, QMIXAgents])
def test_agents_that_die_early_contribute_no_gradient_off_policy(kind):
    agents = off(kind)
    sample = past(agents)
    assert not sample["agent_mask"]["scout_0"].all()
    spoil = spoilt(sample, ["obs", "obs_next", "actions", "rewards"])
    assert close(learnt(agents, sample), learnt(agents, spoil))


@pytest.mark.parametrize(("kind", "build", "more"), [
    (IPPOAgents, on, ["log_pi_old", "advantages", "returns"]), (IQLAgents, off, ["obs_next", "rewards"]),
])
def test_independent_policies_do_not_share_gradients(kind, build, more):
    agents = build(kind, grad_clip_norm=0.1)
    sample = horizon(agents) if build is on else past(agents)
    plain, other = learnt(agents, sample), learnt(agents, spoilt(sample, ["obs", "actions", *more], "hunter_0"))
    mine = [name for name in plain if ".hunter_0." in name]
    assert close({n: plain[n] for n in plain if n not in mine}, {n: other[n] for n in plain if n not in mine})
    assert not close({n: plain[n] for n in mine}, {n: other[n] for n in mine})


@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents, COMAAgents, QMIXAgents])
def test_agents_of_a_role_share_their_parameters_and_others_do_not(kind):
    agents = (off if kind is QMIXAgents else on)(kind, parameter_sharing="role")
    assert agents.model_keys == ["scout_0", "hunter_0"]
    net = agents.policy["q" if kind is QMIXAgents else "actor"]
    assert set(net) == {"scout_0", "hunter_0"}
    assert net["scout_0"].inputs == 2
    assert net["hunter_0"].inputs == 3 + 2  # and which of the two it is
    exported = [agents.export(a) for a in ("hunter_0", "hunter_1")]
    assert exported[0]["layers.0.weight"].shape == (16, 3)
    assert not np.array_equal(exported[0]["layers.0.bias"], exported[1]["layers.0.bias"])
    with pytest.raises(PeError, match="share parameters"):
        (off if kind is QMIXAgents else on)(kind, use_parameter_sharing=True)


def test_the_central_critic_sees_what_all_see_and_never_what_they_do():
    agents = on(MAPPOAgents, parameter_sharing="role")
    assert {key: net.inputs for key, net in agents.policy["critic"].items()} == {"scout_0": 2 + 3 + 3, "hunter_0": 8}
    seen = {a: torch.randn(1, 4, n) for a, n in agents.sizes.items()}
    one, other = ({a: torch.full((1, 4), i) for a in agents.agent_keys} for i in (0, 2))
    first, second = agents.judge(seen, None, one, None)[0], agents.judge(seen, None, other, None)[0]
    moved = agents.judge({**seen, "scout_0": seen["scout_0"] + 1.0}, None, one, None)[0]
    for a in agents.agent_keys:
        assert torch.equal(first[a], second[a])
        assert not torch.allclose(first[a], moved[a])  # everybody's value depends on everybody's observation
    by_state = on(MAPPOAgents, TwoStep, use_global_state=True)
    assert {net.inputs for net in by_state.policy["critic"].values()} == {3}
    own = on(IPPOAgents)
    assert {key: net.inputs for key, net in own.policy["critic"].items()} == own.sizes


@pytest.mark.parametrize("recurrent", [False, True])
def test_the_central_critic_has_an_output_for_each_agent_of_a_group(recurrent):
    agents = on(MAPPOAgents, Easy, use_parameter_sharing=True, use_rnn=recurrent)
    certain(agents, {"critic": [1.0, 2.0]})
    found = agents.get_actions(agents.train_envs.buf_obs, None, None, *agents.hidden)["values"]
    assert {a: v.tolist() for a, v in found.items()} == {"a_0": [1.0] * 4, "a_1": [2.0] * 4}


@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents, COMAAgents])
def test_actors_act_without_critic_and_global_state(kind):
    agents = on(kind, use_global_state=True)
    expected = agents.test(4, test_envs=vector(Unequal, 2))
    del agents.policy["critic"]
    assert agents.test(4, test_envs=vector(Unequal, 2)) == expected


class Clock(Game):
    """The state is the time and the number of the environment; time is up after three steps."""

    limit, made = 3, 0
    state_space = gym.spaces.Box(0.0, 99.0, (2,), np.float32)

    def __init__(self):
        super().__init__()
        self.number = Clock.made
        Clock.made += 1

    def state(self):
        return np.asarray([self.time, self.number], np.float32)

    def play(self, actions):
        return dict.fromkeys(actions, 1.0), {"a_1"} if self.number == 1 and self.time == 3 else set()


@pytest.mark.parametrize("kind", [MAPPOAgents, COMAAgents])
def test_the_state_is_kept_per_environment_and_what_follows_a_timeout_is_the_value_of_its_last_state(kind):
    Clock.made = 0
    agents = on(kind, Clock, 2, use_global_state=True, buffer_size=2 * 5)
    ends = {}
    finish, memory = agents.memory.finish_path, agents.memory
    memory.finish_path = lambda e, values: (ends.__setitem__((memory.size, e), values), finish(e, values))
    judged = []
    judge = agents.judge
    agents.judge = lambda seen, state, *rest: (judged.append(state), judge(seen, state, *rest))[1]
    sample = horizon(agents)
    assert sample["state"].reshape(5, 2, 2)[..., 0].tolist() == [[0, 0], [1, 1], [2, 2], [0, 0], [1, 1]]
    assert sample["state"].reshape(5, 2, 2)[..., 1].tolist() == [[0, 1]] * 5
    values = ends[3, 0]
    assert ends[3, 1]["a_1"] == 0.0  # for it the game has ended
    assert values["a_1"] != 0.0
    last = [state for state in judged if state[0, :, 0].tolist() == [3.0, 3.0]]
    assert len(last) == 1
    if kind is MAPPOAgents:
        seen = {a: torch.ones(1, 2, 1) for a in agents.agent_keys}
        expected = judge(seen, torch.tensor([[[3.0, 0.0], [3.0, 1.0]]]), {}, None)[0]
        assert values["a_0"] == pytest.approx(float(expected["a_0"].detach()[0, 0]), abs=1e-6)
        assert ends[3, 1]["a_0"] == pytest.approx(float(expected["a_0"].detach()[0, 1]), abs=1e-6)


def test_values_of_what_follows_are_those_of_the_environment_asked_for():
    for recurrent in (False, True):
        agents = on(MAPPOAgents, Remember, use_rnn=recurrent, parameter_sharing="all")
        agents.train(1)
        obs, hidden = agents.train_envs.buf_obs, agents.hidden
        ended = [{"a_0": e == 2, "a_1": False} for e in range(4)]
        found = agents.get_terminated_values(obs, None, ended, rnn_hidden=hidden)
        for e in range(4):
            after, expected = agents.values_next(e, obs[e], None, hidden[1])
            assert (after is None) is not recurrent
            assert found[e]["a_1"] == pytest.approx(expected["a_1"], abs=1e-6)
            assert found[e]["a_0"] == (0.0 if e == 2 else pytest.approx(expected["a_0"], abs=1e-6))
        words = {tuple(env.word.values()) for env in agents.train_envs.envs} if recurrent else {()}
        assert len({round(one["a_1"], 6) for one in found}) == len(words)  # it remembers what was said


def test_values_are_in_units_of_returns_and_the_critic_in_those_of_its_normaliser():
    agents = on(IPPOAgents, use_value_norm=True)
    plain = agents.get_actions(agents.train_envs.buf_obs, deterministic=True)["values"]["scout_0"]
    agents.value_rms["scout_0"].update(np.asarray([[90.0], [110.0]]))
    found = agents.get_actions(agents.train_envs.buf_obs, deterministic=True)["values"]["scout_0"]
    assert found == pytest.approx(100.0 + 10.0 * plain, rel=1e-5)
    agents.train(8)
    assert agents.value_rms["hunter_0"].count == 8 * 4


def test_the_entropy_bonus_makes_actors_less_certain():
    def entropy(coefficient):
        agents = on(IPPOAgents, Easy, ent_coef=coefficient, vf_coef=0.0)
        with torch.no_grad():
            for net in agents.policy["actor"].values():
                net.head.bias.copy_(torch.tensor([2.0, 0.0]))
        sample = horizon(agents)
        for a in sample["advantages"]:
            sample["advantages"][a][:] = 0.0
        first = agents.update(sample)
        return first["entropy"], [agents.update(sample)["entropy"] for _ in range(20)][-1]

    assert entropy(1.0)[1] > entropy(1.0)[0] + 0.05
    assert entropy(0.0)[1] == pytest.approx(entropy(0.0)[0], abs=1e-4)


def certain(agents, values):
    """Have every network say the same of every observation: values[name][choice]."""
    with torch.no_grad():
        for name, biases in values.items():
            for net in agents.policy[name].values():
                net.head.weight.zero_()
                net.head.bias.copy_(torch.tensor(biases))


def hand_sample(agents, steps, rewards, terminals, actions=0) -> dict:
    """One sample of steps of two agents that see nothing."""
    shape = (1, len(steps))
    column = {a: np.zeros((*shape, 1), np.float32) for a in agents.agent_keys}
    return {
        "obs": column, "obs_next": column, "episode_steps": np.asarray([steps]),
        "actions": {a: np.full(shape, actions) for a in column},
        "agent_mask": {a: np.ones(shape, bool) for a in column},
        "rewards": {a: np.asarray([rewards], np.float32) + i for i, a in enumerate(column)},
        "terminals": {a: np.asarray([terminals]) for a in column},
    }


@pytest.mark.parametrize(("kind", "double", "loss"), [
    # Q = (1, 3), target's (10, 2): double Q takes choice 1, worth 2; else choice 0, worth 10.
    (IQLAgents, True, [((1 - 5) ** 2 + (1 - (5 + 0.5 * 2)) ** 2) / 2, ((1 - 6) ** 2 + (1 - (6 + 0.5 * 2)) ** 2) / 2]),
    (IQLAgents, False, [((1 - 5) ** 2 + (1 - (5 + 0.5 * 10)) ** 2) / 2, ((1 - 6) ** 2 + (1 - (6 + 5)) ** 2) / 2]),
    (VDNAgents, True, [((2 - 5.5) ** 2 + (2 - (5.5 + 0.5 * 4)) ** 2) / 2]),
    (VDNAgents, False, [((2 - 5.5) ** 2 + (2 - (5.5 + 0.5 * 20)) ** 2) / 2]),
])
def test_targets_by_hand_an_end_is_worth_nothing_a_timeout_what_would_have_followed(kind, double, loss):
    agents = off(kind, Easy, gamma=0.5, double_q=double)
    certain(agents, {"q": [1.0, 3.0], "target_q": [10.0, 2.0]})
    info = agents.update(hand_sample(agents, [0, 5], [5.0, 5.0], [True, False]))
    found = [info["loss_Q"]] if kind is VDNAgents else [info["loss_Q/a_0"], info["loss_Q/a_1"]]
    assert found == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents])
def test_losses_of_the_clipped_objective_by_hand(kind):
    agents = on(kind, Easy, clip_range=0.2, ent_coef=0.0)
    certain(agents, {"actor": [0.0, 0.0], "critic": [3.0]})
    sample = hand_sample(agents, [0, 5, 6], [0.0] * 3, [False] * 3, 1)
    ratios, advantages, returns = [1.5, 1.5, 0.5], [1.0, -1.0, 2.0], [3.0, 4.0, 1.0]
    each = {
        "log_pi_old": np.log(0.5) - np.log(ratios), "advantages": advantages, "returns": returns,
    }
    sample |= {name: {a: np.asarray([v], np.float32) for a in agents.agent_keys} for name, v in each.items()}
    info = agents.update(sample)
    assert info["actor_loss"] == pytest.approx(-(1.2 * 1.0 - 1.5 * 1.0 + 0.5 * 2.0) / 3, rel=1e-5)
    assert info["critic_loss"] == pytest.approx((0.0 + 1.0 + 4.0) / 3, rel=1e-5)
    assert info["ratio"] == pytest.approx(np.mean(ratios), rel=1e-5)
    assert info["entropy"] == pytest.approx(np.log(2.0), rel=1e-5)


def test_targets_take_only_choices_there_will_be():
    agents = off(IQLAgents, Easy, gamma=0.5, double_q=False)
    certain(agents, {"q": [1.0, 3.0], "target_q": [10.0, 2.0]})
    sample = hand_sample(agents, [0], [5.0], [False])
    sample["avail_actions_next"] = {a: np.asarray([[[False, True]]]) for a in agents.agent_keys}
    assert agents.update(sample)["loss_Q/a_0"] == pytest.approx((1 - (5 + 0.5 * 2)) ** 2)


def test_targets_follow_at_the_frequency_configured():
    agents = off(QMIXAgents, TwoStep, sync_frequency=3, start_training=1, training_frequency=4, batch_size=4)
    same_since = []
    for _ in range(9):
        agents.train(1)
        pairs = zip(agents.policy["q"].parameters(), agents.policy["target_q"].parameters(), strict=True)
        mixers = zip(agents.policy["mixer"].parameters(), agents.policy["target_mixer"].parameters(), strict=True)
        if agents.iterations:
            same_since.append(all(torch.equal(a, b) for a, b in [*pairs, *mixers]))
    assert agents.iterations == 8
    assert same_since[-8:] == [False, False, True, False, False, True, False, False]


def test_the_teams_value_rises_with_every_agents_in_any_state():
    mixer = Mixer(torch.Generator().manual_seed(0), 3, 4, 8, 8)
    for seed in range(20):
        torch.manual_seed(seed)
        values, state = torch.randn(2, 5, 3, requires_grad=True), 3.0 * torch.randn(2, 5, 4)
        (slope,) = torch.autograd.grad(mixer(values, state).sum(), values)
        assert (slope >= 0.0).all()
        assert slope.any()
    values = values.detach()
    assert not torch.allclose(mixer(values, state), mixer(values, state + 1.0))


@pytest.mark.parametrize("ended", [True, False])
def test_qmix_targets_an_end_is_worth_nothing_whatever_the_mixer_says(ended):
    agents = off(QMIXAgents, Easy, gamma=0.5)
    certain(agents, {"q": [1.0, 3.0], "target_q": [10.0, 2.0]})
    with torch.no_grad():
        for values in agents.policy["target_mixer"].parameters():
            values.add_(0.3)
    state = np.random.default_rng(0).normal(size=(1, 1, 2)).astype(np.float32)
    sample = {**hand_sample(agents, [0], [5.0], [ended]), "state": state, "state_next": state + 1.0}
    with torch.no_grad():
        total = float(agents.policy["mixer"](torch.ones(1, 1, 2), torch.tensor(state)))
        after = float(agents.policy["target_mixer"](torch.full((1, 1, 2), 2.0), torch.tensor(state + 1.0)))
    assert abs(after) > 0.1
    target = 5.5 + (0.0 if ended else 0.5 * after)
    assert agents.update(sample)["loss_Q"] == pytest.approx((total - target) ** 2, rel=1e-4)


@pytest.mark.parametrize("ended", [True, False])
def test_maddpg_targets_by_hand_and_its_actors_climb_what_the_critics_say(ended):
    agents = off(MADDPGAgents, Meet, gamma=0.5, use_parameter_sharing=False)
    sample = past(agents)
    for name in ("critic", "target_critic"):
        for net in agents.policy[name].values():
            with torch.no_grad():
                net.trunk.head.bias.fill_(5.0)  # every unit is on: the critic is linear
    certain(agents, {"target_critic": [4.0]})
    for part, value in (("rewards", 2.0), ("terminals", ended)):
        sample[part] = {a: np.full_like(v, value) for a, v in sample[part].items()}
    seen, mask = agents.seen(sample["obs"]), {a: torch.ones(1, 16) for a in agents.agent_keys}
    used, act = [], agents.act
    agents.act = lambda group, obs, name="actor": (used.append(name), act(group, obs, name))[1]

    def worth() -> dict:
        out = {}
        for group in agents.groups:  # the others do what they did
            own = {**done, **act(group, seen)}
            out[group.key] = float(agents.judged(group, seen, own, mask, "critic")[group.key].mean().detach())
        return out

    done = {a: (torch.tensor(sample["actions"][a]) - b.middle) / b.half for a, b in agents.bounds.items()}
    first = agents.groups[0]
    values = agents.judged(first, seen, done, mask, "critic")[first.key].detach()
    expected = float(((values - (2.0 + (0.0 if ended else 0.5 * 4.0))) ** 2).mean())
    agents.optimisers = {name: torch.optim.SGD(one.param_groups[0]["params"], lr=0.01 if "actor" in name else 0.0)
                         for name, one in agents.optimisers.items()}
    before = worth()
    assert agents.update(sample)["critic_loss/a_0"] == pytest.approx(expected, rel=1e-4)
    assert used == ["target_actor"] * 2 + ["actor"] * 2
    assert all(worth()[key] > before[key] for key in before)


def test_comas_critic_knows_what_the_others_do_and_compares_with_what_else_could_be_done():
    agents = on(COMAAgents, parameter_sharing="role")
    seen, state = {a: torch.randn(1, 4, n) for a, n in agents.sizes.items()}, torch.randn(1, 4, 8)
    done = {a: torch.full((1, 4), 1) for a in agents.agent_keys}
    hunters = agents.groups[1]
    values = agents.choice_values(hunters, seen, state, done, "critic")
    assert {a: v.shape for a, v in values.items()} == dict.fromkeys(("hunter_0", "hunter_1"), (1, 4, 3))
    own = agents.choice_values(hunters, seen, state, {**done, "hunter_0": done["hunter_0"] + 1}, "critic")
    assert torch.equal(own["hunter_0"], values["hunter_0"])  # what it does itself is what is compared
    assert not torch.allclose(own["hunter_1"], values["hunter_1"])
    for other in ("scout_0", "hunter_1"):
        moved = agents.choice_values(hunters, seen, state, {**done, other: done[other] + 1}, "critic")
        assert not torch.allclose(moved["hunter_0"], values["hunter_0"])


def test_comas_actor_is_moved_towards_what_is_better_than_usual():
    agents = on(COMAAgents, Easy, learning_rate=0.01, ent_coef=0.0, parameter_sharing="none")
    certain(agents, {"critic": [0.0, 4.0], "actor": [0.0, 0.0]})
    for choice in (1, 0):
        sample = {**hand_sample(agents, [0], [0.0], [True], choice), "state": np.zeros((1, 1, 2), np.float32),
                  "returns": {a: np.zeros((1, 1), np.float32) for a in agents.agent_keys}}
        bias = learnt(agents, sample)["actor.a_0.head.bias"]
        assert float(bias[1] - bias[0]) > 0.0  # 4 is better, 0 worse than the usual 2
    assert agents.paid([{"a_0": 1.0, "a_1": 5.0}], [{"agent_mask": {"a_0": True, "a_1": True}}])[0]["a_1"] == 3.0
    assert agents.paid([{"a_0": 1.0, "a_1": 5.0}], [{"agent_mask": {"a_0": True, "a_1": False}}])[0]["a_0"] == 1.0


def test_maddpgs_critics_see_what_all_see_and_do_and_its_actors_only_their_own():
    agents = off(MADDPGAgents, Meet)
    assert {net.inputs for net in agents.policy["critic"].values()} == {2 * 1 + 1 + 2}
    assert {net.inputs for net in agents.policy["actor"].values()} == {1}
    sample = past(agents)
    gradients_of = learnt(agents, {**sample, "rewards": {**sample["rewards"], "a_1": sample["rewards"]["a_1"] + 9.0}})
    plain = learnt(agents, sample)
    own = [name for name in plain if ".a_0." in name]
    assert close({n: plain[n] for n in own}, {n: gradients_of[n] for n in own})
    assert not close(plain, gradients_of)
    with pytest.raises(PeError, match="with bounds"):
        off(MADDPGAgents, Easy)
    with pytest.raises(PeError, match="MADDPG"):
        off(MADDPGAgents, Meet, use_rnn=True)
    for kind, build in ((QMIXAgents, off), (IQLAgents, off), (COMAAgents, on)):
        with pytest.raises(PeError, match="must have choices"):
            build(kind, Meet)


def test_exploration_is_drawn_for_each_environment_and_agent_within_the_masks():
    agents = off(IQLAgents, start_greedy=0.5, end_greedy=0.5)
    count, best = 6000, {"scout_0": 0, "hunter_0": 0, "hunter_1": 0}
    masks = [{a: np.asarray([True, True, False, True][: agents.choices(a)]) for a in best}] * count
    found = agents.exploration(count, [best] * count, masks)
    table = np.asarray([[int(one[a]) for a in best] for one in found])
    assert set(table[:, 0]) == {0, 1, 3}
    expected = np.asarray([0.5 + 0.5 / 3, 0.5 / 3, 0.0, 0.5 / 3]) * count
    seen = np.bincount(table[:, 0], minlength=4)
    assert ((seen - expected)[[0, 1, 3]] ** 2 / expected[[0, 1, 3]]).sum() < 13.8  # 2 degrees of freedom, 0.1 %
    both = ((table[:, 0] != 0) & (table[:, 1] != 0)).mean()
    assert both == pytest.approx((1 / 3) * 0.25, abs=0.02)  # not all agents at once
    assert found[0] is not best
    agents.use_actions_mask = False
    free = agents.exploration(count, [best] * count, masks)
    assert {int(one["scout_0"]) for one in free} == {0, 1, 2, 3}


def test_exploration_falls_to_its_floor_and_noise_keeps_within_bounds():
    agents = off(IQLAgents, start_greedy=0.9, end_greedy=0.1, decay_step_greedy=40)
    found = []
    for _ in range(13):
        found.append(agents.e_greedy)
        agents.train(1)
    assert found == pytest.approx([max(0.1, 0.9 - 0.02 * 4 * k) for k in range(13)])
    assert agents.noise_scale is None
    noisy = off(MADDPGAgents, Meet, start_noise=1.0, end_noise=0.2, running_steps=16)
    middle = {"a_0": np.zeros(1, np.float32), "a_1": np.full(2, 0.5, np.float32)}
    drawn = noisy.exploration(3000, [middle] * 3000)
    wide, narrow = (np.stack([one[a] for one in drawn]) for a in middle)
    assert all(noisy.action_space[a].contains(one[a]) for one in drawn for a in middle)
    assert [np.mean(abs(wide) < 2.0), np.mean(abs(narrow - 0.5) < 0.5)] == pytest.approx([0.683, 0.683], abs=0.03)
    noisy.train(10)
    assert noisy.noise_scale == 0.2
    assert noisy.e_greedy is None


def test_off_policy_agents_with_rates_of_their_own_are_refused_by_name():
    data = plane_file(roles={"evader": {"policy": {"rate": 20}}, "pursuer": {"count": 2}})
    envs = DummyVecMultiAgentEnv([partial(RLlibPursuit, parse(data))], 1)
    agents = MADDPGAgents(settings(**OFF, start_noise=0.1, end_noise=0.1), envs)
    with pytest.raises(PeError, match=r"pursuer_0: is in play but does not decide"):
        agents.train(5)


def test_a_memory_with_too_little_is_not_learnt_from():
    with pytest.raises(PeError, match="must hold 4 steps"):
        off(IQLAgents, use_rnn=True).train_epochs()
    with pytest.raises(PeError, match="buffer_size"):
        off(IQLAgents, use_rnn=True, sequence_length=101)
    assert on(IPPOAgents).train_epochs() == {}
    with pytest.raises(PeError, match="training_frequency"):
        off(IQLAgents, training_frequency=0)


def test_half_a_horizon_can_be_learnt_from_and_every_epoch_goes_over_each_step_once():
    agents, seen, ends = on(IPPOAgents, Unequal, 3, n_minibatch=4), [], {}
    agents.train(3)
    agents.memory.finish_path = ends.__setitem__
    expected = agents.get_terminated_values(agents.train_envs.buf_obs)
    agents.train_epochs(0)
    assert [ends[e] for e in range(3)] == expected  # what would have followed is worth what the critic says
    assert all(one["hunter_0"] != 0.0 for one in expected)
    del agents.memory.finish_path
    agents.train(5)
    sample = agents.memory.sample
    agents.memory.sample = lambda indexes: (seen.append(indexes), sample(indexes))[1]
    assert agents.train_epochs(2)["critic_loss"] > 0.0
    assert len(seen) == 2 * 4
    assert sorted(np.concatenate(seen[:4])) == list(range(15)) == sorted(np.concatenate(seen[4:]))
    assert agents.memory.size == 0


class Button(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        return np.ones(1, np.float32), float(action), True, False, {}


@pytest.mark.parametrize("kind", [QMIXAgents, COMAAgents, PPOAgent, DQNAgent])
def test_algorithms_for_one_and_for_many_attach_through_the_same_interface(tmp_path, kind):
    def envs():
        many = kind in {QMIXAgents, COMAAgents}
        return vector(TwoStep, 4) if many else DummyVecEnv([Button] * 4, env_seed=1)

    config = Namespace(**{
        **vars(settings()), "buffer_size": 32, "batch_size": 8, "horizon_size": 8, "start_greedy": 0.5,
        "end_greedy": 0.1, "decay_step_greedy": 100, "use_obsnorm": False, "use_rewnorm": False, "sync_frequency": 4,
        "n_epochs": 1,
    })
    agents = kind(config, envs())
    info = agents.train(20)
    assert agents.current_step == 80
    assert all(np.isfinite(value) for value in info.values() if value is not None)
    scores = agents.test(5, test_envs=envs(), close_envs=True)
    assert len(scores) == 5
    again = kind(config, envs())
    again.load_model(agents.save_model("model", tmp_path))
    assert again.test(5, test_envs=envs()) == scores
    assert same(again.state()["step"], 80)
