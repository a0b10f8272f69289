"""The contract of a sensor: what it measures, when, how late and how badly.

A sensor reads the canonical state only, so that it works on a simulated and on a real vehicle's odometry alike.
:meth:`Sensor.measure` is the noise-free geometry; everything else (noise, quantisation, misses, false alarms, hidden
identity, dropout, latency) is common to all kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array
from pe_sim.quantities import Duration, Length, NotNegative, Probability, Rate, Speed, exact
from pe_sim.schema import Strict, nearest
from pe_sim.sensors.scene import Scene
from pe_sim.sensors.selection import target_indices

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement
    from pe_sim.sensors.instrument import Instrument
    from pe_sim.sensors.setting import SensorSetting

Measured: TypeAlias = tuple[Array, Array | None]
"""Noise-free values, float64 (F, n, B) or (F, n, m, B), and where they are valid, or None where they always are."""


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
        name = "dimensionless" if unit == "1" else unit
        values = tuple(float(exact(v, name)) for v in (self.white, self.bias, self.quantisation))
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
    noise: dict[str, NoiseSpec] = Field(default_factory=dict)

    @field_validator("noise", mode="before")
    @classmethod
    def _white_in_short(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: v if isinstance(v, dict | NoiseSpec) else {"white": v} for k, v in value.items()}
        return value


class DetectionSpec(Strict):
    """How surely a target in view is detected in one reading.

    The probability falls with range as ``probability ** ((r / range) ** 4)``: a target of fluctuating cross section
    (Swerling case 1) at a high signal-to-noise ratio, whose signal falls with the fourth power of range (M. Skolnik,
    Introduction to Radar Systems, 3rd ed., 2001, chapter 2).

    Attributes:
        probability: of detecting a target, at ``range`` where that is given, else at any range.
        range: range at which the probability holds [m]; None for a probability that does not depend on range.
    """

    probability: Probability = 1.0
    range: Annotated[Length, Field(gt=0.0)] | None = None


class FalseAlarmSpec(Strict):
    """Detections of nothing: slots beside those of the targets, each filled or not at every reading.

    A false detection lies anywhere in what the sensor covers, uniformly in what it measures.

    Attributes:
        slots: how many there can be in one reading.
        probability: that a slot is filled.
        speed: greatest speed that a false detection shows [m/s].
    """

    slots: Annotated[int, Field(ge=1, le=100)] = 1
    probability: Probability = 0.1
    speed: Annotated[Speed, Field(ge=0.0)] = 20.0


class TargetSensorSpec(SensorSpec):
    """A sensor that measures other agents.

    Attributes:
        targets: 'opponents', 'teammates', 'everyone' (but oneself), or a role.
        occlusion: whether obstacles of the world hide what is behind them.
        detection: how surely a target in view is detected.
        false_alarms: detections of nothing, or None; they need a hidden identity.
        order: 'name' gives each target its own fields; 'range' and 'azimuth' hide who is who: the fields are those of
            detection_0, detection_1, ... sorted by what was measured, nearest or rightmost first, nothing last; or
            contact_0, ... where teammates are measured too.
    """

    targets: str = "opponents"
    occlusion: bool = False
    detection: DetectionSpec = DetectionSpec()
    false_alarms: FalseAlarmSpec | None = None
    order: Literal["name", "range", "azimuth"] = "name"


@dataclass(frozen=True)
class Quantity:
    """One measured quantity.

    Attributes:
        name: e.g. range.
        unit: SI, e.g. m; '1' where it has none.
        angle: whether it wraps at +-pi.
        low: least value that an erroneous reading shows, None for no bound.
        high: greatest value that an erroneous reading shows, None for no bound.
    """

    name: str
    unit: str
    angle: bool = False
    low: float | None = None
    high: float | None = None


class Sensor(ABC):
    """A kind of sensor, for some agents of one role in a batch.

    Attributes:
        name: name under which the engagement file selects it.
        Parameters: its section of the engagement file.
        quantities: what it measures, of the agent itself or of each target.
        of_targets: whether it measures other agents.
        frame: frame of the values: 'body' or 'world'.
        orders: sort orders that it can hide identities with.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[SensorSpec]] = SensorSpec
    quantities: ClassVar[tuple[Quantity, ...]]
    of_targets: ClassVar[bool] = False
    frame: ClassVar[str] = "body"
    orders: ClassVar[tuple[str, ...]] = ()

    def __init__(self, setting: SensorSetting) -> None:
        self.setting = setting
        self.spec = setting.spec
        self.xp = setting.xp

    @abstractmethod
    def measure(self, scene: Scene) -> Measured:
        """Return the noise-free values and where they are valid.

        The values are one array, float64, one entry of the first axis per quantity: (F, n, B), or (F, n, m, B) for a
        sensor of targets; nobody changes it. The mask has the shape of one entry, or of all of them.
        """

    def reset(self, rows: Array | None, batch: int) -> None:  # noqa: B027 - most kinds remember nothing
        """Forget earlier readings in the given engagements (indices; None for all B). Default: nothing is kept."""

    def false_values(self, draws: Array) -> Array:
        """Return what false detections show, float64 (F, ...), from uniform draws of the same shape.

        A kind that does not say has none: a file that asks for false alarms of it is refused.
        """
        raise NotImplementedError

    def sort_key(self, values: Array) -> Array:
        """Return what detections are sorted by, from erroneous values (F, n, m, B). Default: the field of the order."""
        order = getattr(self.spec, "order", "name")
        return values[[quantity.name for quantity in self.quantities].index(order)]

    def pack(self, parts: Sequence[Array]) -> Array:
        """Return arrays of one shape as one array with them as entries of its first axis."""
        out = self.xp.empty((len(parts), *parts[0].shape), dtype=self.xp.float64)
        for i, part in enumerate(parts):
            out[i] = part
        return out

    @classmethod
    def instrument(cls, setting: SensorSetting) -> Instrument:
        """Return what turns states into readings of this kind, errors included."""
        # Imported here because it builds on this contract.
        from pe_sim.sensors.instrument import DirectInstrument

        return DirectInstrument(cls(setting), setting)

    @classmethod
    def check(cls, engagement: Engagement, role: str, sensor: str) -> None:
        """Refuse settings that do not fit this kind or the engagement.

        Raises:
            PydanticCustomError: with path and rule.
        """
        spec, path = engagement.roles[role].sensors[sensor], f"roles.{role}.sensors.{sensor}"
        check_noise(spec, cls.quantities, path)
        if isinstance(spec, TargetSensorSpec):
            for i in range(engagement.roles[role].count):
                target_indices(engagement, role, i, spec.targets, f"{path}.targets")
            _check_identity(spec, cls.orders, path)
            if spec.false_alarms is not None and cls.false_values is Sensor.false_values:
                raise PydanticCustomError(
                    "false_alarms", "{path}.false_alarms: a sensor of kind {kind} does not tell what one would show",
                    {"path": path, "kind": spec.kind},
                )
            if spec.occlusion and not getattr(engagement.world, "obstacles", ()):
                raise PydanticCustomError(
                    "occlusion", "{path}.occlusion: world.obstacles is empty: there is nothing to hide behind",
                    {"path": path},
                )


