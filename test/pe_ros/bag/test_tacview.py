"""A recorded engagement as an ACMI file: every instant at which all were recorded, of one episode."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros.bag.tacview import export
from pe_ros.composition import Composition
from pe_ros.specs import Options
from pe_sim.errors import BagError, EngagementError
from pe_sim.shared_files import engagement_file

pytestmark = pytest.mark.ros


@pytest.fixture
def bag(ros_environment, tmp_path):
    """Three episodes of the grid, recorded in lockstep."""
    directory = tmp_path / "bag"
    ticks = []
    options = Options(str(engagement_file("grid_1v1")), pace="lockstep", episodes=3, seed=1, record=str(directory))
    run = Composition(options, lambda _, view: ticks.append(view.ticks))
    try:
        run.run()
    finally:
        run.close()
    return directory, ticks


def test_each_instant_of_an_episode_is_a_frame(bag, tmp_path):
    directory, ticks = bag
    for episode, count in enumerate(ticks):
        path = tmp_path / f"{episode}.acmi"
        assert export(directory, path, episode) == count + 1
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        assert lines[:2] == ["FileType=text/acmi/tacview", "FileVersion=2.2"]
        times = [float(line[1:]) for line in lines if line.startswith("#")]
        assert times == pytest.approx([0.1 * i for i in range(count + 1)])


def test_nothing_is_overwritten_and_what_is_missing_is_said(bag, tmp_path):
    directory, _ = bag
    path = tmp_path / "a.acmi"
    path.write_text("mine")
    with pytest.raises(EngagementError, match="exists already"):
        export(directory, path)
    assert path.read_text() == "mine"
    with pytest.raises(BagError, match="episodes in it: 0, 1, 2"):
        export(directory, tmp_path / "b.acmi", 7)
    with pytest.raises(BagError, match="does not exist"):
        export(tmp_path / "nowhere", tmp_path / "c.acmi")
