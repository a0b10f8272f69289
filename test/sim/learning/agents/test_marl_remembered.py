"""What is learnt from is what was thought when acting, with and without recurrent networks."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.engagement import parse
from pe_sim.envs.rllib import RLlibPursuit
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_networks import kept
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv

from ...files import plane_file  # noqa: TID252 - shared by one room
from .marl_games import Remember, Unequal, settings
from .marl_samples import Clock, horizon, off


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
