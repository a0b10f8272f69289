"""Environments in this process and in processes of their own: equal results, clear errors, nothing left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import gymnasium as gym
import numpy as np
import pytest

from pe_sim.engagement import parse
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.errors import PeError
from pe_sim.learning.agents.subproc_vec_env import SubprocVecEnv
from pe_sim.learning.agents.vector_env import DummyVecEnv

from ...files import grid_file  # noqa: TID252 - shared by one room
from .tasks import Line, Track

ENGAGEMENT = parse(grid_file(rules={"max_step": 6}))


def pursuit() -> SinglePursuit:
    return SinglePursuit(ENGAGEMENT, "pursuer_0")


def frames(infos):
    """Infos as one nested structure of plain values and arrays."""
    return [dict(info) for info in infos]


@pytest.mark.parametrize(("make", "count", "in_series"), [(Track, 5, 2), (pursuit, 3, 1), (Line, 4, 4)])
def test_in_processes_of_their_own_environments_do_the_same(make, count, in_series):
    one = DummyVecEnv([make] * count, env_seed=4)
    with SubprocVecEnv([make] * count, env_seed=4, in_series=in_series) as other:
        assert len(other._workers) == -(-count // in_series)
        assert (other.num_envs, other.max_episode_steps) == (one.num_envs, one.max_episode_steps)
        assert (other.observation_space, other.action_space) == (one.observation_space, one.action_space)
        np.testing.assert_equal(frames(other.reset()[1]), frames(one.reset()[1]))
        one.action_space.seed(1)
        ended = 0
        for _ in range(30):
            actions = np.asarray([one.action_space.sample() for _ in range(count)])
            a, b = one.step(actions), other.step(actions)
            for x, y in zip(a[:4], b[:4], strict=True):
                assert x.dtype == y.dtype
                assert np.array_equal(x, y)
            np.testing.assert_equal(b[4], a[4])
            assert np.array_equal(one.buf_obs, other.buf_obs)
            ended += int((a[2] | a[3]).sum())
        assert ended > count
        np.testing.assert_equal(other.reset()[0], one.reset()[0])


def test_what_is_seen_at_an_end_is_the_last_of_the_episode_and_the_first_of_the_next_is_kept():
    envs = DummyVecEnv([lambda: Line(3)] * 2)
    envs.reset()
    for t in range(1, 4):
        obs, _, terminals, truncations, infos = envs.step(np.asarray([1, 0]))
        assert infos[0]["episode_step"] == t
        assert infos[0]["episode_score"] == pytest.approx(-0.05 * t)
    assert obs.argmax(-1).tolist() == [3, 0]
    assert truncations.all()
    assert not terminals.any()
    assert infos[0]["reset_obs"].argmax() == 0
    assert envs.buf_obs.argmax(-1).tolist() == [0, 0]
    assert envs.step(np.asarray([1, 0]))[4][0]["episode_step"] == 1


def test_environments_of_one_seed_differ_and_the_next_reset_goes_on():
    envs = DummyVecEnv([Track] * 3, env_seed=7)
    first, _ = envs.reset()
    assert len(np.unique(first)) == 3
    second, _ = envs.reset()
    assert not np.array_equal(first, second)
    again, _ = DummyVecEnv([Track] * 3, env_seed=7).reset()
    assert np.array_equal(first, again)


def test_a_wrong_number_of_actions_is_named():
    envs = DummyVecEnv([Line] * 3)
    envs.reset()
    with pytest.raises(PeError, match="one for each of 3"):
        envs.step(np.zeros(2, np.int64))


class Faulty(Line):
    """Does at its third step what it was made to do."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def step(self, action):
        if self.time == 2:
            if self.what == "raise":
                raise ArithmeticError("no such thing")
            if self.what == "exit":
                os._exit(7)
            if self.what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


def makers(what: str):
    return [Line, Line, lambda: Faulty(what), Line]


def third_step(envs):
    envs.reset()
    for _ in range(3):
        envs.step(np.ones(4, np.int64))


def gone(processes) -> bool:
    return not any(process.is_alive() for process in processes)


def test_what_an_environment_raises_is_told_with_its_number_and_the_others_go_on():
    with SubprocVecEnv(makers("raise"), in_series=2) as envs:
        with pytest.raises(PeError, match="environment 2: raised ArithmeticError: no such thing") as caught:
            third_step(envs)
        assert "in step" in str(caught.value.__cause__)  # the traceback over there
        envs.reset()
        assert envs.step(np.ones(4, np.int64))[0].shape == (4, 5)


@pytest.mark.parametrize(("what", "how"), [("exit", "ended with exit code 7"), ("kill", "was killed by signal 9")])
def test_a_worker_that_is_gone_is_named_and_all_is_closed(what, how):
    envs = SubprocVecEnv(makers(what), in_series=2)
    with pytest.raises(PeError, match=rf"worker 1 \(environment 2, 3\): {how}"):
        third_step(envs)
    assert gone(envs._workers)
    with pytest.raises(PeError, match="is closed"):
        envs.reset()
    envs.close()


def test_a_worker_killed_between_steps_is_named():
    envs = SubprocVecEnv([Line] * 2)
    envs.reset()
    os.kill(envs._workers[0].pid, signal.SIGKILL)
    envs._workers[0].join()
    with pytest.raises(PeError, match="worker 0"):
        envs.step(np.zeros(2, np.int64))
    assert gone(envs._workers)


def test_an_environment_that_cannot_be_made_is_named_and_nothing_is_left():
    before = set(multiprocessing.active_children())

    def broken():
        raise LookupError("no such file")

    with pytest.raises(PeError, match="environment 1: raised LookupError: no such file"):
        SubprocVecEnv([Line, broken, Line], in_series=3)
    assert set(multiprocessing.active_children()) <= before


def test_closing_ends_all_workers_and_closes_their_environments(tmp_path):
    class Notes(Line):
        def close(self):
            (tmp_path / str(os.getpid())).touch()

    envs = SubprocVecEnv([Notes] * 3)
    envs.reset()
    workers = list(envs._workers)
    envs.close()
    assert gone(workers)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(str(worker.pid) for worker in workers)
    envs.close()


def test_closing_does_not_wait_for_environments_that_were_made_later():
    first, second = (SubprocVecEnv([Line] * 2) for _ in range(2))
    workers = list(first._workers)
    first.close()
    assert [worker.exitcode for worker in workers] == [0, 0]  # none had to be killed
    second.reset()
    second.close()


def test_workers_end_when_their_parent_is_killed():
    program = textwrap.dedent("""
        import os, signal, sys
        import gymnasium as gym
        from pe_sim.learning.agents.subproc_vec_env import SubprocVecEnv
        kept = [SubprocVecEnv([lambda: gym.make("CartPole-v1")] * 2) for _ in range(2)]
        print(*[worker.pid for envs in kept for worker in envs._workers], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    workers = [int(word) for word in done.stdout.split()]
    assert len(workers) == 4, done.stderr
    for _ in range(500):
        left = [pid for pid in workers if os.path.exists(f"/proc/{pid}") and not _is_zombie(pid)]  # noqa: PTH110
        if not left:
            break
        time.sleep(0.02)
    assert not left


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_they_can_be_spawned():
    with SubprocVecEnv([lambda: gym.make("CartPole-v1")] * 2, env_seed=3, context="spawn") as envs:
        first, _ = envs.reset()
    expected, _ = DummyVecEnv([lambda: gym.make("CartPole-v1")] * 2, env_seed=3).reset()
    assert np.array_equal(first, expected)
    assert envs.max_episode_steps == 500
