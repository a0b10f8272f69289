"""Arena faces and obstacles: what a touch does, and that nothing gets through or out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pe_sim.actions import Mode
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.errors import EngagementError
from pe_sim.worlds.base import World

from .kit import ARENA, LIMITS, OBSTACLES, at, begun, drawn, made, speed_of, told

FREE = ("single_integrator", "double_integrator", "multirotor")
QUICK = settings(
    max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def arena(edge: str) -> dict[str, Any]:
    return {**ARENA, "edge": edge}


def depth(engagement: Engagement, world: World) -> tuple[float, float]:
    """How far the deepest agent is outside the arena and inside an obstacle [m]; negative where none is."""
    spec: Any = engagement.world
    place = np.asarray(world.state.block[:3])
    roles = engagement.roles.values()
    radius = np.asarray([role.dynamics.radius for role in roles for _ in range(role.count)])[:, None]
    outside = -math.inf
    if spec.arena.edge != "open":
        for axis in range(spec.dimensions):
            low, high = spec.arena.low[axis] + radius, spec.arena.high[axis] - radius
            outside = max(outside, float((low - place[axis]).max()), float((place[axis] - high).max()))
    inside = -math.inf
    for obstacle in spec.obstacles:
        distance = obstacle.surface(namespace(), tuple(place))[0]
        inside = max(inside, float((radius - distance).max()))
    return outside, inside


def fly(world: World, values: list[float], ticks: int) -> None:
    for _ in range(ticks):
        world.step(told(world, {"p": values}), None)


def test_a_clipping_face_stops_the_motion_into_it_and_leaves_the_rest() -> None:
    world = begun(made({"p": ("double_integrator", 1, at(15, 0, 5, math.atan2(3, 4), 5.0))}, arena=arena("clip")))
    fly(world, [0.0, 0.0, 0.0], 300)
    state = np.asarray(world.state.block[:, 0, 0])
    assert state[:3] == pytest.approx([20, 9, 5], abs=1e-9)
    assert state[7:10] == pytest.approx([0, 3, 0], abs=1e-12)


@pytest.mark.parametrize("start", [at(15, 0, 5, 0.7, 8.0), at(19, 19, 11, 0.9, 8.0)])
def test_a_bouncing_face_keeps_the_energy_and_mirrors_the_way(start: dict[str, Any]) -> None:
    world = begun(made({"p": ("double_integrator", 1, start)}, arena=arena("bounce")))
    for tick in range(1, 1500):
        world.step(told(world, {}), None)
        assert speed_of(world)[0, 0] == pytest.approx(8.0, rel=1e-12)
        for axis, part in enumerate((math.cos, math.sin)):
            # Unfolded, the way is straight: mirrored at the faces it is a triangular wave.
            straight = start["points"][0][axis] + 8.0 * part(start["heading"][0]) * 0.01 * tick
            folded = 20 - abs((straight + 20) % 80 - 40)
            assert float(world.state.block[axis, 0, 0]) == pytest.approx(folded, abs=1e-9)


@pytest.mark.parametrize("model", ["unicycle", "dubins_car", "car"])
def test_what_rolls_is_mirrored_by_a_bouncing_face_and_keeps_its_speed(model: str) -> None:
    world = begun(made({"p": (model, 1, at(15, 0, 5, 0.5, 7.0))}, arena=arena("bounce")))
    fly(world, {"unicycle": [7.0, 0.0], "dubins_car": [0.0], "car": [0.0, 0.0]}[model], 100)
    state = np.asarray(world.state.block[:, 0, 0])
    assert 2 * math.atan2(state[5], state[6]) == pytest.approx(math.pi - 0.5, abs=1e-12)
    assert state[7:10] == pytest.approx([7, 0, 0], abs=1e-12)
    assert state[:2] == pytest.approx([40 - 15 - 7 * math.cos(0.5), 7 * math.sin(0.5)], abs=1e-9)


@pytest.mark.parametrize("model", ["unicycle", "dubins_car", "car"])
def test_what_rolls_slides_along_a_clipping_face_with_its_heading_kept(model: str) -> None:
    world = begun(made({"p": (model, 1, at(19, 0, 5, 0.5, 7.0))}, arena=arena("clip")))
    fly(world, {"unicycle": [7.0, 0.0], "dubins_car": [0.0], "car": [0.0, 0.0]}[model], 100)
    state = np.asarray(world.state.block[:, 0, 0])
    assert state[0] == 20.0
    assert state[1] == pytest.approx(7 * math.sin(0.5), rel=0.1), "it goes on along the face, its engine as before"
    assert 2 * math.atan2(state[5], state[6]) == pytest.approx(0.5, abs=1e-12)
    # Its velocity over ground lies along the face: what is left of it ahead is cos, sideways sin.
    assert math.cos(0.5) * state[7] - math.sin(0.5) * state[8] == pytest.approx(0.0, abs=1e-12)
    assert math.sin(0.5) * state[7] + math.cos(0.5) * state[8] == pytest.approx(7 * math.sin(0.5), rel=1e-12)


def test_an_airplane_is_mirrored_by_the_ceiling() -> None:
    start = at(0, 0, 11, 0.0, 8.0)
    world = begun(made({"p": ("airplane", 1, start)}, arena=arena("bounce"), tick=0.05))
    for _ in range(60):
        world.step(told(world, {"p": [8.0, 0.0, 0.5]}), None)
        quat, vel = world.state.quat[0, 0], world.state.vel[0, 0]
        assert vel == pytest.approx([8, 0, 0], abs=1e-9), "it points along its flight path, mirrored or not"
        assert np.linalg.norm(quat) == pytest.approx(1.0, abs=1e-12)
        assert float(world.state.block[2, 0, 0]) <= 12.0


def test_a_crashing_face_ends_the_agent_where_it_went_through() -> None:
    engagement = made({"p": ("double_integrator", 1, at(19.95, 3, 5, 0.0, 9.0))}, arena=arena("crash"))
    world = begun(engagement)
    fly(world, [0.0, 0.0, 0.0], 1)
    assert world.failed is not None
    assert np.asarray(world.failed).tolist() == [[True], [False]]
    assert np.asarray(world.state.block[:3, 0, 0]).tolist() == [20.0, 3.0, 5.0]
    assert speed_of(world)[0, 0] == 0.0


def test_an_open_edge_holds_nobody() -> None:
    world = begun(made({"p": ("dubins_car", 1, at(19, 0, 5))}, arena=arena("open")))
    fly(world, [0.0], 100)
    assert float(world.state.block[0, 0, 0]) == pytest.approx(26.0)


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda o: o["shape"])
def test_an_agent_driven_at_an_obstacle_from_every_side_stays_outside(obstacle: dict[str, Any]) -> None:
    engagement = made(
        {"p": ({"model": "single_integrator", "max_speed": 9}, 40, {})}, obstacles=[obstacle], obstacle_contact="clip"
    )
    world = begun(engagement)
    solid = engagement.world.obstacles[0]  # type: ignore[attr-defined]
    target = {"wall": (-10, 2, 5), "polygon": (15, 1, 5), "box": (-8, -11, 4)}.get(
        obstacle["shape"], (*obstacle.get("center", ()), 4)[:3]
    )
    touched = 0
    for _ in range(500):
        place = np.asarray(world.state.block[:3, :40])
        way = np.asarray(target, dtype=float)[:, None, None] - place
        commands = told(world, {})
        commands["p"].values[:3] = way / np.maximum(np.linalg.norm(way, axis=0), 1e-9) * 9
        world.step(commands, None)
        outside, inside = depth(engagement, world)
        assert outside <= 0.0
        assert inside <= 0.0
    distance = solid.surface(namespace(), tuple(np.asarray(world.state.block[:3, :40])))[0]
    touched = int((distance < 1e-4).sum())
    assert touched >= 20, "most of them have come up against it"


@pytest.mark.parametrize("radius", [0.0, 0.5])
@pytest.mark.parametrize("reaction", ["clip", "bounce", "crash"])
def test_nothing_tunnels_through_a_wall_thinner_than_a_tick_of_way(reaction: str, radius: float) -> None:
    """At 40 m/s and 20 Hz a tick is 2 m of way; the wall is 2 cm thick and closes the arena from side to side."""
    wall = {"shape": "wall", "points": [[0, -25], [0, 25]], "thickness": 0.02}
    fast = {"model": "single_integrator", "max_speed": 40, "radius": radius}
    start = {"low": [-19, -19, 1], "high": [-1, 19, 11]}
    engagement = made({"p": (fast, 30, start)}, obstacles=[wall], obstacle_contact=reaction, tick=0.05)
    world = begun(engagement)
    random = np.random.default_rng(0)
    for _ in range(60):
        commands = drawn(world, random)
        commands["p"].values[0] = np.abs(commands["p"].values[0])
        world.step(commands, None)
        assert np.asarray(world.state.block[0, :30]).max() <= -0.01 - radius
    if reaction == "crash":
        assert world.failed is not None
        assert np.asarray(world.failed)[:30].all()


def test_an_obstacle_bounces_with_its_energy_kept() -> None:
    ball = {"shape": "sphere", "center": [8, 0, 5], "radius": 3}
    start = at(0, 1.5, 5, 0.0, 9.0)
    engagement = made({"p": ("double_integrator", 1, start)}, obstacles=[ball], obstacle_contact="bounce", tick=1e-4)
    world = begun(engagement)
    fly(world, [0.0, 0.0, 0.0], 8000)
    # It meets the ball at y = 1.5 = 3 sin(a): the normal leans by a = 30 degrees, so the way turns by 180 - 2 a.
    state = np.asarray(world.state.block[:, 0, 0])
    assert speed_of(world)[0, 0] == pytest.approx(9.0, rel=1e-9)
    assert state[7:10] == pytest.approx([-9 * math.cos(math.pi / 3), 9 * math.sin(math.pi / 3), 0], abs=5e-3)


def test_a_corner_of_obstacle_and_wall_holds_who_is_pushed_into_it() -> None:
    box = {"shape": "box", "low": [10, 10, 0], "high": [20, 20, 12]}
    pole = {"shape": "circle", "center": [10, 5], "radius": 5.001}
    engagement = made({"p": ("single_integrator", 30, {})}, obstacles=[box, pole], obstacle_contact="clip")
    world = begun(engagement)
    targets = np.random.default_rng(1).uniform([5, 5, 0], [21, 21, 12], (30, 3)).T[:, :, None]
    for _ in range(600):
        way = targets - np.asarray(world.state.block[:3, :30])
        commands = told(world, {})
        commands["p"].values[:3] = way * 20
        world.step(commands, None)
        outside, inside = depth(engagement, world)
        assert outside <= 0.0
        assert inside <= 0.0


def test_a_box_on_the_floor_and_at_the_wall_cannot_be_slipped_under_or_behind() -> None:
    box = {"shape": "box", "low": [-20, -5, 0], "high": [0, 5, 3]}
    engagement = made(
        {"p": ("single_integrator", 1, at(-20, -6, 0)), "e": ("unicycle", 1, at(-10, -6, 0, math.pi / 2, 5.0))},
        obstacles=[box],
    )
    world = begun(engagement)
    for _ in range(300):
        world.step(told(world, {"p": [0.0, 9.0, 0.0, 0.0], "e": [5.0, 0.0]}), None)
    assert np.asarray(world.state.block[1, :, 0]).tolist() == pytest.approx([-5, -5], abs=1e-5)


@pytest.mark.parametrize("edge", ["clip", "bounce", "crash"])
def test_an_agent_leaves_a_corner_it_was_pushed_into(edge: str) -> None:
    """No contact, not even in a wedge, holds an agent that turns away."""
    if edge == "crash":
        edge, reaction = "clip", "clip"
    else:
        reaction = edge
    wedge = [{"shape": "wall", "points": [[5, 0], [10, 3]], "thickness": 0.5},
             {"shape": "wall", "points": [[5, 6], [10, 3]], "thickness": 0.5}]
    engagement = made(
        {"p": ("single_integrator", 1, at(0, 3, 5))}, obstacles=wedge, obstacle_contact=reaction, arena=arena(edge)
    )
    world = begun(engagement)
    fly(world, [9.0, 0.0, 0.0, 0.0], 200)
    assert float(world.state.block[0, 0, 0]) > 5.0
    fly(world, [-9.0, 0.0, 0.0, 0.0], 200)
    assert float(world.state.block[0, 0, 0]) < -5.0


def test_obstacles_may_react_otherwise_than_the_arena() -> None:
    circle = {"shape": "circle", "center": [5, 0], "radius": 1}
    cases = (("bounce", None, -5), ("crash", "clip", 0), ("open", None, 0), ("clip", "bounce", -5))
    for edge, contact, expected in cases:
        world = begun(made(
            {"p": ("double_integrator", 1, at(3.9, 0, 5, 0.0, 5.0))}, arena=arena(edge), obstacles=[circle],
            **({} if contact is None else {"obstacle_contact": contact}),
        ))
        fly(world, [0.0, 0.0, 0.0], 5)
        assert float(world.state.block[7, 0, 0]) == pytest.approx(expected, abs=1e-9)


def test_what_cannot_be_flown_is_refused_with_its_figure() -> None:
    hair = {"shape": "wall", "points": [[0, 0], [1, 0]], "thickness": 1e-4}
    with pytest.raises(EngagementError, match=r"world.obstacles.0: 0.0001 m thick is too thin for p, which goes 9.0 m"):
        made({"p": "single_integrator"}, obstacles=[hair], tick=1)
    ball = {"shape": "sphere", "center": [0, 0, 5], "radius": 2}
    with pytest.raises(EngagementError, match=r"roles.p.start: \(0.0, 1.0, 5.0\) touches world.obstacles.0"):
        made({"p": ("single_integrator", 1, at(0, 1, 5))}, obstacles=[ball])
    fat = {"model": "single_integrator", "max_speed": 1, "radius": 7}
    with pytest.raises(EngagementError, match=r"roles.p.dynamics.radius: the arena is too narrow"):
        made({"p": fat})
    with pytest.raises(EngagementError, match="did you mean 'cylinder'"):
        made({"p": "single_integrator"}, obstacles=[{"shape": "cilinder"}])
    with pytest.raises(EngagementError, match="sides of a polygon must not cross"):
        made({"p": "multirotor"}, obstacles=[{"shape": "polygon", "points": [[0, 0], [1, 1], [1, 0], [0, 1]]}])


@st.composite
def crowded(draw: st.DrawFn) -> tuple[Engagement, int]:
    """Engagements of mixed bodies among obstacles of every shape, edges and reactions of every kind."""
    dimensions = draw(st.sampled_from([2, 3]))
    models = [model for model in LIMITS if dimensions == 3 or model != "airplane"]
    chosen = draw(st.lists(st.sampled_from(models), min_size=1, max_size=4))
    radius = st.sampled_from([0.0, 0.0, 0.3, 1.0])
    roles = {
        f"r{i}": ({"model": model, **LIMITS[model], "radius": draw(radius)}, draw(st.integers(1, 3)), {})
        for i, model in enumerate(chosen)
    }
    obstacles = draw(st.lists(st.sampled_from(OBSTACLES), max_size=5, unique_by=lambda o: o["shape"]))
    world: dict[str, Any] = {
        "dimensions": dimensions, "obstacles": obstacles, "tick": draw(st.sampled_from([0.01, 0.05, 0.3])),
        "arena": arena(draw(st.sampled_from(["clip", "bounce", "crash", "open"]))),
        "collisions": draw(st.sampled_from(["off", "bounce", "crash"])),
    }
    if draw(st.booleans()):
        world["obstacle_contact"] = draw(st.sampled_from(["clip", "bounce", "crash"]))
    if draw(st.booleans()):
        world["wind"] = {"mean": [2, -1, 0.5], "gusts": {"deviation": 2, "vertical": 1}}
    return made(roles, **world), draw(st.integers(0, 2**31))


@QUICK
@given(crowded())
def test_no_action_leads_outside_the_rules_of_the_arena_or_to_a_nan(case: tuple[Engagement, int]) -> None:
    engagement, seed = case
    random = np.random.default_rng(seed)
    world = begun(engagement, batch=2, seed=seed)
    commands = drawn(world, random)
    active = None
    for tick in range(60):
        if tick % 6 == 0:
            commands = drawn(world, random)
            if random.uniform() < 0.3:
                for command in commands.values():
                    command.mode = random.integers(0, len(Mode), command.values.shape[1:]).astype(np.int8)
        world.step(commands, active)
        assert np.isfinite(np.asarray(world.state.block)).all()
        outside, inside = depth(engagement, world)
        assert outside <= 0.0
        assert inside <= 0.0
        if world.failed is not None:
            active = ~np.asarray(world.failed)
