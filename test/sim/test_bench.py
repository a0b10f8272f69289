"""The benchmark of the simulation: what it measures is what it says, and a missing rival is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pe_sim.bench import sim as bench
from pe_sim.bench.rivals import Rival, own_python, rivals_python
from pe_sim.envs.check import check_engagement
from pe_sim.envs.findings import worst
from pe_sim.errors import ContractError


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "BATCH", 32)


def contender(name: str, *rates: float) -> bench.Contender:
    return bench.Contender(name, lambda calls: (1.0, calls), list(rates))


def test_the_grid_needs_twenty_million_or_four_hundred_times_the_loop() -> None:
    fast = bench.grid_figure(contender("grid", 1e6, 25e6, 30e6), contender("loop", 1e6))
    assert (fast.value, fast.goal, fast.holds) == (25e6, 20e6, True)
    slow_machine = bench.grid_figure(contender("grid", 8e6), contender("loop", 1e4))
    assert (slow_machine.ratio, slow_machine.goal, slow_machine.holds) == (800.0, 400, True)
    assert bench.grid_figure(contender("grid", 8e6), contender("loop", 1e5)).holds is False


@pytest.mark.parametrize(
    "engagement", [bench.grid_engagement(sensors=False), bench.grid_engagement(sensors=True), bench.tag_engagement()]
)
def test_engagements_of_the_benchmark_run_and_every_running_one_counts(engagement: bench.Engagement) -> None:
    assert worst(check_engagement(engagement)) != "error"
    seconds, steps = bench.batched(engagement, "x").run(5)
    assert seconds > 0.0
    assert 0.9 * 32 * 5 < steps <= 32 * 5


def test_the_tag_team_is_the_rivals_and_sees_what_they_see() -> None:
    engagement = bench.tag_engagement()
    assert engagement.teams == ("pursuers",) * 3 + ("evaders",)
    assert all(role.sensors["tracker"].targets == "everyone" for role in engagement.roles.values())  # type: ignore[attr-defined]


def test_contenders_take_turns() -> None:
    order: list[str] = []

    def one(name: str, speed: float) -> bench.Contender:
        def run(calls: int) -> tuple[float, int]:
            order.append(name)
            return calls / speed, calls

        return bench.Contender(name, run)

    first, second = one("a", 100.0), one("b", 10.0)
    bench.take_turns([first, second], 1.0, 3)
    assert order[-6:] == ["a", "b"] * 3
    assert (first.rate, second.rate) == (100.0, 10.0)


def test_the_plain_loop_takes_turns_in_a_process_of_its_own() -> None:
    with Rival(own_python(), "dict_grid.py") as loop:
        assert loop.seconds(200) > 0.0
        assert loop.seconds(1) > 0.0
        process = loop._process
    assert process.returncode == 0


def test_rivals_that_cannot_be_installed_are_named_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"cannot be installed.*pip install"):
        rivals_python(tmp_path / "rivals", ("./no-such-directory",))
