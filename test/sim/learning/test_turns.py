"""Turned copies keep all that is said in body axes, and change nothing but the heading of an attitude."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import EngagementError
from pe_sim.learning.turns import Turns

NAMES = ("radar.range", *(f"own.attitude_{axis}" for axis in "xyzw"), "own.velocity_x")


def axes_in_world(attitude: torch.Tensor) -> torch.Tensor:
    """Return the body's x axis in the world, and the world's z axis in the body, (R, 6)."""
    x, y, z, w = attitude.T
    forward = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    upward = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return torch.stack(forward + upward, dim=1)


def turned_rows() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(2000, len(NAMES), generator=generator, dtype=torch.float64)
    rows[:, 1:5] /= rows[:, 1:5].norm(dim=1, keepdim=True)
    return rows, Turns(NAMES).turned(rows, generator)


def test_what_is_up_and_what_is_seen_stay():
    rows, turned = turned_rows()
    before, after = axes_in_world(rows[:, 1:5]), axes_in_world(turned[:, 1:5])
    assert torch.allclose(before[:, 2:], after[:, 2:], atol=1e-6)
    assert torch.equal(rows[:, [0, 5]], turned[:, [0, 5]])


def test_headings_come_to_lie_everywhere_and_signs_with_them():
    rows, turned = turned_rows()
    change = [torch.atan2(axes[:, 1], axes[:, 0]) for axes in map(axes_in_world, (rows[:, 1:5], turned[:, 1:5]))]
    angle = (change[1] - change[0]) % (2 * torch.pi)
    assert torch.histc(angle, 8, 0, 2 * torch.pi).min() > 150
    same = (rows[:, 1:5] * turned[:, 1:5]).sum(dim=1) > 0
    assert 0.4 < same.double().mean() < 0.6


def test_where_no_attitude_is_told_nothing_can_be_turned():
    with pytest.raises(EngagementError, match="no sensor tells an attitude"):
        Turns(("radar.range", "radar.azimuth"))
