"""``pe-ros bench train``: how fast MAPPO trains, against XuanCe's; how long until it captures; what a decision costs.

An environment step is one joint decision of the learning team in one environment: all three pursuers are told what
they see, all three act, and time goes on. It is counted alike on both sides. XuanCe's environment makes one world tick
per decision, and so does the like-for-like setting here; the shipped engagement makes five, which are told beside it.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_sim.bench.figures import Figure
from pe_sim.bench.rivals import Rival, rivals_directory, rivals_python
from pe_sim.bench.sim import Contender, tag_engagement, take_turns
from pe_sim.engagement import Engagement, override, parse
from pe_sim.errors import ContractError, PluginError
from pe_sim.evaluation.evaluate import evaluate
from pe_sim.learning.spec import TrainingSpec, load_training, parse_training
from pe_sim.learning.trainer import Trainer
from pe_sim.policies.bundle import read
from pe_sim.policies.export import latencies
from pe_sim.policies.loader import bundle_directory
from pe_sim.policies.onnx_graph import GraphBuilder
from pe_sim.shared_files import config_directories

XUANCE = ("xuance==1.4.4", "torch==2.13.0", "mpe2>=0.0.1")
"""What the rival needs; its MAPPO runs on the CPU here as there."""

DECISIONS_PER_S = "joint decisions/s"
TRAINING = "kinematic_3v1_pursuer"
SHARE, LIMIT = 0.95, 600.0


@dataclass(frozen=True)
class Setting:
    """What is alike on both sides.

    Attributes:
        name: for the table.
        width: of each of the two hidden layers of actor and critic.
        epochs: passes over a rollout.
        minibatches: parts of a rollout.
        parallels: environments of the rival; its configurations for MPE say 16.
        transitions: in a rollout of the rival.
        vectorise: how the rival steps its environments.
    """

    name: str
    width: int
    epochs: int
    minibatches: int
    parallels: int
    transitions: int
    vectorise: str


AS_XUANCE = [
    Setting(f"XuanCe 1.4.4 MAPPO, 16 environments, {where}", 64, 1, 1, 16, 400, vectorise)
    for where, vectorise in (("in processes", "SubprocVecMultiAgentEnv"), ("in a loop", "DummyVecMultiAgentEnv"))
]
"""As XuanCe's configurations for MPE say: two layers of 64, one pass, one part, 400 transitions; and in a loop, too."""

AS_SHIPPED = Setting(
    "XuanCe 1.4.4 MAPPO, 128 environments, in a loop", 128, 4, 8, 128, 4096, "DummyVecMultiAgentEnv"
)
"""As the training file that comes with the package says: two layers of 128, four passes, eight parts."""


def tag_training(width: int, epochs: int, minibatches: int) -> tuple[TrainingSpec, Engagement]:
    """Return simple_tag's setting with three learning pursuers and a prey that runs."""
    engagement = parse(override(tag_engagement().resolved(), {"roles.good.policy.use": "guidance/flee"}))
    learner = {
        "network": {"hidden": [width, width]}, "critic": {"hidden": [width, width]}, "epochs": epochs,
        "minibatches": minibatches, "gamma": 0.95, "anneal": False,
    }
    spec = parse_training({
        "training": "bench_tag", "engagement": "bench_tag", "batch": 512, "decisions": 32, "steps": 10**12,
        "roles": {"adversary": learner},
    })
    return spec, engagement


def contender(name: str, spec: TrainingSpec, engagement: Engagement, directory: Path) -> Contender:
    """Return a training that takes turns; a call is one rollout and what is learned from it."""
    trainer = Trainer(spec, engagement, directory)
    trainer.advance()

    def run(calls: int) -> tuple[float, int]:
        decisions, start = 0, time.perf_counter()
        for _ in range(calls):
            trainer.advance()
            decisions += joint_decisions(trainer)
        return time.perf_counter() - start, decisions

    return Contender(name, run)


def joint_decisions(trainer: Trainer) -> int:
    """Return how many joint decisions of the learning team the last rollout was."""
    rollouts = trainer.collector.rollouts
    agents = sum(rollout.open.shape[0] for rollout in rollouts)
    return int(sum(int(rollout.closed.sum()) for rollout in rollouts) / agents)


def rival(stack: ExitStack, python: Path, setting: Setting) -> Contender:
    """Return XuanCe's MAPPO; a call is one step of all of its environments, and what is learned when it is time."""
    words = (setting.parallels, setting.transitions, setting.epochs, setting.minibatches, setting.width)
    process = stack.enter_context(Rival(python, "xuance_mappo.py", *(str(w) for w in words), setting.vectorise, "1"))
    return Contender(setting.name, lambda calls: (process.seconds(calls), calls * setting.parallels))


def shipped_training() -> tuple[TrainingSpec, Engagement]:
    """Return the training file that comes with the package, and its engagement."""
    files = [directory / "train" / f"{TRAINING}.yaml" for directory in config_directories()]
    file = next(file for file in files if file.exists())
    spec = load_training(file)
    return spec, spec.load_engagement(file.parent)


