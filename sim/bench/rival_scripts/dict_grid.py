"""The plain Python loop that the grid is measured against: two agents, dicts in and out, the same game."""

from __future__ import annotations

import random
import sys
import time

SIZE, RADIUS, STEPS, APART = 64, 1.5, 500, 16
MOVES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
AGENTS = ("pursuer_0", "evader_0")


class DictGrid:
    """Two agents on a grid, eight ways and stay, walls that stop, capture under 1.5 cells."""

    def __init__(self) -> None:
        self.random = random.Random(0)  # noqa: S311 - a game

    def reset(self) -> None:
        """Place both, at least ``APART`` cells from each other."""
        self.step_number = 0
        while True:
            self.places = {agent: (self.random.randrange(SIZE), self.random.randrange(SIZE)) for agent in AGENTS}
            (a, b), (c, d) = self.places.values()
            if (a - c) ** 2 + (b - d) ** 2 > APART**2:
                return

    def step(self, actions: dict[str, int]) -> tuple[dict[str, float], dict[str, bool], dict[str, bool]]:
        """Move both at once; return rewards, terminations, truncations."""
        top = SIZE - 1
        for agent, action in actions.items():
            x, y = self.places[agent]
            dx, dy = MOVES[action]
            self.places[agent] = (min(max(x + dx, 0), top), min(max(y + dy, 0), top))
        self.step_number += 1
        (a, b), (c, d) = self.places["pursuer_0"], self.places["evader_0"]
        caught = ((a - c) ** 2 + (b - d) ** 2) ** 0.5 < RADIUS
        late = self.step_number >= STEPS and not caught
        rewards = {"pursuer_0": float(caught), "evader_0": -float(caught)}
        terminations = {"pursuer_0": caught, "evader_0": caught, "__all__": caught}
        truncations = {"pursuer_0": late, "evader_0": late, "__all__": late}
        return rewards, terminations, truncations


env = DictGrid()
env.reset()
draw = random.Random(1)  # noqa: S311 - a game
actions = [{agent: draw.randrange(9) for agent in AGENTS} for _ in range(1000)]
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for number in range(int(line)):
        _, terminations, truncations = env.step(actions[number % 1000])
        if terminations["__all__"] or truncations["__all__"]:
            env.reset()
    print(time.perf_counter() - start, flush=True)
