"""The contract of a sensor: what it measures, when, how late and how badly.

A sensor reads the canonical state only, so that it works on a simulated and on a real vehicle's odometry alike.
:meth:`Sensor.measure` is the noise-free geometry; everything else (noise, quantisation, dropout, latency) is common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array
from pe_sim.quantities import Duration, NotNegative, Probability, Rate, exact
from pe_sim.schema import Strict, nearest
from pe_sim.state import Motion

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class NoiseSpec(Strict):
    """Errors of one field, in the field's unit.

    Attributes:
        white: standard deviation of the error of each reading.
        bias: standard deviation of a constant error, drawn once per episode.
        quantisation: step of the reading, 0 for none.
    """

    white: Annotated[float | str, Field(union_mode="left_to_right")] = 0.0
    bias: Annotated[float | str, Field(union_mode="left_to_right")] = 0.0
    quantisation: Annotated[float | str, Field(union_mode="left_to_right")] = 0.0

    def in_unit(self, unit: str) -> tuple[float, float, float]:
        """Return (white, bias, quantisation) in a unit; refuse negative values and other units."""
        values = tuple(float(exact(v, unit)) for v in (self.white, self.bias, self.quantisation))
        if min(values) < 0.0:
            raise PydanticCustomError("noise", "noise must not be negative")
        return values[0], values[1], values[2]


class SensorSpec(Strict):
    """What every sensor's section of the file holds.

    Attributes:
        kind: name of the sensor kind.
        rate: readings per second [Hz].
        phase: engagement time of reading 0 [s].
        latency: from measurement to arrival [s].
        jitter: greatest extra delay, uniform from 0 [s].
        dropout: probability that a reading never arrives.
        noise: field -> white noise, or {white, bias, quantisation}, in the field's unit.
    """

    kind: str
    rate: Rate
    phase: Annotated[Duration, NotNegative] = 0
    latency: Annotated[Duration, NotNegative] = 0
    jitter: Annotated[Duration, NotNegative] = 0
    dropout: Probability = 0.0
    noise: dict[str, NoiseSpec] = {}

    @field_validator("noise", mode="before")
    @classmethod
    def _white_in_short(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: v if isinstance(v, dict | NoiseSpec) else {"white": v} for k, v in value.items()}
        return value


class TargetSensorSpec(SensorSpec):
    """A sensor that measures other agents.

    Attributes:
        targets: 'opponents', 'teammates', 'everyone' (but oneself), or a role.
    """

    targets: str = "opponents"


@dataclass(frozen=True)
class Quantity:
    """One measured quantity.

    Attributes:
        name: e.g. range.
        unit: e.g. m.
        angle: whether it wraps at +-pi.
    """

    name: str
    unit: str
    angle: bool = False


class Sensor(ABC):
    """A kind of sensor, for the agents of one role in a batch.

    Attributes:
        quantities: what it measures, of the agent itself or of each target.
        of_targets: whether it measures other agents.
        frame: frame of the values: 'body' or 'world'.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[SensorSpec]] = SensorSpec
    quantities: ClassVar[tuple[Quantity, ...]]
    of_targets: ClassVar[bool] = False
    frame: ClassVar[str] = "body"

    def __init__(self, spec: SensorSpec, xp: Any) -> None:
        self.spec = spec
        self.xp = xp

    @abstractmethod
    def measure(self, own: Motion, targets: Motion) -> tuple[list[Array], Array | None]:
        """Return the noise-free values and where they are valid.

        Args:
            own: motion of the observers, (n, B); (n, 1, B) for a sensor of targets.
            targets: motion of the targets, (n or 1, m, B); for a sensor of oneself the same as ``own``.

        Returns:
            One array per quantity, float64, (n, B) or (n, m, B); and the mask of validity, or None if always valid.
        """

    @classmethod
    def check(cls, engagement: Engagement, role: str, sensor: str) -> None:
        """Refuse settings that do not fit this kind or the engagement.

        Raises:
            PydanticCustomError: with path and rule.
        """
        spec = engagement.roles[role].sensors[sensor]
        fields = {quantity.name: quantity.unit for quantity in cls.quantities}
        for field, noise in spec.noise.items():
            path = f"roles.{role}.sensors.{sensor}.noise.{field}"
            if field not in fields:
                raise PydanticCustomError(
                    "noise", "{path}: {kind} has no such field; {nearest}",
                    {"path": path, "kind": spec.kind, "nearest": nearest(field, fields)},
                )
            try:
                noise.in_unit(fields[field])
            except PydanticCustomError as fault:
                raise PydanticCustomError("noise", "{path}: {rule}", {"path": path, "rule": fault.message()}) from fault
        if isinstance(spec, TargetSensorSpec):
            for i in range(engagement.roles[role].count):
                target_indices(engagement, role, i, spec.targets, f"roles.{role}.sensors.{sensor}.targets")


def target_indices(engagement: Engagement, role: str, number: int, targets: str, path: str) -> list[int]:
    """Return the indices of the agents that a sensor of agent ``role``_``number`` measures.

    Raises:
        PydanticCustomError: if the selection is unknown or empty.
    """
    own = engagement.role_ranges[role][0] + number
    team = engagement.teams[own]
    if targets == "opponents":
        chosen = [i for i, other in enumerate(engagement.teams) if other != team]
    elif targets == "teammates":
        chosen = [i for i, other in enumerate(engagement.teams) if other == team and i != own]
    elif targets == "everyone":
        chosen = [i for i in range(len(engagement.teams)) if i != own]
    elif targets in engagement.roles:
        first, last = engagement.role_ranges[targets]
        chosen = [i for i in range(first, last) if i != own]
    else:
        valid = ["opponents", "teammates", "everyone", *engagement.roles]
        raise PydanticCustomError(
            "targets", "{path}: no such targets {targets}; {nearest}",
            {"path": path, "targets": repr(targets), "nearest": nearest(targets, valid)},
        )
    if not chosen:
        raise PydanticCustomError("targets", "{path}: there is nobody to measure", {"path": path})
    return chosen
