"""Every law flies every kind of vehicle it claims, from every sensor that can feed it, and says what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim import registry
from pe_sim.engagement import Engagement, parse
from pe_sim.errors import ContractError
from pe_sim.evaluation.rollout import Rollout
from pe_sim.policies.loader import load_policy
from pe_sim.sensors.inbox import SensorView
from pe_sim.simulation import Simulation

MODELS: dict[str, tuple[int, dict[str, Any]]] = {
    "single_integrator": (3, {"max_speed": 9}),
    "double_integrator": (3, {"max_speed": 9, "max_acceleration": 20}),
    "multirotor": (3, {"max_speed": 9, "max_acceleration": 12}),
    "unicycle": (2, {"max_speed": 9, "max_turn_rate": 3}),
    "dubins_car": (2, {"speed": 9, "max_turn_rate": 3}),
    "car": (2, {"max_speed": 9, "max_acceleration": 10, "wheelbase": 1}),
    "airplane": (3, {"min_speed": 5, "max_speed": 9, "max_turn_rate": 2, "max_climb_angle": 0.6}),
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "goal_seeking": {"goal": [10, 10, 6]}, "encirclement": {"radius": 5, "closing": 2},
}
CHASES = (
    "pure_pursuit", "deviated_pursuit", "lead_pursuit", "constant_bearing", "proportional_navigation",
    "apollonius_intercept", "coordinated_intercept", "encirclement", "area_pursuit",
)
TEAM: dict[str, Any] = {
    "own": {"kind": "own_motion", "rate": 25}, "place": {"kind": "position", "rate": 25},
    "tracker": {"kind": "relative", "rate": 25}, "mates": {"kind": "relative", "rate": 25, "targets": "teammates"},
}
EVADES = (
    "flee", "away_from_centroid", "straight", "zigzag", "circling", "goal_seeking", "hide", "random", "hold_still",
)


def engagement(
    law: str, model: str, evader_law: str = "hold_still", evader_model: str | None = None, ticks: int = 600,
    **sensors: Any,
) -> Engagement:
    dimensions, limits = MODELS[model]
    low, high = ([-30, -30, 2], [30, 30, 20]) if dimensions == 3 else ([-30, -30, 0], [30, 30, 0])
    slow = "single_integrator" if evader_model is None else evader_model
    evader = {"max_speed": 3.0} if evader_model is None else MODELS[slow][1]
    known = {name: sensor for name, sensor in TEAM.items() if name != "mates"}
    return parse({
        "engagement": "laws",
        "world": {
            "backend": "kinematic", "dimensions": dimensions, "tick": "40 ms", "arena": {"low": low, "high": high},
            "obstacles": [{"shape": "circle", "center": [0, 0], "radius": 3}], "min_start_distance": 12,
            "min_separation": 2,
        },
        "rules": {"capture": {"radius": 1.5}, "max_step": ticks},
        "roles": {
            "pursuer": {
                "count": 2, "team": "pursuers", "dynamics": {"model": model, **limits}, "start": {"speed": [5, 5]},
                "sensors": sensors or TEAM,
                "policy": {"use": f"guidance/{law}", "rate": 25, "parameters": PARAMETERS.get(law, {})},
            },
            "evader": {
                "team": "evaders", "dynamics": {"model": slow, **evader}, "start": {"speed": [3, 3]},
                "sensors": known,
                "policy": {
                    "use": f"guidance/{evader_law}", "rate": 25, "parameters": PARAMETERS.get(evader_law, {})
                },
            },
        },
    })


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("law", CHASES)
def test_every_chase_catches_a_slow_evader_with_every_kind_of_vehicle(law: str, model: str) -> None:
    results = Rollout(engagement(law, model, "straight"), 2).run([3] * 2, [0, 1])
    assert [result.outcome for result in results] == ["capture"] * 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("law", EVADES)
def test_every_evasion_moves_every_kind_of_vehicle_within_its_limits(law: str, model: str) -> None:
    file = engagement("hold_still", "single_integrator" if MODELS[model][0] == 3 else "unicycle", law, model, 60)
    run = Rollout(file, 3)
    spec = run.simulation.roles["evader"].action
    run.run([5] * 3, [0, 1, 2])
    newest = np.asarray(run.simulation.roles["evader"].hold.newest)
    assert np.isfinite(newest).all()
    assert (newest >= spec.low[:, None, None]).all()
    assert (newest <= spec.high[:, None, None]).all()


@pytest.mark.parametrize("law", CHASES)
@pytest.mark.parametrize("kind", ["radar", "camera", "relative"])
def test_every_chase_is_fed_by_every_sensor_that_tells_ranges(law: str, kind: str) -> None:
    wide = {"camera": {"horizontal_field": "170 deg", "vertical_field": "170 deg"}}.get(kind, {})
    sensors = {
        "own": {"kind": "own_motion", "rate": 25}, "place": {"kind": "position", "rate": 25},
        "eye": {"kind": kind, "rate": 25, **wide}, "mates": {"kind": "radar", "rate": 25, "targets": "teammates"},
    }
    file = engagement(law, "multirotor", "straight", **sensors)
    results = Rollout(file, 3).run([3] * 3, [0, 1, 2])
    caught = sum(result.outcome == "capture" for result in results)
    # A camera looks ahead only: who starts with the back to the evader may never see it.
    assert caught >= (1 if kind == "camera" else 3)


def test_pure_pursuit_needs_no_range() -> None:
    sensors = {"own": {"kind": "own_motion", "rate": 25}, "eye": {"kind": "bearing", "rate": 25}}
    results = Rollout(engagement("pure_pursuit", "multirotor", "straight", **sensors), 2).run([3] * 2, [0, 1])
    assert [result.outcome for result in results] == ["capture"] * 2


def test_pure_pursuit_follows_the_tracks_of_teammates_and_detections_without_names() -> None:
    own = {"own": {"kind": "own_motion", "rate": 25}, "place": {"kind": "position", "rate": 25}}
    # Too short-sighted to see anything at the start but for the link.
    radar = {"kind": "radar", "rate": 25, "order": "range", "azimuth_field": "90 deg"}
    link = {"kind": "shared_tracks", "rate": 25, "source": "radar", "latency": "40 ms"}
    file = engagement("pure_pursuit", "single_integrator", "straight", **own, radar=radar, link=link)
    results = Rollout(file, 4).run([8] * 4, list(range(4)))
    alone = engagement("pure_pursuit", "single_integrator", "straight", **own, radar=radar)
    without = Rollout(alone, 4).run([8] * 4, list(range(4)))
    assert sum(r.outcome == "capture" for r in results) >= sum(r.outcome == "capture" for r in without)
    assert [r.trajectory_sha256 for r in results] != [r.trajectory_sha256 for r in without]


@pytest.mark.parametrize("law", ["coordinated_intercept", "encirclement", "area_pursuit"])
def test_team_laws_learn_from_a_link_where_the_teammates_are(law: str) -> None:
    own = {name: sensor for name, sensor in TEAM.items() if name != "mates"}
    link = {"kind": "shared_tracks", "rate": 25, "source": "tracker"}
    told = Rollout(engagement(law, "multirotor", "straight", **own, link=link), 3).run([3] * 3, [0, 1, 2])
    assert [result.outcome for result in told] == ["capture"] * 3
    seen = Rollout(engagement(law, "multirotor", "straight", **TEAM), 3).run([3] * 3, [0, 1, 2])
    assert [result.duration for result in told] == pytest.approx([result.duration for result in seen], abs=0.5)


def test_shared_directions_alone_lead_nowhere() -> None:
    own = {"place": {"kind": "position", "rate": 25}, "eye": {"kind": "bearing", "rate": 25}}
    link = {"kind": "shared_tracks", "rate": 25, "source": "eye"}
    with pytest.raises(ContractError, match="direction, range of evader_0"):
        Rollout(engagement("encirclement", "multirotor", **own, link=link))


@pytest.mark.parametrize(
    ("law", "sensors", "missing"),
    [
        ("pure_pursuit", {"own": "own_motion"}, "a sensor of kind relative or radar or"),
        ("pure_pursuit", {"eye": "radar"}, "own_motion"),
        ("flee", {"own": "own_motion", "eye": "bearing"}, "direction, range"),
        ("constant_bearing", {"eye": "relative"}, "own_motion"),
        ("coordinated_intercept", {"own": "own_motion", "eye": "relative"}, "pursuer_0, pursuer_1"),
        ("area_pursuit", {"eye": "relative"}, "pursuer_0, pursuer_1"),
        ("goal_seeking", {"own": "own_motion"}, "position"),
    ],
)
def test_what_a_law_lacks_is_said(law: str, sensors: dict[str, str], missing: str) -> None:
    file = engagement("pure_pursuit", "single_integrator")
    data = file.resolved()
    data["roles"]["pursuer"]["sensors"] = {name: {"kind": kind, "rate": 25} for name, kind in sensors.items()}
    data["roles"]["pursuer"]["policy"] = {"use": "guidance/random", "rate": 25}
    file = parse(data)
    simulation = Simulation(file)
    with pytest.raises(ContractError, match=missing):
        load_policy(
            file, "pursuer", simulation.roles["pursuer"].action, xp=simulation.xp, use=f"guidance/{law}",
            parameters=PARAMETERS.get(law, {}),
        )


def test_an_action_kind_that_cannot_be_steered_is_refused() -> None:
    file = parse({
        "engagement": "grid", "world": {"backend": "grid"},
        "roles": {
            name: {
                "team": f"{name}s", "dynamics": {"model": "grid_mover"},
                "sensors": {"tracker": {"kind": "relative", "rate": 10}},
                "policy": {"use": "guidance/pure_pursuit", "rate": 10},
            }
            for name in ("pursuer", "evader")
        },
    })
    with pytest.raises(ContractError, match="steers actions of kind velocity, acceleration"):
        Rollout(file)


@pytest.mark.parametrize("law", [*CHASES, *EVADES])
def test_a_row_of_a_batch_is_the_same_as_alone(law: str) -> None:
    chases = law in CHASES
    file = engagement(law if chases else "pure_pursuit", "multirotor", "zigzag" if chases else law, "multirotor", 60)
    together = Rollout(file, 5).run([9] * 5, list(range(5)))
    for row in (0, 4):
        assert Rollout(file).run([9], [row])[0] == together[row]


@pytest.mark.parametrize("law", [*CHASES, *EVADES])
def test_an_agent_alone_decides_as_it_does_among_its_teammates(law: str) -> None:
    """A policy node runs the law for one agent of a team; the numbers must be those of the whole role."""
    file = engagement(law, "multirotor", ticks=40, **TEAM)
    simulation = Simulation(file)
    action = simulation.roles["pursuer"].action
    whole = load_policy(file, "pursuer", action, xp=simulation.xp)
    alone = [load_policy(file, "pursuer", action, xp=simulation.xp, numbers=[i]) for i in range(2)]
    simulation.reset(np.asarray([4]), np.asarray([0]))
    for policy in (whole, *alone):
        policy.reset(simulation.roots, None)
    everyone = np.ones((2, 1), dtype=bool)
    for _ in range(20):
        simulation.sense()
        perception = simulation.roles["pursuer"].perception
        assert perception is not None
        views = perception.view(simulation.now)
        values = whole.decide(views, simulation.now, everyone)
        for i, policy in enumerate(alone):
            own = {
                name: SensorView(
                    view.values[:, i : i + 1], view.valid[:, i : i + 1], view.stamp[i : i + 1],
                    view.sequence[i : i + 1], view.age[i : i + 1],
                )
                for name, view in views.items()
            }
            answer = policy.decide(own, simulation.now, everyone[:1])
            assert np.array_equal(answer[:, 0], values[:, i])
        simulation.submit("pursuer", values, everyone)
        simulation.advance()


@pytest.mark.parametrize("law", [*CHASES, *EVADES, "greedy_grid", "optimal_grid"])
def test_every_law_says_what_it_needs(law: str) -> None:
    found = registry.lookup("pe_sim.guidance", law)
    assert found.name == law
    assert found.needs
    assert found.__doc__
