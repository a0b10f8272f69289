"""A log of commands holds every tick of the present episodes, whatever began anew in between, and only changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.errors import PeError
from pe_sim.worlds.jsbsim import command_log
from pe_sim.worlds.jsbsim.command_log import CommandLog
from pe_sim.worlds.jsbsim.fleet import FleetArrays

AGENTS, BATCH = 2, 3


class Adder:
    """Stands for a fleet: its state is what it was told, weighted by when, so that every tick and its place count."""

    def __init__(self, arrays: FleetArrays) -> None:
        self.arrays, self.begun = arrays, 0

    def restart(self) -> None:
        rows = self.arrays.restart
        self.arrays.state[..., rows] = self.arrays.start[0, :, rows].T
        self.arrays.failure[:, rows] = 0
        self.begun += int(rows.sum())

    def step(self) -> None:
        arrays = self.arrays
        told = arrays.action.sum(axis=0) + 0.5 * arrays.mode
        arrays.state[...] = np.where(arrays.active, 0.75 * arrays.state + told, arrays.state)


def flown(seed: int, ticks: int, changes: float) -> tuple[CommandLog, Adder]:
    rng = np.random.default_rng(seed)
    arrays = FleetArrays.make(AGENTS, BATCH)
    log, fleet = CommandLog(AGENTS, BATCH), Adder(arrays)

    def begin(rows):
        arrays.start[0][:, rows] = rng.normal(size=(AGENTS, len(rows)))
        arrays.mode[:, rows] = 3
        arrays.restart[...] = False
        arrays.restart[rows] = True
        log.begin(rows)
        fleet.restart()

    begin(np.arange(BATCH))
    for _ in range(ticks):
        anew = np.flatnonzero(rng.random(BATCH) < 0.1)
        if len(anew):
            begin(anew)
        if rng.random() < changes:
            row = rng.integers(BATCH)
            arrays.action[..., row] = rng.normal(size=arrays.action.shape[:2])
            arrays.mode[rng.integers(AGENTS), row] = rng.integers(3)
        arrays.active[...] = rng.random((AGENTS, BATCH)) < 0.9
        log.note(arrays)
        fleet.step()
    return log, fleet


def contents(arrays: FleetArrays) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in vars(arrays).items()}


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32), ticks=st.integers(0, 60), changes=st.floats(0.0, 1.0), spare=st.sampled_from([0, 4096])
)
def test_flying_the_log_again_comes_to_the_same_bits(seed, ticks, changes, spare):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_log, "SPARE", spare)
        log, fleet = flown(seed, ticks, changes)
    before, begun, told = contents(fleet.arrays), fleet.begun, []
    again = CommandLog(AGENTS, BATCH)
    again.restore(log.state())
    again.fly(fleet.arrays, fleet.restart, fleet.step, lambda done, total: told.append((done, total)))
    assert all(np.array_equal(before[name], array) for name, array in vars(fleet.arrays).items())
    assert fleet.begun == begun + BATCH
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert all(total == log.ticks.sum() for _, total in told)
    assert not told or told[-1][0] == told[-1][1]


def test_a_log_put_back_goes_on_as_the_first_one():
    log, fleet = flown(1, 40, 0.5)
    again = CommandLog(AGENTS, BATCH)
    again.restore(log.state())
    for one in (log, again):
        one.begin(np.asarray([1]))
        one.note(fleet.arrays)
        one.note(fleet.arrays)
    a, b = log.state(), again.state()
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_what_is_held_takes_no_room():
    arrays, log = FleetArrays.make(AGENTS, BATCH), CommandLog(AGENTS, BATCH)
    log.begin(np.arange(BATCH))
    for _ in range(1000):
        log.note(arrays)
    assert log.state()["tick"].tolist() == [0] * BATCH


def test_changes_of_episodes_before_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(command_log, "SPARE", 10)
    arrays, log = FleetArrays.make(AGENTS, BATCH), CommandLog(AGENTS, BATCH)
    for episode in range(500):
        log.begin(np.arange(BATCH))
        arrays.action[...] = episode
        log.note(arrays)
        assert sum(len(part["row"]) for part in log._parts) <= 10 + 3 * BATCH


def test_a_log_that_leads_elsewhere_is_refused_and_changes_nothing():
    log, fleet = flown(3, 30, 1.0)
    state = log.state()
    state["action"] = state["action"] + 1.0
    before = contents(fleet.arrays)
    again = CommandLog(AGENTS, BATCH)
    again.restore(state)
    with pytest.raises(PeError, match="is not what flying it again comes to"):
        again.fly(fleet.arrays, fleet.restart, fleet.step)
    assert all(np.array_equal(before[name], array) for name, array in vars(fleet.arrays).items())
