"""What the outcome of an engagement is worth to those who chase."""

from __future__ import annotations

PURSUERS_SCORE = {
    "capture": 1.0, "pursuers_win": 1.0, "timeout": 0.0, "escape": 0.0, "evaders_win": 0.0, "failure": 0.5,
    "mutual_loss": 0.5,
}
"""What a game is worth to the team that chases; to the other, the rest of 1. Outcomes not named do not count."""
