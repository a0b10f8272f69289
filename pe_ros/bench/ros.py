"""``pe-ros bench ros``: what the ROS graph costs and holds, against bare rclpy relays measured in the same run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from pe_ros.bench import engagements
from pe_ros.bench.on_time import OnTime
from pe_ros.bench.relay import relay_latencies
from pe_ros.composition import Composition
from pe_ros.discovery import use_profile
from pe_ros.episode_view import EpisodeView
from pe_ros.policy_node import PolicyNode
from pe_ros.sensor_node import SensorNode
from pe_ros.specs import Options
from pe_sim.bench.figures import Figure
from pe_sim.timing import seconds

ROUNDS = 3
"""Times that each pair of rivals alternates."""


def run(engagement: Path, *, quick: bool = False) -> list[Figure]:
    """Run the benchmark on an engagement file (the shipped kinematic 3-on-1) and return its figures."""
    use_profile()
    duration = 4.0 if quick else 15.0
    return [
        *_latency(engagement, duration),
        _lockstep(engagement),
        _on_time(engagement, 5.0 if quick else 20.0),
    ]


def _compose(engagement: Path, changes: dict[str, Any], pace: str) -> Composition:
    options = Options(str(engagement), pace=pace, overrides=json.dumps(changes))
    return Composition(options, on_end=_unsaid)


def _unsaid(episode: int, view: EpisodeView) -> None:
    """Keep the referee from logging the end of an episode: the first word of a logger takes 20 ms."""


def _nodes(run: Composition, kind: type) -> list[Any]:
    return [node for node in run.nodes if isinstance(node, kind)]


def _latency(engagement: Path, duration: float) -> list[Figure]:
    """Latency from the publication of a reading to the command decided on it in the world's hands."""
    ours: list[tuple[float, float]] = []
    floor: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        ours.append(_percentiles(_chain_latencies(engagement, duration)))
        floor.append(_percentiles(relay_latencies(int(50 * duration), 50.0)))
    note = f"observation, action and command: three hops, one process, medians of {ROUNDS} rounds"
    return [
        Figure(
            f"observation to command, p{percent}", median(o[i] for o in ours), "ms", median(f[i] for f in floor),
            "bare rclpy relays, same messages", goal=1.5, better="less", note=note,
        )
        for i, percent in enumerate((50, 99))
    ]  # fmt: skip


def _percentiles(latencies: list[float]) -> tuple[float, float]:
    return float(np.percentile(latencies, 50)), float(np.percentile(latencies, 99))


def _chain_latencies(engagement: Path, duration: float) -> list[float]:
    """Return the latencies [ms] of one real-time run, its first second left out."""
    run = _compose(engagement, engagements.chain(duration), "realtime")
    sent: dict[int, float] = {}
    latencies: list[float] = []
    try:
        sensors = next(node for node in _nodes(run, SensorNode) if node.agent == "pursuer_0")
        publisher = sensors.outputs["radar"]
        publish = publisher.publish

        def watched(message: bytes) -> None:
            sent[len(sent)] = time.perf_counter()
            publish(message)

        publisher.publish = watched
        policy = next(node for node in _nodes(run, PolicyNode) if node.agent == "pursuer_0")
        place = policy.sensor_names.index("radar")

        def heard(agent: str, record: Any) -> None:
            if agent == "pursuer_0":
                offset, form, count = record.places.of["observation_sequences"]
                number = form.unpack_from(record.data, offset)[place] if count else -1  # a stop names no readings
                if number >= 50:
                    latencies.append((time.perf_counter() - sent[number]) * 1e3)

        run.sim.on_command = heard
        run.run()
    finally:
        run.close()
    return latencies


def _lockstep(engagement: Path) -> Figure:
    """Engagement seconds per wall second in lockstep."""
    factors = []
    for _ in range(ROUNDS):
        run = _compose(engagement, engagements.lockstep(), "lockstep")
        try:
            begin = time.perf_counter()
            run.run()
            factors.append(seconds(run.referee.view.elapsed) / (time.perf_counter() - begin))
        finally:
            run.close()
    return Figure(
        "lockstep 3-on-1, 20 Hz decisions", median(factors), "x real time", goal=15.0,
        note=f"one process, over topics; median of {ROUNDS} runs of 20 s",
    )  # fmt: skip


def _on_time(engagement: Path, duration: float) -> Figure:
    """Share of due decisions whose command reached the world before the next was due."""
    run = _compose(engagement, engagements.ten_agents(duration), "realtime")
    try:
        on_time = OnTime(run)
        run.run()
        share = on_time.share()
    finally:
        run.close()
    return Figure(
        "ten agents at 50 Hz, decisions on time", share, "%", goal=99.5,
        note=f"one process, {duration:g} s; in the world's hands before the next decision is due",
    )  # fmt: skip


