"""The batched environment on torch: the same source, the same engagements, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.bench.randomised import SHIPPED as DRAWN
from pe_sim.engagement import Engagement
from pe_sim.envs.vector_pursuit import VectorPursuit

from ..files import shipped  # noqa: TID252 - shared by the tests of one room

torch = pytest.importorskip("torch")


def engagement_of(name: str) -> Engagement:
    short: dict[str, Any] = {"rules__max_step": 15} if name == "grid_1v1" else {"rules__time_limit": "800 ms"}
    if name == "drawn":
        return shipped("kinematic_3v1", randomise=DRAWN, **short)
    return shipped(name, **short)


@pytest.mark.parametrize("name", ["grid_1v1", "kinematic_3v1", "multirate_2v2", "drawn"])
def test_torch_agrees_with_numpy_over_restarts(name: str) -> None:
    engagement = engagement_of(name)
    one, other = VectorPursuit(engagement, 6, block=4), VectorPursuit(engagement, 6, block=4, library="torch")
    rng, ended = np.random.default_rng(0), 0
    a, b = one.reset(3), other.reset(3)
    for _ in range(170):
        for role in one.roles:
            assert b.observations[role].dtype == torch.float32
            np.testing.assert_allclose(b.observations[role].numpy(), a.observations[role], rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(b.rewards[role].numpy(), a.rewards[role], rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(b.due[role].numpy(), a.due[role])
            np.testing.assert_array_equal(b.alive[role].numpy(), a.alive[role])
        for flag in ("terminated", "truncated", "running"):
            np.testing.assert_array_equal(getattr(b, flag).numpy(), getattr(a, flag))
        np.testing.assert_array_equal(np.asarray(b.finals.rows), a.finals.rows)
        np.testing.assert_array_equal(np.asarray(b.finals.ticks), a.finals.ticks)
        for role in one.roles if len(a.finals.rows) else ():
            last = b.finals.observations[role].numpy()
            np.testing.assert_allclose(last, a.finals.observations[role], rtol=1e-5, atol=1e-5)
        ended += len(a.finals.rows)
        actions = one.sample(rng)
        told = {role: torch.tensor(np.ascontiguousarray(values)) for role, values in actions.items()}
        a, b = one.step(actions), other.step(told)
    assert ended >= 6
    for lane, twin in zip(one.lanes, other.lanes, strict=True):
        state = twin.simulation.state.block
        assert isinstance(state, torch.Tensor)
        np.testing.assert_allclose(state.numpy(), lane.simulation.state.block, rtol=1e-9, atol=1e-9)
