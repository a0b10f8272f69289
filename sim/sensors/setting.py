"""What a sensor is told once: whose it is, its section of the file, the world it is in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pe_sim import streams
from pe_sim.arrays import Array

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement
    from pe_sim.sensors.base import SensorSpec


@dataclass(frozen=True)
class SensorSetting:
    """One sensor of some agents of one role.

    Attributes:
        engagement: the engagement.
        role: role of the agents.
        sensor: the sensor's name in that role.
        numbers: which agents of the role (0-based).
        xp: array namespace.
    """

    engagement: Engagement
    role: str
    sensor: str
    numbers: tuple[int, ...]
    xp: Any

    @cached_property
    def spec(self) -> SensorSpec:
        """The sensor's section of the file."""
        return self.engagement.roles[self.role].sensors[self.sensor]

    @cached_property
    def agents(self) -> list[int]:
        """Indices of the agents."""
        first = self.engagement.role_ranges[self.role][0]
        return [first + number for number in self.numbers]

    @cached_property
    def names(self) -> list[str]:
        """Names of the agents."""
        return [self.engagement.agents[i] for i in self.agents]

    @property
    def path(self) -> str:
        """Path of the section, for errors."""
        return f"roles.{self.role}.sensors.{self.sensor}"

    @property
    def planar(self) -> bool:
        """Whether everybody stays at one height."""
        world = self.engagement.world
        return world.backend == "grid" or getattr(world, "dimensions", 3) == 2

    @property
    def solids(self) -> tuple[Any, ...]:
        """The world's obstacles: solids, or cells of a grid; in the plane without their heights."""
        found = tuple(getattr(self.engagement.world, "obstacles", ()))
        return tuple(item.flat() if self.planar and hasattr(item, "flat") else item for item in found)

    def keys(self, roots: Array) -> Array:
        """Return the stream keys of this sensor of each agent, int64 (n, R), from the episodes' root keys (R,)."""
        return streams.derive(roots, self._name_keys)

    @cached_property
    def _name_keys(self) -> Array:
        keys = [[streams.name_key(f"{name}/{self.sensor}")] for name in self.names]
        return self.xp.asarray(keys, dtype=self.xp.int64)


def index_of(indices: list[int]) -> slice | list[int]:
    """Return consecutive indices as a slice, whose memory is read in place, others as they are."""
    first = indices[0]
    return slice(first, first + len(indices)) if indices == list(range(first, first + len(indices))) else indices
