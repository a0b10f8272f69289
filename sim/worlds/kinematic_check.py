"""What the kinematic world refuses before anything moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.arrays import namespace
from pe_sim.timing import seconds
from pe_sim.worlds.contact import MOST_PIECES, piece_length

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
