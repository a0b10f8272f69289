"""Checks an engagement file for what is allowed and most likely not meant. ``pe-ros env check FILE`` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic_core import PydanticCustomError

from pe_sim.engagement import Engagement, load
from pe_sim.envs.findings import Finding
from pe_sim.errors import PeError
from pe_sim.evaluation.rollout import load_policies
from pe_sim.randomise import bounds, targets
from pe_sim.roles import RoleSpec
from pe_sim.scales import scales_of
from pe_sim.sensors.base import TargetSensorSpec
from pe_sim.sensors.selection import target_indices
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds


def check_engagement(engagement: Engagement | str | Path) -> list[Finding]:
    """Return everything found in an engagement or its file, the gravest first."""
    try:
        chosen = engagement if isinstance(engagement, Engagement) else load(engagement)
        simulation = Simulation(chosen)
        load_policies(simulation)
        simulation.close()
    except PeError as fault:
        return [Finding("error", fault.name, fault.rule, fault.cure)]
    found = [
        *_observations(chosen), *_timing(chosen), *_actions(chosen), *_motion(chosen), *_prizes(chosen),
        *_rewards(chosen), *_sizes(chosen), *_balance(chosen), *_draws(chosen),
    ]
    return sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.level))


def _observations(engagement: Engagement) -> Iterator[Finding]:
    """Yield roles that cannot see whom they are to catch or to flee from."""
    for name, role in engagement.roles.items():
        seen = set()
        for sensor, spec in role.sensors.items():
            if isinstance(spec, TargetSensorSpec):
                seen |= set(target_indices(engagement, name, 0, spec.targets, sensor))
        if not any(engagement.teams[i] != role.team for i in seen):
            yield Finding(
                "warning", f"roles.{name}.sensors", "no sensor measures an opponent: its agents see only themselves",
                "add a sensor of kind relative, radar or bearing",
            )


def _timing(engagement: Engagement) -> Iterator[Finding]:
    """Yield decisions that act on nothing new, and actions that do not last."""
    for name, role in engagement.roles.items():
        period = role.trigger.period
        if role.valid_for < period:
            yield Finding(
                "warning", f"roles.{name}.action.valid_for",
                f"{seconds(role.valid_for):g} s is less than the {seconds(period):g} s between decisions: "
                f"every action expires before the next ({role.action.on_expiry})",
            )
        fastest = max((sensor.rate for sensor in role.sensors.values()), default=None)
        if fastest is not None and role.policy.rate is not None and role.policy.rate > fastest:
            yield Finding(
                "note", f"roles.{name}.policy.rate",
                f"{float(role.policy.rate):g} Hz is faster than its fastest sensor ({float(fastest):g} Hz): "
                "some decisions see nothing new",
            )


def _actions(engagement: Engagement) -> Iterator[Finding]:
    """Yield opponents that do not have the same directions to choose from."""
    moves = {
        name: int(role.dynamics.moves)
        for name, role in engagement.roles.items()
        if hasattr(role.dynamics, "moves")
    }
    for name, count in moves.items():
        for other, fewer in moves.items():
            if engagement.roles[name].team != engagement.roles[other].team and fewer < count:
                yield Finding(
                    "warning", f"roles.{other}.dynamics.moves",
                    f"{fewer} directions against the {count} of {name}: on a diagonal {name} is twice as fast",
                    "give both the same moves, or charge for diagonal ones (rewards term 'diagonal')",
                )


def _top_speed(engagement: Engagement, team: str) -> float | None:
    """Return the greatest speed of a team [m/s], None where a model does not tell it."""
    try:
        speeds = scales_of(engagement)[1]
    except PydanticCustomError:
        return None
    return max(speed for speed, other in zip(speeds, engagement.teams, strict=True) if other == team)


def _motion(engagement: Engagement) -> Iterator[Finding]:
    """Yield engagements that speed, range and time decide before anybody plays."""
    rules, world = engagement.rules, engagement.world
    chase, flee = _top_speed(engagement, rules.pursuers), _top_speed(engagement, rules.evaders)
    if rules.capture.by == "radius" and world.min_start_distance <= rules.capture.radius:
        yield Finding(
            "note", "world.min_start_distance", "an evader may start within the capture radius", "make it larger"
        )
    if chase is None or flee is None or rules.capture.by != "radius":
        return
    if world.backend != "grid" and chase <= flee:
        yield Finding(
            "note", "roles",
            f"the fastest pursuer ({chase:g} m/s) is no faster than the fastest evader ({flee:g} m/s): "
            "in the open it is never caught",
        )
    travel = (chase + flee) * seconds(world.tick)
    if world.backend != "grid" and not rules.capture.swept and travel > 2.0 * rules.capture.radius:
        yield Finding(
            "warning", "rules.capture.swept",
            f"in a tick opponents pass {travel:g} m of each other, more than the capture diameter: captures are missed",
            "set swept: true, or shorten world.tick",
        )
    limit = seconds(engagement.horizon * world.tick)
    if world.min_start_distance - rules.capture.radius > (chase + flee) * limit:
        yield Finding("warning", "rules.time_limit", f"{limit:g} s are too short to meet from min_start_distance")


def _rewards(engagement: Engagement) -> Iterator[Finding]:
    """Yield rewards under which giving up pays."""
    spec, rules = engagement.rules.rewards, engagement.rules
    for team, event in ((rules.evaders, "capture"), (rules.pursuers, "timeout")):
        penalty = sum(term.weight for term in spec.terms if term.team == team and term.term == event)
        cost = min(_running_cost(engagement, role) for role in engagement.roles.values() if role.team == team)
        if cost >= 0.0 or (penalty >= 0.0 and event == "timeout"):
            continue
        ticks = penalty / cost
        if penalty >= 0.0 or ticks < engagement.horizon:
            what = "fleeing costs more than capture" if event == "capture" else "chasing costs more than giving up"
            after = f"after {ticks:.1f} steps" if penalty < 0.0 else "from the first step"
            yield Finding(
                "warning", "rules.rewards", f"{what} {after} of {engagement.horizon}: {team} learn to give up",
                "lower the costs of every tick, or raise the penalty",
            )
    for term in spec.terms:
        if spec.clip is not None and term.term in ("capture", "escape", "timeout", "crash"):
            worth = abs(term.weight * spec.scale)
            if worth > spec.clip:
                yield Finding(
                    "warning", "rules.rewards.clip",
                    f"cuts '{term.term}' of team {term.team} from {worth:g} to {spec.clip:g}", "lower rewards.scale",
                )


def _prizes(engagement: Engagement) -> Iterator[Finding]:
    """Yield events that pay the side that should avoid them."""
    rules = engagement.rules
    wanted = {
        ("capture", rules.pursuers): 1, ("capture", rules.evaders): -1, ("escape", rules.pursuers): -1,
        ("escape", rules.evaders): 1, ("timeout", rules.pursuers): -1,
    }
    for number, term in enumerate(rules.rewards.terms):
        sign = wanted.get((term.term, term.team), -1 if term.term == "crash" else 0)
        if term.weight * sign * rules.rewards.scale < 0.0:
            verb = "pays" if term.weight * rules.rewards.scale > 0.0 else "costs"
            yield Finding(
                "warning", f"rules.rewards.terms.{number}.weight",
                f"'{term.term}' {verb} team {term.team}: it learns to {'seek' if verb == 'pays' else 'avoid'} it",
                "turn the sign of the weight around",
            )


LARGE = 10.0
"""A tick's reward above this is called unscaled: returns of such size slow learning down or upset it."""


