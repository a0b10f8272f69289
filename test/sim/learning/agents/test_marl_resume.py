"""Multi-agent cores saved and loaded: a training goes on to the same bits."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents

from .marl_builds import EVERY, build, spaces
from .marl_games import Meet, Unequal, same, settings


def weights(agents) -> list[torch.Tensor]:
    return [p.detach().clone() for p in agents.policy.parameters()]


def equal(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(
    ("kind", "recurrent"),
    [(kind, None) for kind in EVERY] + [(MAPPOAgents, "LSTM"), (COMAAgents, "GRU"), (QMIXAgents, "GRU")],
)
def test_saved_and_loaded_a_training_goes_on_to_the_same_bits(tmp_path, kind, recurrent):
    changes = {"use_rnn": recurrent is not None, "rnn": recurrent, "use_obsnorm": True, "use_value_norm": True,
               "start_training": 10}
    one = build(kind, **changes)
    one.train(11)
    path = one.save_model("agents.bin", tmp_path)
    one.train(14)
    other = build(kind, **changes, seed=5)
    other.load_model(tmp_path, "agents.bin")
    assert other.current_step == 44
    other.train(14)
    assert same(one.state(), other.state())
    loose = kind(settings(**vars(one.config)), **spaces(Meet if kind is MADDPGAgents else Unequal))
    loose.load_model(path)  # to infer
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(PeError, match="damaged"):
        other.load_model(path)
    path.write_bytes(whole)
    before = weights(other)
    for agents, match in ((build(kind, hidden=(9,), fc_hidden_sizes=(9,)), "has the shape"),
                          (build(IQLAgents if kind is not IQLAgents else VDNAgents), "is of"),
                          (build(kind, envs=3, **changes), "4 environments")):
        with pytest.raises(PeError, match=match):
            agents.load_model(path)
    assert equal(before, weights(other))
