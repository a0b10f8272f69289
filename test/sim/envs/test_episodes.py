"""Seeds and episodes that no stream can be keyed by are refused, by every environment, and change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.actions import continuous
from pe_sim.engagement import parse
from pe_sim.envs.actions import checked_values
from pe_sim.envs.legacy import LegacyPursuit
from pe_sim.envs.parallel import ParallelPursuit
from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.envs.rllib import RLlibPursuit
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import ActionError, EngagementError

from ..files import grid_file  # noqa: TID252 - shared by one room

FILE = parse(grid_file())
ENVIRONMENTS: list[tuple[Any, Any]] = [
    (PursuitEnv(FILE), PursuitEnv), (ParallelPursuit(FILE), ParallelPursuit), (VectorPursuit(FILE, 2), VectorPursuit),
    (SinglePursuit(FILE, "evader_0"), SinglePursuit), (RLlibPursuit({"engagement": FILE}), RLlibPursuit),
]
NO_SEEDS: list[Any] = [-1, 2**63, 2**70, 1.5, "7", True, np.float64(3.0)]


@pytest.mark.parametrize("seed", NO_SEEDS)
@pytest.mark.parametrize(("env", "kind"), ENVIRONMENTS)
def test_what_is_no_seed_is_refused_and_the_next_reset_goes_on(env: Any, kind: type, seed: Any) -> None:
    env.reset(seed=4)
    with pytest.raises(EngagementError, match=r"seed: must be a whole number from 0 to 2\^63 - 1"):
        env.reset(seed=seed)
    env.reset()
    if kind is PursuitEnv:
        assert int(env.simulation.seeds[0]) == 4
        assert int(env.simulation.episodes[0]) == 1


@pytest.mark.parametrize("seed", [0, 2**63 - 1, np.int64(3), np.uint8(3)])
@pytest.mark.parametrize(("env", "kind"), ENVIRONMENTS)
def test_every_whole_number_of_63_bits_is_a_seed(env: Any, kind: type, seed: Any) -> None:
    del kind
    env.reset(seed=seed)


@pytest.mark.parametrize("seed", NO_SEEDS)
def test_a_constructors_and_the_legacy_seed_too(seed: Any) -> None:
    with pytest.raises(EngagementError, match="seed"):
        PursuitEnv(FILE, seed)
    with pytest.raises(EngagementError, match="seed"):
        LegacyPursuit(FILE).seed(seed)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"batch": 0}, "batch"), ({"batch": -1}, "batch"), ({"batch": 1.5}, "batch"), ({"block": 0}, "block"),
     ({"threads": 0}, "threads"), ({"restart_share": 3}, "restart_share"), ({"seed": -1}, "seed")],
)
def test_a_batch_that_cannot_be_is_refused(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(EngagementError, match=f"^{name}: must be"):
        VectorPursuit(FILE, **{"batch": 2, **arguments})


@pytest.mark.parametrize("actions", [None, 5, [("evader_0", 1)]])
def test_actions_that_are_no_mapping_are_refused(actions: Any) -> None:
    env = PursuitEnv(FILE)
    env.reset(seed=1)
    with pytest.raises(ActionError, match="must be a mapping"):
        env.step(actions)


def test_a_complex_array_is_no_action() -> None:
    with pytest.raises(ActionError, match="an array of numbers"):
        checked_values("a", continuous("turn", {"x": ("1", -1.0, 1.0)}), np.asarray([1j]))


@pytest.mark.parametrize(
    ("options", "rule"),
    [({"episode": -1}, "whole"), ({"episode": 2**63}, "whole"), ({"episode": "x"}, "whole"), (5, "mapping"),
     ({"epsode": 1}, "did you mean 'episode'")],
)
@pytest.mark.parametrize(("env", "kind"), [pair for pair in ENVIRONMENTS if pair[1] is not VectorPursuit])
def test_options_that_mean_nothing_are_refused(env: Any, kind: type, options: Any, rule: str) -> None:
    del kind
    with pytest.raises(EngagementError, match=rule):
        env.reset(options=options)
