"""One environment of dicts with the same agents at every step, whichever convention it follows.

Understood are PettingZoo's parallel environments, RLlib's multi-agent ones (an agent is only shown when it decides) and
those written for XuanCe (``agent_mask()``, ``avail_actions()``, ``state()``, one truncation for all).
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Info = dict[str, Any]
Observations = dict[str, NDArray[Any]]
Flags = dict[str, bool]

ALL = "__all__"


class JointEnv:
    """An environment whose dicts always hold every agent.

    What an agent that is not shown has seen last stays; that of an agent which is out of play is zero from the step
    after its last one on. Infos hold, besides the environment's own under 'infos': 'episode_step'; 'episode_score'
    by agent; 'agent_mask', whose action of this step counted; 'waiting', who was in the game without deciding at this
    step; 'truncations', whose part a time limit has cut short; 'avail_actions' (None where all agents are continuous),
    'state' and 'acting', whose next action counts, after the step.

    Args:
        env: the environment.

    Attributes:
        agents: all agents, in order.
        observation_space, action_space: agent -> space.
        state_space: of the environment's global state; where it has none, the observations of all, one after another.
        max_episode_steps: step limit, or 0 where it says none.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.agents: list[str] = list(getattr(env, "possible_agents", None) or env.agents)
        self.observation_space = {a: _space(env, "observation", a) for a in self.agents}
        self.action_space = {a: _space(env, "action", a) for a in self.agents}
        self._own_state = getattr(env, "state_space", None) is not None
        self.state_space: gym.Space[Any] = env.state_space if self._own_state else joint_space(self.observation_space)
        self.max_episode_steps = int(getattr(env, "max_episode_steps", None) or 0)
        self._nobody = dict.fromkeys(self.agents, False)
        self._ended, self._cut, self._alive, self._acting = (dict(self._nobody) for _ in range(4))
        self._asked: list[str] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Info]:
        """Begin an episode; ``seed`` None goes on with the environment's own chance."""
        given = {"seed": seed, "options": options}
        result = self.env.reset(**{name: value for name, value in given.items() if value is not None})
        observations, infos = result if isinstance(result, tuple) else (result, {})
        self._ended, self._cut = dict(self._nobody), dict(self._nobody)
        self._seen = {a: np.zeros(s.shape or (), s.dtype) for a, s in self.observation_space.items()}
        self._scores, self._steps = dict.fromkeys(self.agents, 0.0), 0
        self._look(observations, infos)
        return dict(self._seen), self._info(infos, self._nobody, self._nobody)

    def step(self, actions: dict[str, Any]) -> tuple[Observations, dict[str, float], Flags, bool, Info]:
        """Step; ``actions`` holds all agents, those of agents that do not act are ignored.

        Returns:
            Observations, rewards, terminations (of those that have ended earlier too), whether the episode was cut
            short by a time limit, info.
        """
        counted = self._acting
        waiting = {a: self._alive[a] and not counted[a] for a in self.agents}
        observations, rewards, terminations, truncations, infos = self.env.step({a: actions[a] for a in self._asked})
        if not isinstance(truncations, dict):
            truncations = {ALL: bool(truncations)}
        self._end(terminations, truncations)
        self._look(observations, infos)
        self._steps += 1
        paid = {a: float(rewards.get(a, 0.0)) for a in self.agents}
        for a, reward in paid.items():
            self._scores[a] += reward
        info = self._info(infos, counted, waiting)
        return dict(self._seen), paid, dict(self._ended), self.over and any(self._cut.values()), info

    @property
    def over(self) -> bool:
        """Whether the episode has ended, of itself or by a time limit."""
        return all(self._ended[a] or self._cut[a] for a in self.agents)

    def _end(self, terminations: Flags, truncations: Flags) -> None:
        """Note whose part has ended of itself and whose was cut short; the first of the two counts."""
        for a in self.agents:
            if not (self._ended[a] or self._cut[a]):
                self._ended[a] = bool(terminations.get(a, False) or terminations.get(ALL, False))
                late = bool(truncations.get(a, False) or truncations.get(ALL, False))
                self._cut[a] = late and not self._ended[a]

    def _look(self, observations: dict[str, Any], infos: dict[str, Any]) -> None:
        """Take what the agents see, and find out who acts next."""
        gone = {a: self._ended[a] or self._cut[a] for a in self.agents}
        for a, space in self.observation_space.items():
            if a in observations:
                self._seen[a] = np.array(observations[a], space.dtype)
            elif gone[a]:
                self._seen[a] = np.zeros(space.shape or (), space.dtype)
        self._asked = [a for a in self.agents if a in observations and not gone[a]]
        alive = self.env.agent_mask() if hasattr(self.env, "agent_mask") else {}
        self._alive = {a: bool(alive.get(a, True)) and not gone[a] for a in self.agents}
        due = {a: bool(_of(infos, a).get("due", True)) for a in self.agents}
        self._acting = {a: a in self._asked and self._alive[a] and due[a] for a in self.agents}

    def _info(self, infos: Any, counted: Flags, waiting: Flags) -> Info:
        return {
            "infos": infos, "episode_step": self._steps, "episode_score": dict(self._scores),
            "agent_mask": dict(counted), "waiting": dict(waiting), "truncations": dict(self._cut),
            "avail_actions": self._available(infos), "state": self.state(), "acting": dict(self._acting),
        }

    def _available(self, infos: Any) -> dict[str, NDArray[np.bool_]] | None:
        """Return which choices each agent has, bool (choices,): all that nobody forbids."""
        given = self.env.avail_actions() if hasattr(self.env, "avail_actions") else {}
        out = {}
        for a, space in self.action_space.items():
            if isinstance(space, gym.spaces.Discrete):
                mask = given[a] if given else _of(infos, a).get("action_mask")
                out[a] = np.ones(int(space.n), np.bool_) if mask is None else np.array(mask, np.bool_)
        return out or None

    def state(self) -> NDArray[np.float32]:
        """Return the global state."""
        if self._own_state:
            given = self.env.state() if callable(self.env.state) else self.env.state
            return np.array(given, np.float32)
        return np.concatenate([np.asarray(self._seen[a], np.float32).reshape(-1) for a in self.agents])

    def render(self) -> Any:
        """Return a frame, or None where the environment has none."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def joint_space(spaces: dict[str, gym.Space[Any]]) -> gym.spaces.Box:
    """Return the space of all agents' observations, one after another."""
    size = sum(int(np.prod(space.shape or (1,))) for space in spaces.values())
    return gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)


def _of(infos: Any, agent: str) -> dict[str, Any]:
    """Return an agent's own info; empty where there is none."""
    own = infos.get(agent) if isinstance(infos, dict) else None
    return own if isinstance(own, dict) else {}


def _space(env: Any, kind: str, agent: str) -> Any:
    """Return an agent's space, from a dict or a method of the environment."""
    many, one = getattr(env, f"{kind}_spaces", None), getattr(env, f"{kind}_space", None)
    if many is not None:
        return many[agent]
    return one(agent) if callable(one) else one[agent]  # type: ignore[index]
