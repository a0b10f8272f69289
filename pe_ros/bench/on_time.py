"""How many decisions of a real-time run are on time: in the world's hands before the next one is due."""

from __future__ import annotations

import time

import numpy as np

from pe_ros.action_codec import ActionRecord
from pe_ros.composition import Composition
from pe_ros.msg import Action


class OnTime:
    """Listens to the commands that the world receives.

    Counted are the decisions after which another would be due before the engagement ends: those of the last moments
    have no time to be on time in.

    Args:
        run: the engagement, in which nobody ends before the others.
    """

    def __init__(self, run: Composition) -> None:
        self._run = run
        self._roles = run.engagement.roles
        self._heard: list[tuple[int, int]] = []  # when the next decision is due, and whether this one came before
        self._periods = {
            f"{name}_{i}": role.trigger.period for name, role in self._roles.items() for i in range(role.count)
        }
        run.sim.on_command = self._hear

    def _hear(self, agent: str, record: ActionRecord) -> None:
        if record.mode == Action.MODE_EXECUTE:  # not the stops of a gate whose policy is late
            following = record.stamp + self._periods[agent]
            self._heard.append((following, int(time.time_ns() <= following)))

    def share(self) -> float:
        """Return the share of decisions on time, in percent, once the engagement has ended."""
        elapsed, tick = self._run.referee.view.elapsed, self._run.engagement.world.tick
        due = 0
        for role in self._roles.values():
            instants = np.flatnonzero(role.trigger.on_ticks(tick, self._run.engagement.horizon).due) * tick
            due += role.count * int(np.count_nonzero(instants + role.trigger.period <= elapsed))
        end = self._run.referee.start + elapsed
        return 100.0 * sum(ok for following, ok in self._heard if following <= end) / due
