"""The same source on torch: sensors read and laws decide as on NumPy, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.arrays import namespace
from pe_sim.sensors.channel import SensorChannel
from pe_sim.state import State

from .scenes import PERIOD, random_state, roots
from .test_rows import SENSORS, engagement

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("name", SENSORS)
def test_every_sensor(name: str, batch: int) -> None:
    file = engagement(name)
    keys: Any = roots(batch)
    channels = [SensorChannel(file, "pursuer", name, namespace(library)) for library in ("numpy", "torch")]
    channels[0].reset(keys, None)
    channels[1].reset(torch.asarray(keys), None)
    for k in range(4):
        state = random_state(6, batch, k, size=15.0)
        alive = np.ones((6, batch), dtype=bool)
        alive[4, ::2] = False
        stamp, sequence = np.full(batch, k * PERIOD), np.full(batch, k)
        one = channels[0].sample(state, alive, stamp, sequence, None)
        other = channels[1].sample(
            State(torch.asarray(state.block)), torch.asarray(alive), torch.asarray(stamp), torch.asarray(sequence), None
        )
        assert other.values.dtype == torch.float32
        assert np.array_equal(one.valid, other.valid.numpy())
        assert np.array_equal(one.arrival, other.arrival.numpy())
        assert other.values.numpy() == pytest.approx(one.values, rel=1e-5, abs=1e-5)
