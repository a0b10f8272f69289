"""Domain randomisation: drawn within its range, really applied, the same for a row, a run alone and the environment."""

from __future__ import annotations

from typing import Any

import pytest

from pe_sim.engagement import Engagement, load

from .envs.test_vector_pursuit import compare
from .files import ENGAGEMENTS, shipped
from .test_parity import runs_alike

KINEMATIC = ENGAGEMENTS / "kinematic_3v1.yaml"

EVERYTHING: dict[str, Any] = {
    "roles.pursuer.dynamics.max_speed": {"low": 8, "high": "12 m/s"},
    "roles.pursuer.dynamics.max_acceleration": {"scale": [0.7, 1.3], "per": "agent"},
    "roles.evader.dynamics.max_speed": {"scale": [0.8, 1.2]},
    "roles.evader.dynamics.time_constant": {"low": "50 ms", "high": "0.2 s"},
    "roles.evader.dynamics.max_tilt": {"low": "20 deg", "high": "60 deg"},
    "roles.evader.dynamics.max_yaw_rate": {"scale": [0.5, 1]},
    "roles.pursuer.sensors.radar.latency": {"low": 0, "high": "40 ms", "per": "agent"},
    "roles.pursuer.sensors.radar.jitter": {"choices": [0, "30 ms"]},
    "roles.pursuer.sensors.radar.dropout": {"choices": [0, 0.1, 0.3]},
    "roles.pursuer.sensors.radar.noise": {"scale": [0.5, 2]},
    "roles.evader.sensors.tracker.noise.x": {"scale": [0.5, 4]},
    "roles.pursuer.action.latency": {"low": 0, "high": "60 ms"},
    "world.arena": {"scale": [0.8, 1.2]},
    "world.min_start_distance": {"low": 15, "high": 30},
    "world.min_separation": {"choices": [2, 4]},
    "world.obstacles.shift": {"low": -3, "high": 3},
    "world.obstacles.1.size": {"scale": [0.7, 1.3]},
}


def drawn(randomise: dict[str, Any], **changes: Any) -> Engagement:
    return load(KINEMATIC, {"randomise": randomise, **{key.replace("__", "."): v for key, v in changes.items()}})


def everything(limit: str = "2 s", **changes: Any) -> Engagement:
    return drawn(EVERYTHING, rules__time_limit=limit, roles__pursuer__sensors__radar__occlusion=True, **changes)


def test_a_row_of_a_batch_a_run_alone_and_the_env_draw_the_same() -> None:
    runs_alike(everything(), 5)


def test_rows_of_the_batched_env_are_dict_environments_over_restarts() -> None:
    assert compare(everything("300 ms"), 3, 80, batch=3) > 3


@pytest.mark.parametrize("name", ["grid_1v1", "multirate_2v2"])
def test_other_worlds_draw_delays_and_starts(name: str) -> None:
    plain = shipped(name, rules__max_step=40)
    role = next(iter(plain.roles))
    randomise: dict[str, Any] = {f"roles.{role}.action.latency": {"low": 0, "high": "60 ms"}}
    randomise["world.min_start_distance"] = {"scale": [0.5, 1]}
    randomise.update({
        f"roles.{role}.sensors.{sensor}.latency": {"low": 0, "high": "50 ms"} for sensor in plain.roles[role].sensors
    })
    runs_alike(shipped(name, rules__max_step=40, randomise=randomise), 2)
