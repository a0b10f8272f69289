"""What the tests of the ROS room share."""

from __future__ import annotations

from pathlib import Path

CONFIG = Path(__file__).resolve().parents[2] / "config" / "engagements"
"""The shipped engagement files."""
