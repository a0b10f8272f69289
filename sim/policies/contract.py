"""The contract between a trained policy and the agents it flies: sensors, rates, latencies, action, dynamics.

What a policy was trained with is written down in its bundle; what an agent offers follows from the engagement file.
The two must say the same, or the policy is refused with the differences side by side.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from pe_sim.errors import ContractError
from pe_sim.policies.base import PolicyContext
from pe_sim.quantities import Duration, Rate
from pe_sim.schema import Strict

ACCEPTABLE = ("dynamics", "latency", "rate")
"""Differences that a user may accept: the policy then flies in a world other than the one it was trained in."""


class SensorContract(Strict):
    """A sensor as the policy knows it.

    Attributes:
        name: its name in the engagement file.
        kind: sensor kind.
        frame: 'body' or 'world'.
        fields: one name per value; other agents are 'opponent_<i>' and 'teammate_<i>', in order of their names.
        units: one per value.
        rate: readings per second [Hz].
        latency: from the measurement to its arrival [s].
    """

    name: str
    kind: str
    frame: str
    fields: tuple[str, ...]
    units: tuple[str, ...]
    rate: Rate
    latency: Duration


class ActionContract(Strict):
    """The action as the policy knows it; see :class:`pe_sim.actions.ActionSpec`.

    Attributes:
        latency: from the decision to its effect [s].
    """

    kind: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    choices: int = 0
    frame: str
    latency: Duration


class Contract(Strict):
    """What an agent must be like for a policy to fly it.

    Attributes:
        sensors: in order.
        action: what it can do.
        rate: decisions per second [Hz], None where a sensor triggers them.
        decide_on: the sensor whose readings trigger decisions.
        dynamics: model and limits of its motion.
    """

    sensors: tuple[SensorContract, ...]
    action: ActionContract
    rate: Rate | None = None
    decide_on: str | None = None
    dynamics: dict[str, Any] = Field(default_factory=dict)


def contract_of(context: PolicyContext, place: int = 0) -> Contract:
    """Return what the agent in a place of the context offers."""
    return Contract(
        sensors=tuple(_sensor(context, place, i) for i in range(len(context.layouts[place]))),
        action=ActionContract.model_construct(
            kind=context.action.kind, names=context.action.names, units=context.action.units,
            low=tuple(float(v) for v in context.action.low), high=tuple(float(v) for v in context.action.high),
            choices=context.action.choices, frame=context.action.frame, latency=context.latency,
        ),
        rate=context.rate,
        decide_on=context.decide_on,
        dynamics=json.loads(json.dumps(context.limits, default=str)),
    )


def _sensor(context: PolicyContext, place: int, index: int) -> SensorContract:
    layout = context.layouts[place][index]
    spec = context.sensors[layout.sensor]
    return SensorContract.model_construct(
        name=layout.sensor, kind=layout.kind, frame=layout.frame, units=layout.units,
        fields=tuple(generalised(context, place, name) for name in layout.fields), rate=spec.rate, latency=spec.latency,
    )


def generalised(context: PolicyContext, place: int, field: str) -> str:
    """Return a field's name with the names of agents replaced by what they are to this agent."""
    myself = context.agents[place]
    names = {myself: "self"}
    names.update({name: f"opponent_{i}" for i, name in enumerate(context.opponents)})
    names.update({name: f"teammate_{i}" for i, name in enumerate(n for n in context.teammates if n != myself)})
    return ".".join(names.get(part, part) for part in field.split("."))


def differences(policy: Contract, agent: Contract) -> list[tuple[str, str, str]]:
    """Return (key, what the policy was trained with, what the agent has) for everything that differs."""
    trained, found = _flat(policy), _flat(agent)
    keys = [*trained, *(key for key in found if key not in trained)]
    return [(k, trained.get(k, "-"), found.get(k, "-")) for k in keys if trained.get(k) != found.get(k)]


def _flat(contract: Contract) -> dict[str, str]:
    out = {"sensors": ", ".join(sensor.name for sensor in contract.sensors)}
    for sensor in contract.sensors:
        plain = sensor.model_dump(mode="json")
        plain.pop("name")
        fields, units = plain.pop("fields"), plain.pop("units")
        out.update({f"sensors.{sensor.name}.{key}": str(value) for key, value in plain.items()})
        for i, (name, unit) in enumerate(zip(fields, units, strict=True)):
            out[f"sensors.{sensor.name}.fields[{i}]"] = f"{name} [{unit}]"
    for key, value in contract.action.model_dump(mode="json").items():
        out[f"action.{key}"] = ", ".join(str(v) for v in value) if isinstance(value, list) else str(value)
    out["decisions.rate"] = "-" if contract.rate is None else f"{contract.rate} Hz"
    out["decisions.decide_on"] = contract.decide_on or "-"
    out.update({f"dynamics.{key}": json.dumps(value) for key, value in contract.dynamics.items()})
    return out


def group_of(key: str) -> str:
    """Return the kind of difference a key stands for: one of :data:`ACCEPTABLE`, or 'layout' or 'action'."""
    if key.startswith("dynamics."):
        return "dynamics"
    last = key.rpartition(".")[2]
    if last in ("latency", "rate"):
        return last
    return "action" if key.startswith("action.") else "layout"


def table(rows: list[tuple[str, str, str]]) -> str:
    """Return differences side by side, one line each."""
    lines = [("", "policy", "agent"), *rows]
    first, second = (max(len(line[i]) for line in lines) for i in (0, 1))
    return "\n".join(f"  {key:<{first}}  {mine:<{second}}  {other}" for key, mine, other in lines)


def require_fit(name: str, policy: Contract, context: PolicyContext, accept: tuple[str, ...] = ()) -> None:
    """Refuse a policy that does not fit every agent of a context.

    Args:
        name: the policy's name for the message.
        policy: what it was trained with.
        context: the agents.
        accept: groups of differences to let pass, out of :data:`ACCEPTABLE`.

    Raises:
        ContractError: with the differences side by side.
    """
    for place, agent in enumerate(context.agents):
        rows = [r for r in differences(policy, contract_of(context, place)) if group_of(r[0]) not in accept]
        if not rows:
            continue
        groups = sorted({group_of(row[0]) for row in rows})
        cure = "train or choose a policy for this agent, or change the agent"
        if set(groups) <= set(ACCEPTABLE):
            cure += f"; to fly it nevertheless: parameters: {{accept: [{', '.join(groups)}]}}"
        raise ContractError(name, f"does not fit {agent} in {', '.join(groups)}:\n{table(rows)}\n", cure=cure)
