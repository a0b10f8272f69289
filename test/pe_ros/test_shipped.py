"""Shipped files are found by name, from a source tree and from an installed prefix."""

from __future__ import annotations

from pathlib import Path

import pytest

from pe_ros.shipped import engagement_file, engagement_path
from pe_sim.engagement import load
from pe_sim.errors import EngagementError


def test_shipped_engagements_are_found_and_valid():
    for name in ("grid_1v1", "kinematic_3v1", "multirate_2v2"):
        assert load(engagement_file(name)).engagement == name


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(EngagementError, match="did you mean 'grid_1v1'"):
        engagement_file("grid1v1")


def test_a_path_stays_a_path(tmp_path):
    assert engagement_path("nowhere/file.yaml") == Path("nowhere/file.yaml")
    assert engagement_path(str(tmp_path)) == tmp_path
    assert engagement_path("grid_1v1") == engagement_file("grid_1v1")
