"""XuanCe 1.4.4's MAPPO on MPE2's simple_tag: three adversaries learn, the prey runs by a rule.

Arguments: environments, transitions in a rollout, epochs, minibatches, width of each hidden layer, vectorisation
(SubprocVecMultiAgentEnv as XuanCe's configurations for MPE say, or DummyVecMultiAgentEnv), threads of torch. A line
'steps' asks for so many training steps, each of them one step of every environment. Hyperparameters beside these are
those of xuance/configs/mappo/mpe/simple_spread_v3.yaml, the nearest that XuanCe ships.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from argparse import Namespace
from importlib import import_module
from typing import Any

AGENTS = ("adversary_0", "adversary_1", "adversary_2")
SETTINGS = {
    "agent": "MAPPO", "env_name": "tag", "env_id": "simple_tag_v3", "env_seed": 1, "continuous_action": True,
    "learner": "MAPPO_Learner", "policy": "Gaussian_MAAC_Policy", "representation": "Basic_MLP", "runner": "MARL",
    "use_rnn": False, "initialize": "orthogonal", "gain": 0.01, "activation": "relu", "activation_action": "sigmoid",
    "use_parameter_sharing": True, "use_actions_mask": False, "seed": 1, "learning_rate": 0.0007, "weight_decay": 0,
    "vf_coef": 0.5, "ent_coef": 0.01, "clip_range": 0.2, "gamma": 0.95, "use_linear_lr_decay": False,
    "end_factor_lr_decay": 0.5, "use_global_state": False, "use_value_clip": True, "value_clip_range": 0.2,
    "use_value_norm": True, "use_huber_loss": True, "huber_delta": 10.0, "use_advnorm": True, "use_gae": True,
    "gae_lambda": 0.95, "use_grad_clip": True, "grad_clip_norm": 10.0, "running_steps": 10_000_000,
    "eval_interval": 10_000_000, "test_episode": 1, "log_dir": "logs", "model_dir": "models", "logger": "tensorboard",
    "device": "cpu", "distributed_training": False, "render": False, "render_mode": None, "fps": 50,
    "dl_toolbox": "torch",
}


def environment_class() -> type:
    """Return the environment in the shape that XuanCe asks for."""
    np: Any = import_module("numpy")
    xuance: Any = import_module("xuance.environment")
    simple_tag = import_module("mpe2.simple_tag_v3")

    class Tag(xuance.RawMultiAgentEnv):  # type: ignore[misc]
        def __init__(self, config: Namespace) -> None:
            super().__init__()
            self.env = simple_tag.parallel_env(
                num_good=1, num_adversaries=3, num_obstacles=2, max_cycles=200, continuous_actions=True
            )
            self.env.reset(seed=config.env_seed)
            self.agents, self.num_agents = list(AGENTS), len(AGENTS)
            self.state_space = self.env.state_space
            self.observation_space = {agent: self.env.observation_space(agent) for agent in AGENTS}
            self.action_space = {agent: self.env.action_space(agent) for agent in AGENTS}
            self.agent_groups, self.max_episode_steps = [list(AGENTS)], 200
            self.individual_episode_reward = dict.fromkeys(AGENTS, 0.0)
            self._step = 0

        def reset(self) -> tuple[Any, Any]:
            seen, infos = self.env.reset()
            self._step, self._prey = 0, seen["agent_0"]
            self.individual_episode_reward = dict.fromkeys(AGENTS, 0.0)
            rewards = {"individual_episode_rewards": self.individual_episode_reward}
            return {agent: seen[agent] for agent in AGENTS}, {"infos": infos, **rewards}

        def step(self, actions: Any) -> tuple[Any, ...]:
            # The prey runs from the first pursuer, whose relative position follows on the two obstacles'.
            away, prey = -self._prey[8:10], np.zeros(5, np.float32)
            prey[1], prey[2] = (1.0, 0.0) if away[0] < 0 else (0.0, 1.0)
            prey[3], prey[4] = (1.0, 0.0) if away[1] < 0 else (0.0, 1.0)
            moves = {agent: np.clip(actions[agent], 0.0, 1.0) for agent in AGENTS}
            seen, rewards, over, _, infos = self.env.step({**moves, "agent_0": prey})
            self._prey, self._step = seen["agent_0"], self._step + 1
            for agent in AGENTS:
                self.individual_episode_reward[agent] += rewards[agent]
            info = {"infos": infos, "individual_episode_rewards": self.individual_episode_reward}
            part = [{agent: values[agent] for agent in AGENTS} for values in (seen, rewards, over)]
            return (*part, self._step >= self.max_episode_steps, info)

        def state(self) -> Any:
            return self.env.state()

        def agent_mask(self) -> dict[str, bool]:
            return dict.fromkeys(AGENTS, True)

        def avail_actions(self) -> None:
            """Actions are continuous."""

        def render(self, *args: Any) -> None:
            """Nothing is shown."""

        def close(self) -> None:
            self.env.close()

    return Tag


class Maker:
    """Makes one environment, here or in a process of its own."""

    def __init__(self, config: Namespace) -> None:
        self.config = config

    def __call__(self, env_seed: int = 1) -> object:
        """Return the wrapped environment."""
        xuance = import_module("xuance.environment")
        return xuance.XuanCeMultiAgentEnvWrapper(environment_class()(Namespace(env_seed=env_seed)))


def main() -> None:
    """Answer on standard output, to which nothing else may write."""
    answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
    os.dup2(2, 1)
    os.environ["TQDM_DISABLE"] = "1"
    logging.disable(logging.WARNING)
    parallels, buffer_size, epochs, minibatches, width = (int(word) for word in sys.argv[1:6])
    vectorise, threads = sys.argv[6], int(sys.argv[7])
    torch = import_module("torch")
    torch.set_num_threads(threads)
    os.chdir(tempfile.mkdtemp(prefix="xuance_mappo_"))
    config = Namespace(
        **SETTINGS, parallels=parallels, buffer_size=buffer_size, n_epochs=epochs, n_minibatch=minibatches,
        vectorize=vectorise, representation_hidden_size=[width], actor_hidden_size=[width], critic_hidden_size=[width],
    )
    vectors, agents = import_module("xuance.environment.vector_envs"), import_module("xuance.torch.agents")
    envs = getattr(vectors, vectorise)([Maker(config) for _ in range(parallels)], 1)
    agent = agents.MAPPO_Agents(config, envs)
    agent.train(2 * buffer_size // parallels)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        agent.train(int(line))
        print(time.perf_counter() - start, file=answers, flush=True)
    envs.close()


if __name__ == "__main__":
    main()
