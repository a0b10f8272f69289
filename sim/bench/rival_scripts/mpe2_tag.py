"""MPE2 simple_tag as a parallel environment, three against one; one environment, reset when it ends."""

import sys
import time
from importlib import import_module

simple_tag = import_module("mpe2.simple_tag_v3")
env = simple_tag.parallel_env(num_good=1, num_adversaries=3, num_obstacles=2, max_cycles=200, continuous_actions=True)
env.reset(seed=0)
actions = [{agent: env.action_space(agent).sample() for agent in env.possible_agents} for _ in range(4)]
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for number in range(int(line)):
        if not env.agents:
            env.reset()
        env.step(actions[number % 4])
    print(time.perf_counter() - start, flush=True)
