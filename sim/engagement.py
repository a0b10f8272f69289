"""The engagement file: one schema that training, the ROS graph and robots all read.

SI units, ENU world frame, FLU body frame, radians; text quantities with units are accepted. See
:func:`load` to read a file and :class:`Engagement` for what it holds.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.errors import EngagementError
from pe_sim.quantities import Duration
from pe_sim.randomise import DrawSpec, resolve
from pe_sim.roles import RoleSpec, plugin
from pe_sim.rules import RulesSpec
from pe_sim.schema import Strict, nearest, refuse_unfit_name, validated
from pe_sim.timing import NANOSECONDS, ceil_tick, to_nanoseconds
from pe_sim.worlds.base import WorldSpec
from pe_sim.worlds.placement import check_points
from pe_sim.yaml_reader import read_yaml

MAX_TICKS = 5_000_000
"""Longest engagement, in ticks: keeps the tables of due times small."""

MAX_TIME = 10**17
"""Longest engagement [ns]: leaves room for delays in 64 bits."""

class LockstepSpec(Strict):
    """What the world does in lockstep when a due decision does not come.

    Attributes:
        missing: hold (go on with the action in effect) or abort the episode.
        time_limit: wall time to wait for it [s].
    """

    missing: Literal["hold", "abort"] = "abort"
    time_limit: Annotated[Duration, Field(gt=0)] = to_nanoseconds(Fraction(10))


class Engagement(Strict):
    """A whole engagement, as the file states it.

    Attributes:
        engagement: its name.
        description: what it is about.
        seed: of the run, unless another is given.
        world: what moves and how.
        rules: how it is judged.
        roles: role -> agents that are alike.
        lockstep: what the world does when a due decision does not come.
        randomise: dotted path of a parameter -> what it is drawn from for every episode.
    """

    engagement: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    world: SerializeAsAny[WorldSpec]
    rules: RulesSpec = RulesSpec()
    roles: Annotated[dict[str, RoleSpec], Field(min_length=1)]
    lockstep: LockstepSpec = LockstepSpec()
    randomise: dict[str, DrawSpec] = Field(default_factory=dict)

    @field_validator("world", mode="before")
    @classmethod
    def _read_world(cls, value: Any) -> Any:
        return plugin("pe_sim.worlds", "backend", WorldSpec)(value)

    @model_validator(mode="after")
    def _consistent(self) -> Engagement:
        if not 1 <= self.horizon <= MAX_TICKS:
            key = "max_step" if self.rules.max_step is not None else "time_limit"
            rule = "rules.{key}: must be 1 to 5,000,000 ticks of world.tick"
            raise PydanticCustomError("time", rule, {"key": key})
        if self.horizon * self.world.tick > MAX_TIME:
            raise PydanticCustomError("time", "rules: an episode must not be longer than 100,000,000 s")
        world = registry.lookup("pe_sim.worlds", self.world.backend)
        for name, role in self.roles.items():
            refuse_unfit_name(name, "a role's name")
            self._check_role(name, role, world)
        self.rules.check(self)
        world.check(self)
        check_points(self)
        if self.randomise:
            self.__dict__["randomise"] = resolve(self)
            world.check_draws(self)
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
            if rate * self.world.tick > NANOSECONDS:  # exactly: two due times must never meet in one tick
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
        plain = self.model_dump(mode="json", exclude={"randomise"})
        if self.randomise:  # left out where nothing is drawn: what such a file means, and its hash, stay as they were
            draws = self.randomise.items()
            plain["randomise"] = {path: draw.model_dump(mode="json", exclude_defaults=True) for path, draw in draws}
        return plain

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
    return validated(Engagement, data, name)


def override(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of plain data with dotted keys replaced, e.g. {'world.tick': '20 ms'}."""
    out: dict[str, Any] = copy.deepcopy(data)
    for path, value in changes.items():
        *parents, last = path.split(".")
        section = out
        for key in parents:
            section = section.setdefault(key, {})
            if not isinstance(section, dict):
                raise EngagementError(path, "cannot be set: a part of the path is not a section", key)
        section[last] = value
    return out


def policy_changes(
    uses: Mapping[str, str | Path], parameters: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the changes that let other policies decide for some roles.

    Args:
        uses: role -> policy.
        parameters: role -> its parameters; default none: those of the policy before go with it.
    """
    changes: dict[str, Any] = {}
    for role, use in uses.items():
        changes[f"roles.{role}.policy.use"] = str(use)
        changes[f"roles.{role}.policy.parameters"] = (parameters or {}).get(role, {})
    return changes


def load(path: str | Path, changes: dict[str, Any] | None = None) -> Engagement:
    """Read and validate an engagement file.

    Args:
        path: a YAML file.
        changes: dotted keys to replace before validation.

    Raises:
        EngagementError: if the file is missing, no YAML, or invalid.
    """
    path = Path(path)
    data = read_yaml(path)
    if changes and isinstance(data, dict):
        data = override(data, changes)
    return parse(data, str(path))
