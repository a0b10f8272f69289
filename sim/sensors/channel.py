"""A sensor channel: one sensor of the agents of one role, from the true state to readings with stamps.

The same class serves the env (all agents of the role, a batch of engagements) and the sensor node (one agent of one
engagement): what a reading is depends on the state, the keys and its sequence number alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pe_sim import registry
from pe_sim.arrays import Array
from pe_sim.sensors.delays import SensorTiming
from pe_sim.sensors.instrument import Instrument
from pe_sim.sensors.layout import SensorLayout, layout_sha256
from pe_sim.sensors.setting import SensorSetting
from pe_sim.state import State

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

__all__ = ["Reading", "SensorChannel", "SensorLayout", "SensorTiming", "layout_sha256"]


@dataclass
class Reading:
    """Readings of one sensor taken at one instant by n agents in B engagements.

    Attributes:
        values: float32 (D, n, B), 0 where not valid; may be kept but not changed.
        valid: bool (D, n, B); likewise.
        stamp: instant of the measurement [ns], int64 (B,).
        sequence: number within the episode, int64 (B,).
        arrival: instant at which it reaches the agent [ns], int64 (n, B); NEVER where dropped.
        taken: engagements in which a reading was due, bool (B,); None for all.
    """

    values: Array
    valid: Array
    stamp: Array
    sequence: Array
    arrival: Array
    taken: Array | None


class SensorChannel:
    """One sensor of some agents of one role.

    Args:
        engagement: the engagement.
        role: role of the agents.
        sensor: the sensor's name in that role.
        xp: array namespace.
        numbers: which agents of the role (0-based), default all.

    Attributes:
        name: the sensor's name.
        spec: its section of the file.
        timing: when readings are taken and arrive.
        agents: indices of the agents.
        targets: per agent, indices of the other agents whose motion a reading is made from; empty for none.
        width: number of values of a reading.
    """

    def __init__(
        self, engagement: Engagement, role: str, sensor: str, xp: Any, numbers: list[int] | None = None
    ) -> None:
        everybody = range(engagement.roles[role].count)
        setting = SensorSetting(engagement, role, sensor, tuple(everybody if numbers is None else numbers), xp)
        self.name = sensor
        self.spec = setting.spec
        self.agents = setting.agents
        self.timing = SensorTiming(engagement, role, sensor, self.agents, xp)
        kind = registry.lookup("pe_sim.sensors", self.spec.kind)
        self._instrument: Instrument = kind.instrument(setting)
        self.targets = self._instrument.others
        self.width = self._instrument.width

    def layout(self, number: int = 0) -> SensorLayout:
        """Return what the values mean for the agent in place ``number`` of this channel's agents."""
        fields = self._instrument.fields(number)
        names, units = tuple(name for name, _ in fields), tuple(unit for _, unit in fields)
        return SensorLayout(self.name, self.spec.kind, self._instrument.frame, names, units)

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin new episodes with the root keys (int64, (R,)) in the engagements ``rows`` (indices; None for all)."""
        self.timing.reset(roots, rows)
        self._instrument.reset(roots, rows)

    def sample(self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None) -> Reading:
        """Take readings of the present state.

        Args:
            state: state of all agents.
            alive: agents in play, bool (N, B): others are not seen.
            stamp: present instant [ns], int64 (B,).
            sequence: number of the reading due now, int64 (B,).
            taken: engagements in which one is due, or None for all.
        """
        values, valid = self._instrument.read(state, alive, stamp, sequence, taken)
        return Reading(values, valid, stamp, sequence, self.timing.arrival(stamp, sequence), taken)

    @cached_property
    def pending_slots(self) -> int:
        """How many readings can be under way at once."""
        if self.timing.immediate:
            return 0
        return self.timing.longest_delay // self.timing.schedule.schedule.period + 2
