"""What the kinematic world refuses before anything moves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.arrays import namespace
from pe_sim.randomise import DrawSpec, bounds, targets
from pe_sim.timing import seconds
from pe_sim.worlds.arena import Arena
from pe_sim.worlds.contact import MOST_PIECES, piece_length
from pe_sim.worlds.moved import DrawnArena, drawn_obstacles
from pe_sim.worlds.placement import DISTANCES

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


def check_kinematic(engagement: Engagement) -> None:
    """Refuse what no motion can come of.

    Raises:
        PydanticCustomError: with path and rule.
    """
    for name, role in engagement.roles.items():
        _check_dynamics(engagement, name, role)
        _check_start(engagement, name, role)
    _check_thickness(engagement)


def _check_dynamics(engagement: Engagement, name: str, role: Any) -> None:
    world: Any = engagement.world
    model = registry.lookup("pe_sim.dynamics", role.dynamics.model)
    reason = model.check(role.dynamics, world.dimensions)
    if reason is not None:
        raise PydanticCustomError("dynamics", "roles.{role}.dynamics: {reason}", {"role": name, "reason": reason})
    top = model.top_speed(role.dynamics)
    if role.start.speed[1] > top:
        raise PydanticCustomError(
            "start", "roles.{role}.start.speed: {speed} m/s is more than its dynamics reach, {top} m/s",
            {"role": name, "speed": role.start.speed[1], "top": top},
        )


def _check_start(engagement: Engagement, name: str, role: Any) -> None:
    world: Any = engagement.world
    arena, radius = world.arena, role.dynamics.radius
    low, high = list(arena.low), list(arena.high)
    for axis in range(world.dimensions):
        low[axis], high[axis] = low[axis] + radius, high[axis] - radius
        if low[axis] > high[axis]:
            raise PydanticCustomError(
                "start", "roles.{role}.dynamics.radius: the arena is too narrow for it", {"role": name}
            )
        first = low[axis] if role.start.low is None else max(low[axis], role.start.low[axis])
        last = high[axis] if role.start.high is None else min(high[axis], role.start.high[axis])
        if first > last and role.start.points is None:
            raise PydanticCustomError("start", "roles.{role}.start: leaves no room inside the arena", {"role": name})
    corners = [p for p in (role.start.low, role.start.high) if p is not None]
    for corner in corners:
        if not all(a <= c <= b for a, c, b in zip(arena.low, corner, arena.high, strict=True)):
            _refuse_start(name, corner, "is outside the arena")
    for point in role.start.points or ():
        if not all(a <= c <= b for a, c, b in zip(low, point, high, strict=True)):
            _refuse_start(name, point, "is outside the arena" if radius == 0.0 else "is too near the arena's edge")
        for number, obstacle in enumerate(world.obstacles):
            place = tuple(np.asarray([c]) for c in point)
            if float(obstacle.surface(namespace(), place)[0][0]) <= radius:
                _refuse_start(name, point, f"touches world.obstacles.{number}")


def check_kinematic_draws(engagement: Engagement) -> None:
    """Refuse draws of arena and obstacles that may leave no room to start in.

    Raises:
        PydanticCustomError: with path and rule.
    """
    world: Any = engagement.world
    obstacles = drawn_obstacles(engagement, world.obstacles, 1, namespace())
    factor = engagement.randomise.get("world.arena")
    if factor is not None and factor.scale is not None:
        least = DrawnArena(engagement, world.arena, world.dimensions, 1, namespace()).scaled(factor.scale[0])
        for name, role in engagement.roles.items():
            _check_room(least, name, role, world.dimensions)
    if obstacles is None:
        return
    for number in obstacles.numbers:
        obstacle = world.obstacles[number]
        radius = obstacle.surrounding_circle()[2]
        way, greatest = obstacles.farthest(number)
        if greatest != 1.0 and not math.isfinite(radius):
            raise PydanticCustomError(
                "draw", "an obstacle without bounds has no size", {"at": f"randomise.world.obstacles.{number}.size"}
            )
        reach = way + (max(greatest, 1.0) - 1.0) * (radius if greatest > 1.0 else 0.0)
        for name, role in engagement.roles.items():
            dynamics: Any = role.dynamics
            for point in role.start.points or ():
                place = tuple(np.asarray([c]) for c in point)
                if float(obstacle.surface(namespace(), place)[0][0]) <= dynamics.radius + reach:
                    raise PydanticCustomError(
                        "draw", "may reach the start {point} of {role}",
                        {"point": str(point), "role": name, "at": f"randomise.world.obstacles.{number}"},
                    )


def narrowest(engagement: Engagement) -> Engagement | None:
    """Return the engagement at the ends that leave least room to start in; None where no such thing is drawn."""
    ends: dict[str, DrawSpec] = {}
    for path, spec in engagement.randomise.items():
        if path in DISTANCES:
            ends[path] = DrawSpec(choices=(bounds(targets(engagement)[path], spec)[1],))
        elif spec.scale is not None and (path == "world.arena" or path.endswith(".size")):
            end = spec.scale[0] if path == "world.arena" else spec.scale[1]
            ends[path] = DrawSpec(scale=(end, end))
    return engagement.model_copy(update={"randomise": ends}) if ends else None


def _check_room(arena: Arena, name: str, role: Any, dimensions: int) -> None:
    """Refuse a least arena that leaves no room for the start of a role."""
    for axis in range(3):
        radius = role.dynamics.radius if axis < dimensions else 0.0
        low, high = arena.low[axis] + radius, arena.high[axis] - radius
        points = [(point, point) for point in role.start.points or ()]
        boxes = points or [(role.start.low, role.start.high)]
        for least, most in boxes:
            first = low if least is None else max(low, least[axis])
            last = high if most is None else min(high, most[axis])
            outside = bool(points) and not low <= least[axis] <= high
            if first > last or outside:
                raise PydanticCustomError(
                    "draw", "the least arena leaves no room for roles.{role}.start",
                    {"role": name, "at": "randomise.world.arena.scale"},
                )


def _refuse_start(name: str, point: tuple[float, ...], rule: str) -> None:
    raise PydanticCustomError(
        "start", "roles.{role}.start: {point} {rule}", {"role": name, "point": str(point), "rule": rule}
    )


def _check_thickness(engagement: Engagement) -> None:
    """Refuse obstacles so thin that the way of a tick would have to be cut into too many pieces to see them."""
    world: Any = engagement.world
    air = 0.0 if world.wind is None else world.wind.greatest
    for name, role in engagement.roles.items():
        dynamics: Any = role.dynamics
        top = registry.lookup("pe_sim.dynamics", dynamics.model).top_speed(dynamics)
        way = (top + dynamics.wind * air) * seconds(world.tick)
        for number, obstacle in enumerate(world.obstacles):
            least = way / MOST_PIECES
            if piece_length(obstacle) < least:
                raise PydanticCustomError(
                    "obstacles",
                    "world.obstacles.{n}: {width} m thick is too thin for {role}, which goes {way} m in a tick; "
                    "make it thicker than {least} m or shorten world.tick",
                    {
                        "n": number, "width": obstacle.least_width, "role": name, "way": round(way, 6),
                        "least": round(least / piece_length(obstacle) * obstacle.least_width, 6),
                    },
                )