def check_noise(spec: SensorSpec, quantities: Sequence[Quantity], path: str) -> None:
    """Refuse noise of fields that the kind does not have, or in a unit that does not fit.

    Raises:
        PydanticCustomError: with path and rule.
    """
    fields = {quantity.name: quantity.unit for quantity in quantities}
    for field, noise in spec.noise.items():
        if field not in fields:
            raise PydanticCustomError(
                "noise", "{path}: {kind} has no such field; {nearest}",
                {"path": f"{path}.noise.{field}", "kind": spec.kind, "nearest": nearest(field, fields)},
            )
        try:
            noise.in_unit(fields[field])
        except PydanticCustomError as fault:
            context = {"path": f"{path}.noise.{field}", "rule": fault.message()}
            raise PydanticCustomError("noise", "{path}: {rule}", context) from fault


def _check_identity(spec: TargetSensorSpec, orders: tuple[str, ...], path: str) -> None:
    if spec.order != "name" and spec.order not in orders:
        raise PydanticCustomError(
            "order", "{path}.order: a sensor of kind {kind} cannot sort by {order}; valid: {valid}",
            {"path": path, "kind": spec.kind, "order": spec.order, "valid": ", ".join(("name", *orders))},
        )
    if spec.false_alarms is not None and spec.order == "name":
        raise PydanticCustomError(
            "order",
            "{path}.false_alarms: a sensor that takes nothing for something cannot know who is who; "
            "set order to one of: {valid}",
            {"path": path, "valid": ", ".join(orders) or "none of this kind"},
        )
