"""Engagement files for tests: the shipped ones, a small one by hand, and a strategy that draws thousands."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pe_sim.engagement import Engagement, load, parse

ENGAGEMENTS = Path(__file__).resolve().parents[2] / "config" / "engagements"
SHIPPED = ("grid_1v1", "kinematic_3v1", "multirate_2v2")


def shipped(name: str, **changes: Any) -> Engagement:
    """A shipped engagement with dotted keys replaced ('__' stands for '.')."""
    return load(ENGAGEMENTS / f"{name}.yaml", {key.replace("__", "."): value for key, value in changes.items()})


def grid_file(**sections: Any) -> dict[str, Any]:
    """One pursuer and one evader on a grid, both told what to do from outside."""
    mover = {"dynamics": {"model": "grid_mover"}, "sensors": {"tracker": {"kind": "relative", "rate": 10}}}
    data = {
        "engagement": "small_grid",
        "world": {"backend": "grid", "size": 8, "tick": 0.1},
        "rules": {"capture": {"radius": 1.5}, "max_step": 20},
        "roles": {
            "pursuer": {"team": "pursuers", **mover, "policy": {"use": "guidance/random", "rate": 10}},
            "evader": {"team": "evaders", **mover, "policy": {"use": "guidance/random", "rate": 10}},
        },
    }
    return merged(data, sections)


def plane_file(**sections: Any) -> dict[str, Any]:
    """One pursuer and one evader in the plane, double integrators, everything at 10 Hz."""

    def role(team: str, use: str) -> dict[str, Any]:
        return {
            "team": team,
            "dynamics": {"model": "double_integrator", "max_speed": 5, "max_acceleration": 10},
            "sensors": {"own": {"kind": "own_motion", "rate": 10}, "tracker": {"kind": "relative", "rate": 10}},
            "policy": {"use": f"guidance/{use}", "rate": 10},
        }

    data = {
        "engagement": "small_plane",
        "world": {
            "backend": "kinematic",
            "dimensions": 2,
            "tick": "50 ms",
            "arena": {"low": [-20, -20, 0], "high": [20, 20, 0]},
            "min_start_distance": 5,
        },
        "rules": {"capture": {"radius": 1.0}, "time_limit": "3 s"},
        "roles": {"pursuer": role("pursuers", "pure_pursuit"), "evader": role("evaders", "flee")},
    }
    return merged(data, sections)


def merged(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy of nested data with nested changes put in; None removes a key."""
    out = copy.deepcopy(data)
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merged(out[key], value)
        elif value is None:
            out.pop(key, None)
        else:
            out[key] = value
    return out


RATES = st.sampled_from([5, 7, 10, 12.5, "30000/1001 Hz", 20, 25, 33, 50])
DELAYS = st.sampled_from([0, 0, "1 ms", "8 ms", "20 ms", "45 ms", "130 ms"])
NOISE = st.sampled_from([0, 0.1, {"white": 0.2, "bias": 0.1}, {"quantisation": 0.25}])


@st.composite
def sensors(draw: st.DrawFn, kind: str, fields: tuple[str, ...]) -> dict[str, Any]:
    out = {"kind": kind, "rate": draw(RATES), "phase": draw(DELAYS), "latency": draw(DELAYS), "jitter": draw(DELAYS)}
    out["dropout"] = draw(st.sampled_from([0, 0, 0.3, 1]))
    out["noise"] = {field: draw(NOISE) for field in draw(st.sets(st.sampled_from(fields), max_size=3))}
    if kind == "radar":
        out["azimuth_field"] = draw(st.sampled_from(["120 deg", "360 deg"]))
        out["max_range"] = draw(st.sampled_from([8, 100]))
    return out


DYNAMICS = {
    "double_integrator": {"max_speed": 6, "max_acceleration": 8},
    "unicycle": {"max_speed": 6, "max_turn_rate": 2},
    "multirotor": {"max_speed": 6, "max_acceleration": 9},
}


