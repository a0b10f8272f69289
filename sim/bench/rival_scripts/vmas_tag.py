"""VMAS simple_tag, three against one. Arguments: number of environments."""

import sys
import time
from importlib import import_module

torch, vmas = import_module("torch"), import_module("vmas")
torch.set_grad_enabled(False)
batch = int(sys.argv[1])
env = vmas.make_env(
    scenario="simple_tag", num_envs=batch, device="cpu", continuous_actions=True, seed=0, num_good_agents=1,
    num_adversaries=3, num_landmarks=2,
)
env.reset()
actions = [[env.get_random_action(agent) for agent in env.agents] for _ in range(4)]
env.step(actions[0])
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for number in range(int(line)):
        env.step(actions[number % 4])
    print(time.perf_counter() - start, flush=True)
