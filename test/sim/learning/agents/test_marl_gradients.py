"""Who learns from what: agents that share parameters, agents on their own, agents out of play."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents

from .marl_games import Easy
from .marl_samples import close, horizon, learnt, off, on, past, spoilt


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
