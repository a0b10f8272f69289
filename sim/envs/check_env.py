"""Plays a dict multi-agent environment, anybody's, and finds the classic faults of such environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from pe_sim.envs.findings import Finding

ALL = "__all__"

FEW_EPISODES = 4
"""Episodes from which on it is no chance that all are of one length."""


def check_dict_env(env: Any, *, steps: int = 50, seed: int = 0, zero_sum: bool = False) -> list[Finding]:
    """Return what is wrong with an environment of the dict API (reset, five-value step), each fault once.

    Found are: a missing '__all__', observations of another dtype or shape than their space's, an observation in
    several pieces or on different devices, rewards that do not add up to zero or are not finite, opponents with
    unequal numbers of choices, and time limits that are called the end of the game.

    Args:
        env: has observation_spaces and action_spaces (agent -> space), reset(seed=...) and step(actions).
        steps: how many steps to play with random actions.
        seed: of the environment and of the actions.
        zero_sum: whether the rewards of every step must add up to zero.
    """
    found: dict[tuple[str, str], Finding] = {}

    def note(finding: Finding) -> None:
        found.setdefault((finding.name, finding.text), finding)

    for finding in _resolution(env):
        note(finding)
    for agent, space in env.action_spaces.items():
        space.seed(seed + len(agent))
    observations, _ = env.reset(seed=seed)
    length, ends = 0, _Ends()
    for _ in range(steps):
        for finding in _observations(env, observations):
            note(finding)
        observations, rewards, terminations, truncations, _ = env.step(
            {agent: env.action_spaces[agent].sample() for agent in _acting(env, observations)}
        )
        for finding in (*_flags(terminations, truncations), *_rewards(rewards, zero_sum=zero_sum)):
            note(finding)
        over = [flags.get(ALL, all(flags.values())) for flags in (terminations, truncations)]
        length += 1
        if any(over):
            ends.note(length, terminated=over[0])
            observations, _ = env.reset()
            length = 0
    for finding in ends.findings():
        note(finding)
    return list(found.values())


def _flags(terminations: dict[str, bool], truncations: dict[str, bool]) -> list[Finding]:
    return [
        Finding("error", name, "'__all__' is missing: nobody learns that the episode is over")
        for name, flags in (("terminations", terminations), ("truncations", truncations))
        if ALL not in flags
    ]


def _rewards(rewards: dict[str, Any], *, zero_sum: bool) -> list[Finding]:
    found, values = [], [float(reward) for reward in rewards.values()]
    if not all(np.isfinite(values)):
        found.append(Finding("error", "rewards", "are not finite", "no loss can be made of them"))
    elif zero_sum and sum(values) != 0.0:
        cure = "balance them, e.g. by subtracting their mean"
        found.append(Finding("error", "rewards", "do not add up to zero", cure))
    return found


class _Ends:
    """How episodes ended."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._truncated = 0

    def note(self, length: int, *, terminated: bool) -> None:
        """Count an episode."""
        if terminated:
            self._lengths.append(length)
        else:
            self._truncated += 1

    def findings(self) -> list[Finding]:
        """Return whether a time limit is called the end of the game: then nothing is thought to follow it."""
        if self._truncated or len(self._lengths) < FEW_EPISODES or len(set(self._lengths)) > 1:
            return []
        text = f"every episode is over after {self._lengths[0]} steps, and the game is said to have ended"
        return [Finding("warning", "terminations", text, "where only time ran out, truncate instead of terminating")]


def _acting(env: Any, observations: dict[str, Any]) -> list[str]:
    due = getattr(env, "due", None)
    return [agent for agent in observations if due is None or agent in due]


def _resolution(env: Any) -> list[Finding]:
    choices = {agent: int(space.n) for agent, space in env.action_spaces.items() if hasattr(space, "n")}
    if len(set(choices.values())) < 2:
        return []
    least, most = min(choices, key=lambda a: choices[a]), max(choices, key=lambda a: choices[a])
    text = f"{least} chooses out of {choices[least]}, {most} out of {choices[most]}: one turns finer than the other"
    return [Finding("warning", "action_spaces", text, "give both the same choices, or charge for the finer ones")]


def _observations(env: Any, observations: dict[str, Any]) -> list[Finding]:
    found = []
    for agent, value in observations.items():
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
            found.append(
                Finding("error", f"observation of {agent}", "is in several pieces", "join them in one array")
            )
            continue
        space = env.observation_spaces[agent]
        dtype = np.dtype(str(value.dtype).removeprefix("torch."))
        if dtype != space.dtype or dtype != np.float32:
            text = f"is {dtype}, its space {space.dtype}, and networks want float32"
            found.append(Finding("error", f"observation of {agent}", text, "convert it once, where it is made"))
        elif tuple(value.shape) != tuple(space.shape):
            text = f"has shape {tuple(value.shape)}, its space {tuple(space.shape)}"
            found.append(Finding("error", f"observation of {agent}", text))
    devices = {str(getattr(value, "device", "cpu")) for value in observations.values()}
    if len(devices) > 1:
        text = f"lie on different devices: {', '.join(sorted(devices))}"
        found.append(Finding("error", "observations", text, "move all to one device, in one transfer"))
    return found
