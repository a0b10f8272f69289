"""MAPPO: proximal policy optimisation with a critic that sees what the whole team sees (Yu et al., 2022).

The critic's input is the observation vectors of all learning agents of the team, one after another, of whatever
lengths; own past actions in them are left out, so that a value never depends on actions. It has one output for each
agent. The actor sees its own agent's observation only and flies without any of this.
"""

from __future__ import annotations

from typing import ClassVar

from pe_sim.learning.ippo import Ippo


class Mappo(Ippo):
    """Actor and centralised critic of agents that share parameters."""

    seen_by_critic: ClassVar[str] = "team"

    @property
    def heads(self) -> int:
        """Number of the critic's outputs: one for each agent, since all are judged by the same input."""
        return len(self.slots)