def _sizes(engagement: Engagement) -> Iterator[Finding]:
    """Yield roles whose rewards of a tick can be far from the size of 1."""
    spec, tick = engagement.rules.rewards, seconds(engagement.world.tick)
    if spec.clip is not None:
        return
    try:
        longest, speeds = scales_of(engagement)
    except PydanticCustomError:
        return
    for name, (first, _) in engagement.role_ranges.items():
        sizes = {"distance": longest, "speed_squared": speeds[first] ** 2}
        most, what = 0.0, ""
        for term in spec.terms:
            if term.team != engagement.roles[name].team or term.term not in (*sizes, "time"):
                continue
            size = 1.0 if spec.normalise else sizes.get(term.term, 1.0)
            worth = abs(term.weight * spec.scale) * size * (tick if term.per == "second" else 1.0)
            most, what = max((most, what), (worth, term.term))
        if most > LARGE:
            yield Finding(
                "warning", "rules.rewards", f"'{what}' brings {name} up to {most:.3g} a tick: it is not scaled",
                "set normalise: true, a smaller weight or scale, or clip",
            )


def _running_cost(engagement: Engagement, role: RoleSpec) -> float:
    """Return what a tick at full speed brings an agent whatever happens: speed, time and moves, not distances."""
    spec, world = engagement.rules.rewards, engagement.world
    top = getattr(role.dynamics, "max_speed", None)
    # On the grid a straight move is the least there is to flee with.
    speed = float(top) if top is not None else 1.0 / seconds(world.tick)
    total = 0.0
    for term in spec.terms:
        if term.team != role.team:
            continue
        size = {"speed_squared": 1.0 if spec.normalise else speed * speed, "time": 1.0}.get(term.term, 0.0)
        total += term.weight * size * (seconds(world.tick) if term.per == "second" else 1.0)
    return total


def _drawn_speeds(engagement: Engagement, team: str) -> tuple[float, float] | None:
    """Return between which speeds the fastest of a team are drawn [m/s], None where none is."""
    known, found = targets(engagement), []
    for name, role in engagement.roles.items():
        path = f"roles.{name}.dynamics.max_speed"
        if role.team == team and path in known:
            nominal = known[path].nominal
            ends = (nominal, nominal)
            if path in engagement.randomise:
                ends = bounds(known[path], engagement.randomise[path])
            found.append(ends)
    return (max(low for low, _ in found), max(high for _, high in found)) if found else None


def _draws(engagement: Engagement) -> Iterator[Finding]:
    """Yield draws that decide some of the episodes before anybody plays."""
    if not any(path.endswith("dynamics.max_speed") for path in engagement.randomise):
        return
    chase = _drawn_speeds(engagement, engagement.rules.pursuers)
    flee = _drawn_speeds(engagement, engagement.rules.evaders)
    if chase is not None and flee is not None and chase[0] <= flee[1] < chase[1]:
        yield Finding(
            "note", "randomise",
            f"in some episodes the fastest pursuer ({chase[0]:g} m/s) is no faster than an evader ({flee[1]:g} m/s)",
        )


def _balance(engagement: Engagement) -> Iterator[Finding]:
    """Yield games whose rewards do not add up to zero though they look as if they should."""
    spec, rules = engagement.rules.rewards, engagement.rules
    if spec.zero_sum:
        return
    for event in ("capture", "timeout"):
        sums = {
            team: sum(t.weight for t in spec.terms if t.term == event and t.team == team)
            * engagement.teams.count(team)
            for team in (rules.pursuers, rules.evaders)
        }
        total = sum(sums.values())
        if all(sums.values()) and abs(total) > 1e-12:
            yield Finding(
                "note", "rules.rewards", f"at {event} all rewards together are {total:+g}, not zero",
                "set zero_sum: true if it is meant as a zero-sum game",
            )
