"""Geometry of interception: pursuer and evader in straight motion.

R. Isaacs, Differential Games, 1965; N. A. Shneydor, Missile Guidance and Pursuit, 1998.
"""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array, Vector, add, dot, length, limit, scale, subtract
from pe_sim.guidance.vectors import across, choose


def collision_velocity(xp: Any, direction: Vector, target_velocity: Vector, speed: float) -> Vector:
    """Return the velocity at ``speed`` that keeps the bearing of a target constant (parallel navigation).

    Across the line of sight it equals the target's; what is left goes along it. Where the target is faster across than
    ``speed``, all of it goes across.

    Args:
        xp: array namespace.
        direction: unit vector to the target.
        target_velocity: its velocity [m/s].
        speed: own speed [m/s].
    """
    sideways = across(target_velocity, direction)
    left = speed * speed - dot(sideways, sideways)
    return add(limit(xp, sideways, speed), scale(direction, xp.sqrt(xp.where(left > 0.0, left, 0.0))))


def intercept_point(xp: Any, sight: Vector, target_velocity: Vector, speed: float) -> tuple[Vector, Array]:
    """Return where a pursuer at the origin meets a target that flies straight on, and whether it can.

    The least positive root t of |sight + v t| = speed t. For a slower target the point lies on the Apollonius circle of
    the two positions.

    Args:
        xp: array namespace.
        sight: position of the target [m].
        target_velocity: its velocity [m/s].
        speed: own speed [m/s].
    """
    a = speed * speed - dot(target_velocity, target_velocity)
    b, c = dot(sight, target_velocity), dot(sight, sight)
    root = b * b + a * c
    real = root >= 0.0
    size = xp.sqrt(xp.where(real, root, 0.0))
    # c / (size - b) is (b + size) / a without its pole at equal speeds; for a faster target it is the earlier root.
    below = size - b
    meets = real & (below > 1e-12)
    time = c / xp.where(meets, below, 1.0)
    return choose(xp, meets, add(sight, scale(target_velocity, time)), sight), meets


def apollonius_circle(xp: Any, pursuer: Vector, evader: Vector, ratio: Array | float) -> tuple[Vector, Array]:
    """Return the centre (E - g^2 P) / (1 - g^2) and the radius g d / (1 - g^2) of the Apollonius circle.

    On the circle (a sphere in space) the evader, slower by the ratio g = ve / vp < 1, arrives together with the
    pursuer, both going straight; d is their distance.
    """
    square = ratio * ratio
    inverse = 1.0 / (1.0 - square)
    center = (
        (evader[0] - square * pursuer[0]) * inverse,
        (evader[1] - square * pursuer[1]) * inverse,
        (evader[2] - square * pursuer[2]) * inverse,
    )
    return center, length(xp, subtract(evader, pursuer)) * ratio * inverse
