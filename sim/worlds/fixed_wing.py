"""Fixed-wing world: aircraft of JSBSim, any type it ships, flown by surfaces or through an autopilot.

Frames: the world is a plane (x east, y north, z up) level at its geodetic origin, so that at 10 km from there the
ground lies 8 m below z = 0. Heights that an aircraft is told count from the origin's height along the curved Earth, as
an altimeter does. Headings count counter-clockwise from east, as everywhere.

Actions of kind ``flight`` (guidance): heading or bank [rad; bank positive to the right], altitude [m], climb [m/s] or
load factor, and true airspeed [m/s]. Actions of kind ``surfaces``: aileron, elevator, rudder in [-1, 1], throttle in
[0, 1], JSBSim's normalised commands: positive turns the aircraft positively about its FLU axes, so aileron rolls it to
the right, elevator pushes its nose down, rudder swings its nose to the left. Without a command (COAST, STOP) an
autopilot keeps the heading, height and airspeed it had; surfaces stay as trimmed at the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pe_sim import streams
from pe_sim.actions import ActionSpec, Mode, continuous
from pe_sim.arrays import Array, Vector
from pe_sim.errors import EngagementError, PeError
from pe_sim.state import State
from pe_sim.worlds.base import Command, World, WorldSpec
from pe_sim.worlds.jsbsim import library
from pe_sim.worlds.jsbsim.air import seed_of
from pe_sim.worlds.jsbsim.aircraft import Failure
from pe_sim.worlds.jsbsim.command_log import CommandLog
from pe_sim.worlds.jsbsim.fleet import Fleet, FleetArrays
from pe_sim.worlds.jsbsim.pool import FleetPool
from pe_sim.worlds.jsbsim.setting import check_start, flight_spec, surroundings
from pe_sim.worlds.jsbsim.spec import AircraftSpec, FixedWingSpec
from pe_sim.worlds.placement import place_agents

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

FAILURES = tuple(failure.name.lower() if failure else "" for failure in Failure)
"""Names of the failure codes: '', diverged, ground_contact, overstress, stall, left_area."""


class FixedWingWorld(World):
    """Steps JSBSim aircraft one by one behind the arrays of a batch, here or in worker processes.

    Attributes:
        failure_reasons: code of each agent's failure, index into ``failure_names``, int8 (N, B).
        failure_names: names of the codes.
    """

    name: ClassVar[str] = "fixed_wing"
    Parameters: ClassVar[type[WorldSpec]] = FixedWingSpec
    failure_names: ClassVar[tuple[str, ...]] = FAILURES
    outside: ClassVar[frozenset[str]] = frozenset({"_fleet", "_log"})

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        library.load()
        super().__init__(engagement, batch, xp)
        spec = engagement.world
        assert isinstance(spec, FixedWingSpec)
        self._spec = spec
        by_role = {name: flight_spec(engagement, name) for name in engagement.roles}
        specs = tuple(by_role[engagement.role_of(agent)] for agent in engagement.agents)
        around = surroundings(spec)
        self._fleet: Fleet | FleetPool
        if spec.workers:
            self._fleet = FleetPool(specs, around, batch, spec.workers)
            self._arrays = self._fleet.arrays
        else:
            self._arrays = FleetArrays.make(len(specs), batch)
            self._fleet = Fleet(specs, around, self._arrays)
        self._arrays.state[6] = 1.0
        self._arrays.mode[...] = int(Mode.COAST)
        self.state = State(xp.asarray(self._arrays.state))
        self.failed = xp.zeros((len(specs), batch), dtype=xp.bool)
        self.failure_reasons = self._arrays.failure
        self._log: CommandLog | None = None

    @classmethod
    def check(cls, engagement: Engagement) -> None:
        """Refuse starts outside the area, below ground, or where the aircraft cannot fly level."""
        for name in engagement.roles:
            check_start(engagement, name)

    def action_spec(self, role: str) -> ActionSpec:
        """Return surfaces, or the three values of guidance."""
        spec = self.engagement.roles[role].dynamics
        assert isinstance(spec, AircraftSpec)
        if spec.action == "surfaces":
            stick = dict.fromkeys(("aileron", "elevator", "rudder"), ("1", -1.0, 1.0))
            return continuous("surfaces", {**stick, "throttle": ("1", 0.0, 1.0)}, frame="body")
        area = self._spec.area
        vertical = {
            "altitude": ("m", area.low[2], area.high[2]),
            "climb": ("m/s", -spec.max_climb, spec.max_climb),
            "load_factor": ("1", *spec.load_factor),
        }[spec.vertical]
        return continuous(
            "flight",
            {spec.lateral: ("rad", -math.pi, math.pi), spec.vertical: vertical, "airspeed": ("m/s", *spec.airspeed)},
        )

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Draw places, headings and airspeeds, and begin every flight in a fresh JSBSim.

        Raises:
            EngagementError: if an aircraft cannot begin where the draw puts it.
        """
        xp, arrays = self.xp, self._arrays
        where = np.arange(self.batch) if rows is None else np.asarray(rows)
        for agent, place in enumerate(place_agents(self.engagement, xp, keys, self._propose)):
            for axis in range(3):
                arrays.start[axis, agent, where] = np.asarray(place[axis])
        motion = streams.derive(keys, streams.name_key("start_motion"))
        air = streams.derive(keys, streams.name_key("turbulence"))
        for agent, name in enumerate(self.engagement.agents):
            start = self.engagement.roles[self.engagement.role_of(name)].start
            key = streams.derive(motion, streams.name_key(name))
            for value, limits in enumerate((start.heading, start.speed)):
                draw = np.asarray(streams.uniform(xp, key, 0, value))
                arrays.start[3 + value, agent, where] = limits[0] + (limits[1] - limits[0]) * draw
            seeds = np.asarray(streams.bits(streams.derive(air, streams.name_key(name)), 0, 0)).tolist()
            arrays.seed[agent, where] = [seed_of(bits) for bits in seeds]
        arrays.mode[:, where] = int(Mode.COAST)
        arrays.restart[...] = False
        arrays.restart[where] = True
        if self._log is not None:
            self._log.begin(where)
        try:
            self._fleet.restart()
        except EngagementError as fault:
            raise EngagementError(f"roles: {fault.name}", fault.rule, fault.value, fault.cure) from fault
        self._note_failures()

    def _propose(self, agent: int, key: Array, attempt: int) -> Vector:
        role = self.engagement.role_of(self.engagement.agents[agent])
        start = self.engagement.roles[role].start
        zero = self.xp.zeros(key.shape, dtype=self.xp.float64)
        if start.points is not None:
            point = start.points[agent - self.engagement.role_ranges[role][0]]
            return (zero + point[0], zero + point[1], zero + point[2])
        assert start.low is not None
        assert start.high is not None
        x, y, z = (
            low + (high - low) * streams.uniform(self.xp, key, attempt, axis)
            for axis, (low, high) in enumerate(zip(start.low, start.high, strict=True))
        )
        return (x, y, z)

    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Fly one tick."""
        arrays = self._arrays
        for role, command in commands.items():
            first, last = self.engagement.role_ranges[role]
            values = np.asarray(command.values)
            arrays.action[: values.shape[0], first:last] = values
            arrays.mode[first:last] = int(Mode.EXECUTE) if command.mode is None else np.asarray(command.mode)
        arrays.active[...] = True if active is None else np.asarray(active)
        if self._log is not None:
            self._log.note(arrays)
        self._fleet.step()
        self._note_failures()

    def _note_failures(self) -> None:
        assert self.failed is not None
        self.failed[...] = self.xp.asarray(self._arrays.failure != 0)

    def failures(self, row: int) -> dict[str, str]:
        """Return agent -> name of the reason for which its flight ended."""
        codes = self.failure_reasons[:, row].tolist()
        return {
            agent: self.failure_names[code] for agent, code in zip(self.engagement.agents, codes, strict=True) if code
        }

    def runs(self) -> list[tuple[Callable[[], bool], int]]:
        """Return JSBSim's bare ``run()`` of every aircraft and how often a tick calls it: the floor of a benchmark.

        Good until the next reset; empty where workers fly.
        """
        if isinstance(self._fleet, FleetPool):
            return []
        return [(flight.aircraft.run, self._spec.substeps) for row in self._fleet.flights for flight in row]

    def remember(self) -> None:
        """Keep what the aircraft are told, so that they can be flown to where they are again."""
        self._log = CommandLog(len(self.engagement.agents), self.batch)

    def shared(self) -> list[Array]:
        """Return the arrays between world and fleet."""
        return list(vars(self._arrays).values())

    def recollection(self) -> dict[str, Array]:
        """Return what the aircraft of the present episodes were told."""
        if self._log is None:
            rule = "has not kept what its aircraft were told"
            raise PeError("world fixed_wing", rule, cure="call remember() before reset()")
        return self._log.state()

    def relive(self, recollection: dict[str, Array], progress: Callable[[int, int], None] | None = None) -> None:
        """Fly every engagement from its start to where it was, under the same commands."""
        if self._log is None:
            self.remember()
        assert self._log is not None
        self._log.restore(recollection)
        self._log.fly(self._arrays, self._fleet.restart, self._fleet.step, progress)

    def close(self) -> None:
        """End the workers, if any."""
        if isinstance(self._fleet, FleetPool):
            self._fleet.close()
