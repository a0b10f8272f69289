"""The engagement file: one schema that training, the ROS graph and robots all read.

SI units, ENU world frame, FLU body frame, radians; text quantities with units are accepted. See
:func:`load` to read a file and :class:`Engagement` for what it holds.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, SerializeAsAny, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.errors import EngagementError, PluginError
from pe_sim.quantities import Duration, Length, NotNegative, Rate
from pe_sim.rules import RulesSpec
from pe_sim.schema import Strict, as_engagement_error, nearest
from pe_sim.sensors.base import SensorSpec
from pe_sim.timing import NANOSECONDS, Schedule, ceil_tick, to_nanoseconds
from pe_sim.worlds.base import DynamicsSpec, WorldSpec

MAX_TICKS = 5_000_000
"""Longest engagement, in ticks: keeps the tables of due times small."""

DEFAULT_VALID_FOR = to_nanoseconds(Fraction(1, 2))


def _plugin(group: str, key: str, base: type[Strict]) -> Any:
    """Return a validator that reads a section with the parameters of the part that its ``key`` names."""

    def parse(value: Any) -> Any:
        if isinstance(value, base):
            return value
        if not isinstance(value, dict) or not isinstance(value.get(key), str):
            raise PydanticCustomError("plugin", "needs the key '{key}'", {"key": key})
        try:
            part = registry.lookup(group, value[key])
        except PluginError as fault:
            raise PydanticCustomError("plugin", "{rule}; {cure}", {"rule": fault.rule, "cure": fault.cure}) from fault
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

    use: str
    rate: Rate | None = None
    phase: Duration = 0
    decide_on: str | None = None
    parameters: dict[str, Any] = {}

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
        limits: action name -> [low, high], in the action's units.
        slew: action name -> greatest change per second.
    """

    limits: dict[str, tuple[float, float]] = {}
    slew: dict[str, Annotated[float, Field(gt=0.0)]] = {}


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
    heading: tuple[float, float] = (-3.141592653589793, 3.141592653589793)
    speed: tuple[float, float] = (0.0, 0.0)

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
    """Agents that are alike: how they move, what they sense, what decides for them."""

    count: Annotated[int, Field(ge=1, le=1000)] = 1
    team: str
    dynamics: SerializeAsAny[DynamicsSpec]
    start: StartSpec = StartSpec()
    sensors: dict[str, SerializeAsAny[SensorSpec]] = {}
    policy: PolicySpec
    action: ActionTiming = ActionTiming()
    gate: GateSpec = GateSpec()
    observe: ObserveSpec = ObserveSpec()

    @field_validator("dynamics", mode="before")
    @classmethod
    def _read_dynamics(cls, value: Any) -> Any:
        return _plugin("pe_sim.dynamics", "model", DynamicsSpec)(value)

    @field_validator("sensors", mode="before")
    @classmethod
    def _read_sensors(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise PydanticCustomError("sensors", "must map a sensor's name to its settings")
        parse = _plugin("pe_sim.sensors", "kind", SensorSpec)
        sensors = {}
        for name, settings in value.items():
            if not str(name).isidentifier():
                raise PydanticCustomError(
                    "name", "{name}: a sensor's name is part of a topic: letters, digits, _", {"name": repr(name)}
                )
            try:
                sensors[name] = parse(settings)
            except ValidationError as fault:
                error = as_engagement_error(fault, str(name))
                raise PydanticCustomError("sensor", "{text}", {"text": str(error)}) from fault
            except PydanticCustomError as fault:
                raise PydanticCustomError("sensor", "{text}", {"text": f"{name}: {fault.message()}"}) from fault
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


class LockstepSpec(Strict):
    """What the world does in lockstep when a due decision does not come.

    Attributes:
        missing: hold (go on with the action in effect) or abort the episode.
        time_limit: wall time to wait for it [s].
    """

    missing: Literal["hold", "abort"] = "abort"
    time_limit: Annotated[Duration, Field(gt=0)] = to_nanoseconds(Fraction(10))


class Engagement(Strict):
    """A whole engagement, as the file states it."""

    engagement: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    world: SerializeAsAny[WorldSpec]
    rules: RulesSpec = RulesSpec()
    roles: Annotated[dict[str, RoleSpec], Field(min_length=1)]
    lockstep: LockstepSpec = LockstepSpec()

    @field_validator("world", mode="before")
    @classmethod
    def _read_world(cls, value: Any) -> Any:
        return _plugin("pe_sim.worlds", "backend", WorldSpec)(value)

    @model_validator(mode="after")
    def _consistent(self) -> Engagement:
        if not 1 <= self.horizon <= MAX_TICKS:
            raise PydanticCustomError("time", "rules.time_limit: must be 1 to 5,000,000 ticks of world.tick")
        world = registry.lookup("pe_sim.worlds", self.world.backend)
        for name, role in self.roles.items():
            if not name.isidentifier() or name.startswith("_"):
                raise PydanticCustomError("name", "roles.{name}: letters, digits and _ only", {"name": name})
            self._check_role(name, role, world)
        self.rules.check({role.team for role in self.roles.values()}, self.horizon)
        world.check(self)
        return self

    def _check_role(self, name: str, role: RoleSpec, world: Any) -> None:
        model = registry.lookup("pe_sim.dynamics", role.dynamics.model)
        if model.world != self.world.backend:
            raise PydanticCustomError(
                "dynamics",
                "roles.{role}.dynamics.model: {model} belongs to the world {other}, not {world}",
                {"role": name, "model": role.dynamics.model, "other": model.world, "world": self.world.backend},
            )
        trains = {f"sensors.{sensor}": spec.rate for sensor, spec in role.sensors.items()}
        trains["policy"] = role.trigger.rate
        for key, rate in trains.items():
            if NANOSECONDS < rate * self.world.tick:  # exactly: two due times must never meet in one tick
                raise PydanticCustomError(
                    "rate", "roles.{role}.{key}.rate: faster than the world's tick", {"role": name, "key": key}
                )
        for sensor, spec in role.sensors.items():
            registry.lookup("pe_sim.sensors", spec.kind).check(self, name, sensor)

    @property
    def horizon(self) -> int:
        """Last tick of an episode."""
        if self.rules.max_step is not None:
            return self.rules.max_step
        return ceil_tick(self.rules.time_limit, self.world.tick)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """Names of all agents in order: '<role>_<number>'."""
        return tuple(f"{name}_{i}" for name, role in self.roles.items() for i in range(role.count))

    @cached_property
    def role_ranges(self) -> dict[str, tuple[int, int]]:
        """Role -> (index of its first agent, index after its last)."""
        ranges, first = {}, 0
        for name, role in self.roles.items():
            ranges[name] = (first, first + role.count)
            first += role.count
        return ranges

    def role_of(self, agent: str) -> str:
        """Return the role of an agent.

        Raises:
            EngagementError: if there is no such agent.
        """
        if agent not in self.agents:
            raise EngagementError("agent", "no such agent in this engagement", agent, nearest(agent, self.agents))
        return agent.rpartition("_")[0]

    @cached_property
    def teams(self) -> tuple[str, ...]:
        """Team of each agent, in the order of :attr:`agents`."""
        return tuple(role.team for role in self.roles.values() for _ in range(role.count))

    def resolved(self) -> dict[str, Any]:
        """Return everything, defaults filled in, as plain data that :func:`parse` reads back to an equal engagement."""
        return self.model_dump(mode="json")

    @cached_property
    def sha256(self) -> str:
        """Hash of the resolved engagement, seed left out: two files that mean the same have the same hash."""
        data = self.resolved()
        data.pop("seed")
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def parse(data: Any, name: str = "engagement") -> Engagement:
    """Return an engagement from plain data.

    Raises:
        EngagementError: with the path of the key, the rule, the value and the nearest valid name.
    """
    if not isinstance(data, dict):
        raise EngagementError(name, "must be a mapping of keys", data)
    try:
        return Engagement.model_validate(data)
    except ValidationError as fault:
        raise as_engagement_error(fault, name) from fault


def override(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of plain data with dotted keys replaced, e.g. {'world.tick': '20 ms'}."""
    out = json.loads(json.dumps(data))
    for path, value in changes.items():
        *parents, last = path.split(".")
        section = out
        for key in parents:
            section = section.setdefault(key, {})
            if not isinstance(section, dict):
                raise EngagementError(path, "cannot be set: a part of the path is not a section", key)
        section[last] = value
    return out


def load(path: str | Path, changes: dict[str, Any] | None = None) -> Engagement:
    """Read and validate an engagement file.

    Args:
        path: a YAML file.
        changes: dotted keys to replace before validation.

    Raises:
        EngagementError: if the file is missing, no YAML, or invalid.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "is not UTF-8 text"
        raise EngagementError(str(path), f"cannot be read: {reason}", cure="give the path of a YAML file") from fault
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as fault:
        raise EngagementError(str(path), f"is no valid YAML: {' '.join(str(fault).split())}") from fault
    if changes and isinstance(data, dict):
        data = override(data, changes)
    return parse(data, str(path))