def time_to_capture(directory: Path, limit: float, episodes: int = 200) -> tuple[float, float, float, int]:
    """Train the shipped file until its policy captures 95 % of unseen engagements.

    Returns:
        Time spent on rollouts and learning [s], of that on a processor [s], capture rate when it stopped, joint
        decisions.
    """
    spec, engagement = shipped_training()
    trainer = Trainer(spec, engagement, directory)
    spent, busy, decisions, rate, wait, recent = 0.0, 0.0, 0, 0.0, 0, [0.0, 0.0]
    while spent < limit and not trainer.done:
        start, worked = time.perf_counter(), time.process_time()
        figures = trainer.advance()
        spent += time.perf_counter() - start
        busy += time.process_time() - worked
        decisions += joint_decisions(trainer)
        episodes_now = figures["episodes"]
        recent = [0.9 * recent[0] + figures.get("capture", 0.0) * episodes_now, 0.9 * recent[1] + episodes_now]
        wait -= 1
        if wait > 0 or recent[0] < SHARE * max(recent[1], 1.0):
            continue
        # What is flown is the bundle with its most probable actions, on engagements that training never draws.
        bundles = {role: bundle.path for role, bundle in trainer.write_bundles().items()}
        rate, wait = evaluate(trainer.flown_by(bundles), episodes, seed=spec.seed + 1_000_003).capture_rate, 5
        if rate >= SHARE:
            break
    return spent, busy, rate, decisions


def speed(directory: Path, rivals: Path, *, quick: bool) -> list[Figure]:
    """Return the figures of training speed."""
    turn, turns = (2.0, 3) if quick else (5.0, 7)
    ours = contender("ours", *tag_training(64, 1, 1), directory)
    wide = contender("ours, wide", *tag_training(128, 4, 8), directory)
    spec, engagement = shipped_training()
    shipped = contender("shipped", spec, engagement, directory)
    others: list[Contender] = []
    missing = ""
    with ExitStack() as stack:
        try:
            python = rivals_python(rivals, XUANCE)
            others = [rival(stack, python, setting) for setting in (*AS_XUANCE, AS_SHIPPED)]
        except ContractError as fault:
            missing = f"XuanCe is not installed. {fault}"
        take_turns([ours, wide, shipped, *others], turn, turns)
    role = next(iter(spec.roles))
    ticks = shipped.rate * engagement.roles[role].trigger.period / engagement.world.tick
    same = "MAPPO, kinematic 3-on-1, one tick per decision"
    figures = [
        Figure(f"{same}: 2 x 64, 1 epoch, 1 minibatch", ours.rate, DECISIONS_PER_S, other.rate, other.name, goal=20.0)
        for other in others[:2]
    ] or [Figure(same, ours.rate, DECISIONS_PER_S, note=missing)]
    figures += [
        Figure(
            f"{same}: 2 x 128, 4 epochs, 8 minibatches", wide.rate, DECISIONS_PER_S, other.rate, other.name,
            note="what learning costs outweighs what simulating costs",
        )
        for other in others[2:]
    ]
    note = f"{ticks:,.0f} world ticks/s; sensors at 50 and 20 Hz, latencies, holds"
    return [*figures, Figure(f"the same training as shipped, {TRAINING}", shipped.rate, DECISIONS_PER_S, note=note)]


def capture(directory: Path, *, quick: bool) -> Figure:
    """Return how long it takes to learn to capture."""
    spent, busy, rate, decisions = time_to_capture(directory, 30.0 if quick else 1.5 * LIMIT, 50 if quick else 200)
    name = f"time until {TRAINING} captures 95 % against the scripted evader"
    note = f"{busy:.0f} s on a processor, {decisions:,} joint decisions; then {rate:.1%} of unseen engagements"
    reached = rate >= SHARE
    if quick and not reached:
        return Figure(name, spent, "s", note="not reached in a short run")
    return Figure(name, spent if reached else float("inf"), "s", goal=LIMIT, better="less", note=note)


def decision_latency(*, quick: bool) -> list[Figure]:
    """Return how long one decision of the shipped policy takes by each library, from raw observation to action."""
    bundle = read(bundle_directory(f"policies/{TRAINING}"))
    try:
        model = GraphBuilder(bundle).build().SerializeToString()
    except PluginError as fault:
        return [Figure("one decision of the shipped policy", 0.0, "us", note=str(fault))]
    found = latencies(bundle, model, 1000 if quick else 10_000)
    torch_p50 = found["torch"]["p50"]
    return [
        Figure(
            f"one decision of the shipped policy, {name}, p50", figures["p50"], "us",
            None if name == "torch" else torch_p50, "" if name == "torch" else "torch", better="less",
            note=f"p99 {figures['p99']:.1f} us; one agent, one thread",
        )
        for name, figures in found.items()
    ]


def run(*, quick: bool = False, rivals: Path | None = None) -> list[Figure]:
    """Run the benchmark.

    Args:
        quick: shorter turns, and half a minute of learning to capture.
        rivals: directory of the rival's virtual environment, made if need be; default in the user's cache.
    """
    where = rivals_directory().with_name("bench_xuance") if rivals is None else rivals
    with tempfile.TemporaryDirectory() as directory:
        path: Any = Path(directory)
        return [*speed(path, where, quick=quick), capture(path, quick=quick), *decision_latency(quick=quick)]
