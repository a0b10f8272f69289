"""What agents did in a rollout: for every agent of every engagement, its own decisions in order, never mixed.

Agents decide at rates of their own and engagements end at any time, so that at one instant some decide and others do
not. Each agent's decisions therefore count for themselves: decision k of an agent is followed by its decision k + 1,
whatever happened in between. The last decision of a rollout has not come to its reward yet: it opens the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Sequences:
    """Decisions of S agents in B engagements.

    Args:
        shape: (S, B).
        capacity: most decisions of an agent in a rollout.
        observation: length of an observation vector.
        seen: length of what the critic sees.
        action: number of values of an action.
        memory: numbers that an agent remembers from one decision to the next.

    Attributes:
        observation: float32 (T, S, B, K).
        seen: float32 (T, S, B, C).
        action: float32 (T, S, B, A); a choice is its index.
        log_prob: of the action when it was drawn, float32 (T, S, B).
        value: critic's value, float64 (T, S, B).
        reward: received until the next decision, float64 (T, S, B).
        ended: whether the episode ended before the next decision, bool (T, S, B).
        bootstrap: value after the end, float64 (T, S, B).
        count: decisions of each agent so far, int64 (S, B).
        open: agents whose last decision has not come to its end, bool (S, B).
        memory: what is remembered now, float32 (S, B, M); 0 at the beginning of an episode.
        initial: what was remembered before the first decision of the rollout, float32 (S, B, M).
    """

    KEPT = ("observation", "seen", "action", "log_prob", "value", "reward", "ended", "bootstrap")

    def __init__(
        self, shape: tuple[int, int], capacity: int, observation: int, seen: int, action: int, memory: int = 0
    ) -> None:
        full = (capacity, *shape)
        self.capacity = capacity
        self.observation = np.zeros((*full, observation), np.float32)
        self.seen = np.zeros((*full, seen), np.float32)
        self.action = np.zeros((*full, action), np.float32)
        self.log_prob = np.zeros(full, np.float32)
        self.value, self.reward, self.bootstrap = np.zeros(full), np.zeros(full), np.zeros(full)
        self.ended = np.zeros(full, np.bool_)
        self.count = np.zeros(shape, np.int64)
        self.open = np.zeros(shape, np.bool_)
        self.memory = np.zeros((*shape, memory), np.float32)
        self.initial, self._before = self.memory.copy(), self.memory.copy()

    @property
    def full(self) -> bool:
        """Whether an agent has no room for one more decision."""
        return int(self.count.max()) >= self.capacity

    def begin(self) -> None:
        """Begin a rollout with the decisions that are still open."""
        agents, rows = np.nonzero(self.open)
        last = self.count[agents, rows] - 1
        for name in self.KEPT:
            values = getattr(self, name)
            values[0, agents, rows] = values[last, agents, rows]
        self.count = self.open.astype(np.int64)
        # An open decision is the first of the new rollout; who has none begins an episode with the next.
        self.initial = np.where(self.open[..., None], self._before, self.memory)

    def decide(
        self, agents: Indices, rows: Indices, observation: NDArray[Any], seen: NDArray[Any],
        choice: tuple[Any, Any, Any], memory: NDArray[Any] | None = None,
    ) -> None:
        """Put down decisions of R agents: (agents[i], rows[i]).

        Their last decisions, where open, have thereby come to their end.

        Args:
            agents: which agents, (R,).
            rows: of which engagements, (R,).
            observation: what they saw, (R, K).
            seen: what the critic saw, (R, C).
            choice: action (R, A), log_prob (R,), value (R,).
            memory: what they remember from now on, (R, M).
        """
        if memory is not None:
            self._before[agents, rows] = self.memory[agents, rows]
            self.memory[agents, rows] = memory
        place = self.count[agents, rows]
        self.observation[place, agents, rows] = observation
        self.seen[place, agents, rows] = seen
        self.action[place, agents, rows], self.log_prob[place, agents, rows], self.value[place, agents, rows] = choice
        self.reward[place, agents, rows] = 0.0
        self.ended[place, agents, rows] = False
        self.bootstrap[place, agents, rows] = 0.0
        self.count[agents, rows] += 1
        self.open[agents, rows] = True

    def receive(self, rewards: NDArray[Any]) -> None:
        """Add rewards (S, B) to the decisions that are open."""
        agents, rows = np.nonzero(self.open)
        self.reward[self.count[agents, rows] - 1, agents, rows] += rewards[agents, rows]

    def end(self, over: NDArray[np.bool_], bootstrap: NDArray[Any]) -> None:
        """Close open decisions whose agents' part is over, bool (S, B), with the value that follows, (S, B)."""
        agents, rows = np.nonzero(self.open & over)
        place = self.count[agents, rows] - 1
        self.ended[place, agents, rows] = True
        self.bootstrap[place, agents, rows] = bootstrap[agents, rows]
        self.open[agents, rows] = False
        self.memory[agents, rows] = 0.0

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Which decisions have come to their end, bool (T, S, B)."""
        closed: NDArray[np.bool_] = np.arange(self.capacity)[:, None, None] < self.count - self.open
        return closed

    @property
    def fresh(self) -> NDArray[np.bool_]:
        """Which decisions are the first of an episode that began in this rollout, bool (T, S, B)."""
        return np.concatenate([np.zeros_like(self.ended[:1]), self.ended[:-1]])

    def state(self) -> dict[str, Any]:
        """Return the open decisions: all that the next rollout needs."""
        self.begin()
        first = {name: getattr(self, name)[0].copy() for name in self.KEPT}
        return {**first, "open": self.open.copy(), "memory": self.memory.copy(), "before": self._before.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        for name in self.KEPT:
            getattr(self, name)[0] = state[name]
        self.open = state["open"].copy()
        self.count = self.open.astype(np.int64)
        self.memory, self._before = state["memory"].copy(), state["before"].copy()
