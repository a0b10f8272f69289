"""The fixed-wing world keeps the contract of every world: mixed types, both levels of action, wind, workers, torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, ClassVar

import pytest

from pe_sim.engagement import Engagement, parse
from pe_sim.worlds.contract import WorldContract

from .flying import role

CALM: dict[str, Any] = {}


class TestFixedWing(WorldContract):
    batch: ClassVar[int] = 3
    ticks: ClassVar[int] = 25
    world: ClassVar[dict[str, Any]] = CALM

    def engagement(self) -> Engagement:
        def side(team: str, aircraft: str, count: int, speed: float, low: float, **dynamics: Any) -> dict[str, Any]:
            start = {"low": [-4000, -4000, low], "high": [4000, 4000, low + 1500], "speed": [speed, 1.1 * speed]}
            data = role(team, aircraft, dynamics=dynamics, count=count)
            return data | {"start": start}

        guided = {"action": "guidance", "lateral": "bank", "vertical": "load_factor"}
        return parse({
            "engagement": "contract",
            "world": {"backend": "fixed_wing", "tick": 0.05, "min_start_distance": 800, "min_separation": 100}
            | self.world,
            "rules": {"time_limit": 60},
            "roles": {
                "fighter": side("pursuers", "f16", 2, 200.0, 4000.0, **guided),
                "trainer": side("evaders", "T38", 1, 200.0, 4000.0),
                "light": side("evaders", "c172x", 1, 50.0, 800.0, action="guidance"),
            },
        })


@pytest.mark.slow
class TestInWindAndTurbulence(TestFixedWing):
    ticks: ClassVar[int] = 10
    world: ClassVar[dict[str, Any]] = {"air": {"wind": [9, -4, 1], "turbulence": {"severity": 5}}, "tick": 0.05}


class TestWithWorkers(TestFixedWing):
    batch: ClassVar[int] = 2
    ticks: ClassVar[int] = 5
    world: ClassVar[dict[str, Any]] = {"workers": 2}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'pe_ros[train]'")
class TestOnTorch(TestFixedWing):
    ticks: ClassVar[int] = 5
    library: ClassVar[str] = "torch"
