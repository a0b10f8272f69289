"""Shipped files are found by name, from a source tree and from an installed prefix."""

from __future__ import annotations

from pathlib import Path

import pytest

from pe_sim.engagement import load
from pe_sim.errors import EngagementError
from pe_sim.shared_files import engagement_file, shipped_engagements


def test_every_shipped_engagement_is_found_and_valid():
    assert {"grid_1v1", "kinematic_3v1", "multirate_2v2"} <= set(shipped_engagements())
    for name in shipped_engagements():
        if not name.startswith("fixed_wing"):
            assert load(engagement_file(name)).engagement == name


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(EngagementError, match="did you mean 'grid_1v1'"):
        engagement_file("grid1v1")


def test_a_path_stays_a_path(tmp_path):
    assert engagement_file("nowhere/file.yaml") == Path("nowhere/file.yaml")
    assert engagement_file(tmp_path) == tmp_path


def test_an_installed_prefix_is_searched(tmp_path, monkeypatch):
    directory = tmp_path / "share" / "pe_ros" / "config" / "engagements"
    directory.mkdir(parents=True)
    (directory / "mine.yaml").write_text("engagement: mine\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert engagement_file("mine") == directory / "mine.yaml"
