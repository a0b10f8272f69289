"""Settings have the names that XuanCe's files use."""

from __future__ import annotations

from argparse import Namespace

import pytest

from pe_sim.errors import PeError
from pe_sim.learning.agents.settings import setting, widths


@pytest.mark.parametrize(("given", "expected"), [
    ({}, (64, 64)),
    ({"hidden": [16]}, (16,)),
    ({"representation_hidden_size": [32], "actor_hidden_size": [8, 4]}, (32, 8, 4)),
    ({"representation_hidden_size": [32], "actor_hidden_size": None}, (32,)),
    ({"representation_hidden_size": [32], "hidden": (5,)}, (5,)),
    ({"critic_hidden_size": [9]}, (64, 64)),
])
def test_widths_of_a_network(given, expected):
    assert widths(Namespace(**given), "actor") == expected


def test_what_is_not_set_is_named():
    assert setting(Namespace(gamma=0.9), "gamma") == 0.9
    with pytest.raises(PeError, match=r"config\.gamma: is not set"):
        setting(Namespace(), "gamma")
