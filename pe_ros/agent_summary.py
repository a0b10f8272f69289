"""What an agent's nodes have counted, for the report at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class AgentSummary:
    """What an agent's nodes have counted over all episodes.

    Attributes:
        readings: sensor -> readings taken.
        missing: sensor -> gaps in its sequence.
        decisions: actions submitted.
        missed_deadlines: decisions not taken because the one before was still under way.
        interventions: actions that the gate changed or refused.
        stale_actions: of these, too old.
        inference_time_mean: [s].
        inference_time_max: [s].
    """

    readings: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    decisions: int = 0
    missed_deadlines: int = 0
    interventions: int = 0
    stale_actions: int = 0
    inference_time_mean: float = 0.0
    inference_time_max: float = 0.0
