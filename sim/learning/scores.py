"""What the outcome of an engagement is worth to those who chase."""

from __future__ import annotations

from pe_sim.rules import CAPTURE, OUTCOMES

PURSUERS_SCORE = {
    "capture": 1.0, "pursuers_win": 1.0, "timeout": 0.0, "escape": 0.0, "evaders_win": 0.0, "failure": 0.5,
    "mutual_loss": 0.5,
}
"""What a game is worth to the team that chases; to the other, the rest of 1. Outcomes not named do not count."""


def pursuers_score(outcome: int, duration: int, par: int | None) -> float | None:
    """Return the score of those who chase; None where the game does not count.

    Args:
        outcome: index into :data:`pe_sim.rules.OUTCOMES`.
        duration: of the game [ns].
        par: a capture that took longer is lost [ns]; None for no such limit.
    """
    if outcome == CAPTURE and par is not None and duration > par:
        return 0.0
    return PURSUERS_SCORE.get(OUTCOMES[outcome])