@st.composite
def roles(draw: st.DrawFn, team: str, grid: bool) -> dict[str, Any]:
    guidance = ["hold_still", "random", "random"]
    out: dict[str, Any] = {"team": team, "count": draw(st.integers(1, 3)), "sensors": {}}
    if grid:
        out["dynamics"] = {"model": "grid_mover", "moves": draw(st.sampled_from([4, 8])), "stay": draw(st.booleans())}
    else:
        model = draw(st.sampled_from(sorted(DYNAMICS)))
        out["dynamics"] = {"model": model, **DYNAMICS[model]}
        out["sensors"]["own_motion"] = draw(sensors("own_motion", ("velocity_x", "velocity_y")))
        out["start"] = {"speed": [0, draw(st.sampled_from([0, 3]))]}
    if draw(st.booleans()):
        out["sensors"]["radar"] = draw(sensors("radar", ("range", "azimuth", "range_rate")))
        guidance += [] if grid else ["pure_pursuit", "proportional_navigation", "flee"]
    if grid or draw(st.booleans()):
        out["sensors"]["tracker"] = draw(sensors("relative", ("x", "y", "velocity_x")))
        guidance += ["greedy_grid"] if grid else ["pure_pursuit", "flee"]
    policy: dict[str, Any] = {"use": "guidance/" + draw(st.sampled_from(guidance))}
    if policy["use"].endswith("greedy_grid"):
        policy["parameters"] = {"intent": draw(st.sampled_from(["chase", "flee"]))}
    if "own_motion" not in out["sensors"] and policy["use"].partition("/")[2] not in (
        "random",
        "hold_still",
        "greedy_grid",
    ):
        policy["use"] = "guidance/random"
    if draw(st.booleans()):
        policy["decide_on"] = draw(st.sampled_from(sorted(out["sensors"])))
    else:
        policy.update(rate=draw(RATES), phase=draw(DELAYS))
    out["policy"] = policy
    out["action"] = {
        "latency": draw(DELAYS),
        "valid_for": draw(st.sampled_from(["60 ms", "200 ms", "1 s"])),
        "on_expiry": draw(st.sampled_from(["hold", "coast", "stop"])),
    }
    out["observe"] = {"mask": draw(st.booleans()), "age": draw(st.booleans()), "actions": draw(st.integers(0, 2))}
    return out


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """A valid engagement file: grid or plane or space, mixed dynamics, rates, delays, losses, noise and rules."""
    grid = draw(st.booleans())
    if grid:
        world: dict[str, Any] = {
            "backend": "grid",
            "size": 12,
            "tick": "20 ms",
            "wall": draw(st.sampled_from(["clip", "crash", "bounce"])),
        }
        world["obstacles"] = draw(st.sampled_from([[], [[3, 3], [4, 3], [8, 9]]]))
    else:
        world = {
            "backend": "kinematic",
            "dimensions": draw(st.sampled_from([2, 3])),
            "tick": draw(st.sampled_from(["10 ms", "20 ms"])),
        }
        world["arena"] = {
            "low": [-15, -15, 0],
            "high": [15, 15, 10],
            "edge": draw(st.sampled_from(["clip", "bounce", "crash", "open"])),
        }
        world["obstacles"] = draw(st.sampled_from([[], [{"shape": "circle", "center": [2, 3], "radius": 3}]]))
    return {
        "engagement": "drawn",
        "seed": draw(st.integers(0, 2**32)),
        "world": world,
        "rules": {
            "capture": {"radius": draw(st.sampled_from([0.5, 1.5])), "ends": draw(st.sampled_from(["any", "all"]))},
            "max_step": draw(st.integers(10, 60)),
            "rewards": {"zero_sum": draw(st.booleans())},
        },
        "roles": {"hunter": draw(roles("pursuers", grid)), "prey": draw(roles("evaders", grid))},
    }


def engagements() -> st.SearchStrategy[Engagement]:
    """Drawn files, validated."""
    return files().map(parse)
