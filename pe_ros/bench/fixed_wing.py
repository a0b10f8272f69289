"""``pe-ros bench fixed_wing``: the world over bare JSBSim, and a 2-on-2 in real time on the ROS graph."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pe_ros.bench.on_time import OnTime
from pe_ros.composition import Composition
from pe_ros.discovery import use_profile
from pe_ros.episode_view import EpisodeView
from pe_ros.specs import Options
from pe_sim.bench.figures import Figure


def real_time(engagement: Path, *, quick: bool = False) -> list[Figure]:
    """Run an engagement file (the shipped 2-on-2) in real time and return factor and share of decisions on time.

    A decision is on time when its command is in the world's hands before the next is due.
    """
    use_profile()
    duration = 5.0 if quick else 20.0
    took = 0

    def ended(episode: int, view: EpisodeView) -> None:
        nonlocal took
        del episode, view
        took = time.time_ns() - run.referee.start

    run = Composition(
        Options(str(engagement), pace="realtime", overrides=json.dumps({"rules.time_limit": duration})), on_end=ended
    )
    try:
        on_time = OnTime(run)
        run.run()
        elapsed, share = run.referee.view.elapsed, on_time.share()
    finally:
        run.close()
    note = f"{engagement.stem}, one process, {duration:g} s"
    return [
        Figure("real time on ROS, decisions on time", share, "%", goal=100.0, note=note),
        Figure(
            "real time on ROS, factor", elapsed / took, "x real time", goal=0.995,
            note=f"{note}; engagement time over wall time, from time zero to the word that it has ended",
        ),
    ]
