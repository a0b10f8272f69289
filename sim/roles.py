"""The section of one role: how its agents move, what they sense, what decides for them, and within which limits."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.errors import PluginError
from pe_sim.quantities import Angle, Duration, Length, Magnitude, NotNegative, Rate, Speed
from pe_sim.schema import Strict, located, nearest, refuse_unfit_name
from pe_sim.sensors.base import SensorSpec
from pe_sim.timing import Schedule, to_nanoseconds
from pe_sim.worlds.base import DynamicsSpec

DEFAULT_VALID_FOR = to_nanoseconds(Fraction(1, 2))


def plugin(group: str, key: str, base: type[Strict]) -> Any:
    """Return a validator that reads a section with the parameters of the part that its ``key`` names."""

    def parse(value: Any) -> Any:
        if isinstance(value, base):
            return value
        if not isinstance(value, dict) or not isinstance(value.get(key), str):
            raise PydanticCustomError("plugin", "needs the key '{key}'", {"key": key})
        try:
            part = registry.lookup(group, value[key])
        except PluginError as fault:
            told = {"key": key, "rule": fault.rule, "value": value[key], "cure": fault.cure}
            raise PydanticCustomError("plugin", "{key}: {rule} (got '{value}'); {cure}", told) from fault
        return part.Parameters.model_validate(value)

    return parse


class PolicySpec(Strict):
    """What decides for the agents of a role, and when.

    Attributes:
        use: 'guidance/<name>' for scripted guidance, or the path of a policy bundle.
        rate: decisions per second [Hz]; leave out where it decides on a sensor's readings.
        phase: engagement time of decision 0 [s].
        decide_on: name of the sensor whose readings trigger a decision.
        parameters: parameters of the guidance law.
    """

    use: Annotated[str, Field(min_length=1)]
    rate: Rate | None = None
    phase: Duration = 0
    decide_on: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_trigger(self) -> PolicySpec:
        if (self.rate is None) == (self.decide_on is None):
            raise PydanticCustomError("policy", "needs either 'rate' or 'decide_on' (a sensor's name), and not both")
        if self.phase < 0:
            raise PydanticCustomError("policy", "phase must not be negative")
        return self


class ActionTiming(Strict):
    """When an action takes effect and for how long.

    Attributes:
        latency: from the decision to its effect [s].
        valid_for: from its effect until it expires [s]; default the longer of 0.5 s and three decision periods.
        on_expiry: hold the last action, coast (no control input), or stop.
    """

    latency: Annotated[Duration, NotNegative] = 0
    valid_for: Annotated[Duration, Field(gt=0)] | None = None
    on_expiry: Literal["hold", "coast", "stop"] = "stop"


class GateSpec(Strict):
    """The safety gate's limits, tighter than the dynamics' own.

    Attributes:
        limits: action name -> [low, high], in the action's unit, or text with a unit.
        slew: action name -> greatest change per second, likewise.
    """

    limits: dict[str, tuple[Magnitude, Magnitude]] = Field(default_factory=dict)
    slew: dict[str, Magnitude] = Field(default_factory=dict)


class ObserveSpec(Strict):
    """What the flat observation vector of a role holds beside the sensors' values.

    Attributes:
        mask: one validity flag per value.
        age: one age per sensor [s].
        actions: the agent's own last so many actions.
    """

    mask: bool = True
    age: bool = True
    actions: Annotated[int, Field(ge=0, le=64)] = 0


class StartSpec(Strict):
    """Where the agents of a role start: a box to draw from, or one given point per agent.

    Attributes:
        low: lower corner [m; world], default the arena's.
        high: upper corner [m; world], default the arena's.
        points: one point per agent [m; world], instead of a box.
        heading: range of the heading [rad, counter-clockwise from east].
        speed: range of the speed along the heading [m/s].
    """

    low: tuple[Length, Length, Length] | None = None
    high: tuple[Length, Length, Length] | None = None
    points: tuple[tuple[Length, Length, Length], ...] | None = None
    heading: tuple[Angle, Angle] = (-3.141592653589793, 3.141592653589793)
    speed: tuple[Speed, Speed] = (0.0, 0.0)

    @model_validator(mode="after")
    def _ordered(self) -> StartSpec:
        for name in ("heading", "speed"):
            low, high = getattr(self, name)
            if low > high:
                raise PydanticCustomError("range", "{name}: the first value must not exceed the second", {"name": name})
        if self.speed[0] < 0:
            raise PydanticCustomError("range", "speed must not be negative")
        if self.low and self.high and any(a > b for a, b in zip(self.low, self.high, strict=True)):
            raise PydanticCustomError("range", "low must not exceed high")
        return self


class RoleSpec(Strict):
    """Agents that are alike: how they move, what they sense, what decides for them.

    Attributes:
        count: how many; they are named '<role>_0', '<role>_1' and so on.
        team: whose side they are on.
        dynamics: how they move, and their limits.
        start: where they start.
        sensors: name -> sensor.
        policy: what decides for them, and when.
        action: when their actions take effect and how long they last.
        gate: limits that no action gets past.
        observe: what their observation vector holds beside the sensors' values.
    """

    count: Annotated[int, Field(ge=1, le=1000)] = 1
    team: Annotated[str, Field(min_length=1)]
    dynamics: SerializeAsAny[DynamicsSpec]
    start: StartSpec = StartSpec()
    sensors: dict[str, SerializeAsAny[SensorSpec]] = Field(default_factory=dict)
    policy: PolicySpec
    action: ActionTiming = ActionTiming()
    gate: GateSpec = GateSpec()
    observe: ObserveSpec = ObserveSpec()

    @field_validator("dynamics", mode="before")
    @classmethod
    def _read_dynamics(cls, value: Any) -> Any:
        return plugin("pe_sim.dynamics", "model", DynamicsSpec)(value)

    @field_validator("sensors", mode="before")
    @classmethod
    def _read_sensors(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise PydanticCustomError("sensors", "must map a sensor's name to its settings")
        parse = plugin("pe_sim.sensors", "kind", SensorSpec)
        sensors = {}
        for name, settings in value.items():
            refuse_unfit_name(name, "a sensor's name")
            with located(str(name), settings):
                sensors[name] = parse(settings)
        return sensors

    @model_validator(mode="after")
    def _consistent(self) -> RoleSpec:
        if self.policy.decide_on is not None and self.policy.decide_on not in self.sensors:
            raise PydanticCustomError(
                "policy",
                "policy.decide_on: no sensor {name}; {nearest}",
                {"name": repr(self.policy.decide_on), "nearest": nearest(self.policy.decide_on, self.sensors)},
            )
        if self.start.points is not None and len(self.start.points) != self.count:
            raise PydanticCustomError("start", "start.points: needs one point per agent")
        return self

    @property
    def trigger(self) -> Schedule:
        """Schedule of the decisions: the policy's own, or that of the sensor it decides on."""
        if self.policy.rate is not None:
            return Schedule(self.policy.rate, self.policy.phase)
        sensor = self.sensors[str(self.policy.decide_on)]
        return Schedule(sensor.rate, sensor.phase)

    @property
    def valid_for(self) -> int:
        """How long an action holds after taking effect [ns]."""
        if self.action.valid_for is not None:
            return self.action.valid_for
        return max(DEFAULT_VALID_FOR, 3 * self.trigger.period)
