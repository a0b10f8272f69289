"""The process pool: the same flights, faults that come through, and nothing left behind, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pe_sim.errors import EngagementError, PluginError
from pe_sim.worlds.jsbsim.fleet import FleetArrays
from pe_sim.worlds.jsbsim.worker import size_of

from .flying import begun, command, surfaces_duel


def pooled(batch=4, workers=2):
    return begun(surfaces_duel(world={"workers": workers}), batch)


def pids(simulation):
    return [worker.process.pid for worker in simulation.world._fleet._workers]


def gone(pid, patience=10.0):
    """Whether a process ends in time; one that waits to be reaped has ended."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("batch", "workers", "processes"), [(5, 2, 2), (2, 4, 2), (1, 1, 1)])
def test_every_engagement_is_flown_by_one_worker(batch, workers, processes):
    simulation = pooled(batch, workers)
    alone = begun(surfaces_duel(), batch)
    try:
        assert len(pids(simulation)) == processes
        act = command(simulation, pursuer=[0.2, -0.2, 0, 1], evader=[-0.2, -0.1, 0, 1])
        for _ in range(5):
            for each in (simulation, alone):
                each.world.step(act, None)
        assert np.array_equal(simulation.state.block, alone.state.block)
        assert np.array_equal(simulation.world.failure_reasons, alone.world.failure_reasons)
    finally:
        simulation.close()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux binds processes to cores")
@pytest.mark.parametrize("spare", [0, 1])
def test_as_many_workers_as_cores_have_one_each_and_others_go_where_they_like(spare):
    cores = os.sched_getaffinity(0)
    simulation = pooled(len(cores) + spare, len(cores) + spare)
    try:
        theirs = [os.sched_getaffinity(pid) for pid in pids(simulation)]
    finally:
        simulation.close()
    each_its_own = [{core} for core in sorted(cores)]
    assert theirs == (each_its_own if not spare else [cores] * len(theirs))


def test_closing_ends_the_workers_and_can_be_done_twice():
    simulation = pooled()
    workers = pids(simulation)
    simulation.close()
    simulation.close()
    assert all(gone(pid) for pid in workers)
    with pytest.raises(PluginError, match="world fixed_wing: is closed"):
        simulation.world.step(command(simulation, pursuer=[0] * 4, evader=[0] * 4), None)


def test_a_simulation_that_is_forgotten_ends_its_workers():
    simulation = pooled()
    workers = pids(simulation)
    del simulation
    import gc

    gc.collect()
    assert all(gone(pid) for pid in workers)


def test_a_worker_that_dies_is_named_and_takes_the_others_with_it():
    simulation = pooled()
    workers = pids(simulation)
    os.kill(workers[1], signal.SIGKILL)
    assert gone(workers[1])
    with pytest.raises(PluginError, match="worker 1 has ended"):
        simulation.world.step(command(simulation, pursuer=[0] * 4, evader=[0] * 4), None)
    assert all(gone(pid) for pid in workers)


def test_a_fault_in_a_worker_comes_through_with_its_rule():
    simulation = pooled()
    try:
        fleet = simulation.world._fleet
        fleet.arrays.start[2, 1, 3] = -100.0
        fleet.arrays.restart[...] = True
        with pytest.raises(EngagementError, match="is below ground"):
            fleet.restart()
        simulation.reset(np.full(4, 1), np.arange(4))  # and the pool goes on
        assert simulation.state.pos[3, 1, 2] == pytest.approx(6000.0, abs=0.1)
    finally:
        simulation.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_a_parent_that_dies(tmp_path, number):
    script = tmp_path / "parent.py"
    script.write_text(
        "import signal\n"
        "import time\n"
        "import numpy as np\n"
        "from pe_sim.engagement import parse\n"
        "from pe_sim.simulation import Simulation\n"
        f"data = {surfaces_duel().resolved()!r}\n"
        "data['world']['workers'] = 2\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # started from a shell's background it is off
        "    simulation = Simulation(parse(data), 2)\n"
        "    simulation.reset(np.asarray([1, 1]), np.asarray([0, 1]))\n"
        "    print(*[w.process.pid for w in simulation.world._fleet._workers], flush=True)\n"
        "    time.sleep(60)\n",
        encoding="utf-8",
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.send_signal(number)
    parent.wait(60)
    parent.stdout.close()
    assert all(gone(pid) for pid in workers)


def test_shared_arrays_do_not_overlap():
    simulation = pooled()
    try:
        arrays = list(vars(simulation.world._fleet.arrays).values())
        spans = sorted((a.__array_interface__["data"][0], a.nbytes) for a in arrays)
        assert all(start + size <= following for (start, size), (following, _) in pairwise(spans))
        assert sum(size for _, size in spans) <= size_of(2, 4)
        assert len(spans) == len(FleetArrays.layout(2, 4))
    finally:
        simulation.close()
