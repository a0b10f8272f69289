"""Obstacles of the kinematic world: how far outside a point is, and which way is out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Length
from pe_sim.schema import Strict, nearest


class Obstacle(Strict):
    """A solid that agents cannot enter.

    Attributes:
        shape: its kind.
    """

    shape: str

    @abstractmethod
    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Return the signed distance to the surface [m], negative inside, and the outward unit normal there."""


class Circle(Obstacle):
    """An upright cylinder of unlimited height: a circle seen from above.

    Attributes:
        center: axis (x, y) [m; world].
        radius: [m].
    """

    shape: Literal["circle"] = "circle"
    center: tuple[Length, Length]
    radius: Annotated[Length, Field(gt=0.0)]

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Distance from the axis less the radius."""
        dx, dy = position[0] - self.center[0], position[1] - self.center[1]
        distance = xp.sqrt(dx * dx + dy * dy)
        at_axis = distance == 0.0
        safe = xp.where(at_axis, 1.0, distance)
        return distance - self.radius, (xp.where(at_axis, 1.0, dx / safe), dy / safe, dx * 0.0)


class Box(Obstacle):
    """A box with faces along the world's axes.

    Attributes:
        low: lower corner (x, y, z) [m; world].
        high: upper corner [m; world].
    """

    shape: Literal["box"] = "box"
    low: tuple[Length, Length, Length]
    high: tuple[Length, Length, Length]

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Distance to the nearest face from inside; outside, the largest of the three axes' distances."""
        best: Array | None = None
        normal: Vector = (position[0] * 0.0, position[0] * 0.0, position[0] * 0.0)
        for axis in range(3):
            for bound, sign in ((self.low[axis], -1.0), (self.high[axis], 1.0)):
                distance = sign * (position[axis] - bound)
                if best is None:
                    best, nearer = distance, distance == distance
                else:
                    nearer = distance > best
                    best = xp.where(nearer, distance, best)
                normal = tuple(
                    xp.where(nearer, sign if i == axis else 0.0, part) for i, part in enumerate(normal)
                )
        return best, normal


SHAPES: dict[str, type[Obstacle]] = {"circle": Circle, "box": Box}
"""Shape name -> class."""


class ObstacleReader:
    """Reads the list of obstacles of an engagement file."""

    shapes: ClassVar[dict[str, type[Obstacle]]] = SHAPES

    @classmethod
    def read(cls, value: Any) -> Any:
        """Return obstacles from plain data.

        Raises:
            PydanticCustomError: for an unknown shape, with the nearest valid one.
        """
        if not isinstance(value, list | tuple):
            raise PydanticCustomError("obstacles", "must be a list of obstacles")
        return tuple(cls._one(item) for item in value)

    @classmethod
    def _one(cls, item: Any) -> Any:
        if isinstance(item, Obstacle):
            return item
        shape = item.get("shape") if isinstance(item, dict) else None
        if shape not in cls.shapes:
            raise PydanticCustomError(
                "obstacles", "unknown shape {shape}; {nearest}",
                {"shape": repr(shape), "nearest": nearest(str(shape), cls.shapes)},
            )
        return cls.shapes[shape].model_validate(item)
