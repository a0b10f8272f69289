"""Each agent's decisions in order, whoever decides when: rewards and ends go to the decision they belong to."""

from __future__ import annotations

import numpy as np

from pe_sim.learning.sequences import Sequences


def decide(rollout: Sequences, who: list[tuple[int, int]], number: float) -> None:
    agents, rows = np.asarray(who).T
    marks = number * 100 + agents * 10 + rows
    column = marks[:, None].astype(np.float32)
    rollout.decide(agents, rows, column, column, (column, marks * 0.1, marks * 1.0))


def rewards(*pairs: tuple[tuple[int, int], float]) -> np.ndarray:
    out = np.zeros((2, 2))
    for place, value in pairs:
        out[place] = value
    return out


def test_rewards_go_to_the_decision_that_is_open():
    rollout = Sequences((2, 2), 4, 1, 1, 1)
    rollout.begin()
    decide(rollout, [(0, 0), (1, 1)], 1)
    rollout.receive(rewards(((0, 0), 1.0), ((1, 1), 5.0), ((0, 1), 99.0)))
    decide(rollout, [(0, 0), (0, 1)], 2)
    rollout.receive(rewards(((0, 0), 2.0), ((0, 1), 3.0), ((1, 1), 6.0)))
    assert rollout.reward[:2, 0, 0].tolist() == [1.0, 2.0]
    assert rollout.reward[0, 0, 1] == 3.0
    assert rollout.reward[0, 1, 1] == 11.0
    assert rollout.count.tolist() == [[2, 1], [0, 1]]
    assert rollout.closed.sum() == 1
    assert rollout.closed[0, 0, 0]


def test_an_end_closes_a_decision_and_nothing_more_is_paid_for_it():
    rollout = Sequences((2, 2), 4, 1, 1, 1)
    rollout.begin()
    decide(rollout, [(0, 0), (1, 0)], 1)
    over = np.zeros((2, 2), bool)
    over[0, 0] = True
    rollout.end(over, np.full((2, 2), 7.0))
    rollout.receive(np.ones((2, 2)))
    assert rollout.ended[0, 0, 0]
    assert rollout.bootstrap[0, 0, 0] == 7.0
    assert rollout.reward[0, 0, 0] == 0.0
    assert rollout.reward[0, 1, 0] == 1.0
    assert rollout.closed[0].tolist() == [[True, False], [False, False]]


def test_the_open_decision_begins_the_next_rollout_with_what_it_has_received():
    rollout = Sequences((2, 2), 4, 1, 1, 1)
    rollout.begin()
    decide(rollout, [(0, 0), (1, 1)], 1)
    decide(rollout, [(0, 0)], 2)
    rollout.receive(rewards(((0, 0), 3.0), ((1, 1), 4.0)))
    rollout.begin()
    assert rollout.count.tolist() == [[1, 0], [0, 1]]
    assert rollout.observation[0, 0, 0, 0] == 200
    assert rollout.observation[0, 1, 1, 0] == 111
    rollout.receive(rewards(((0, 0), 1.0)))
    assert rollout.reward[0, 0, 0] == 4.0
    assert not rollout.closed.any()


def test_sequences_of_a_random_run_are_those_of_every_agent_alone():
    rng = np.random.default_rng(3)
    rollout = Sequences((2, 3), 60, 1, 1, 1)
    rollout.begin()
    alone: dict[tuple[int, int], list[list[float]]] = {(a, b): [] for a in range(2) for b in range(3)}
    is_open = dict.fromkeys(alone, False)
    for step in range(50):
        due = rng.random((2, 3)) < 0.4
        agents, rows = np.nonzero(due)
        if len(agents):
            marks = np.full((len(agents), 1), step, np.float32)
            rollout.decide(agents, rows, marks, marks, (marks, marks[:, 0], marks[:, 0]))
        paid, over = rng.normal(size=(2, 3)), rng.random((2, 3)) < 0.1
        rollout.receive(paid)
        rollout.end(over, np.zeros((2, 3)))
        for place, history in alone.items():
            if due[place]:
                history.append([step, 0.0])
                is_open[place] = True
            if is_open[place]:
                history[-1][1] += paid[place]
                is_open[place] = not over[place]
    for (agent, row), history in alone.items():
        count = rollout.count[agent, row]
        assert rollout.observation[:count, agent, row, 0].tolist() == [step for step, _ in history]
        assert np.allclose(rollout.reward[:count, agent, row], [reward for _, reward in history])
