"""Gymnasium ids of the shipped engagements.

Gymnasium imports the module that stands before the colon, so an id works wherever the package is installed::

    gymnasium.make("pe_sim.gym:Pursuit/Kinematic3v1-v0", agent="evader_0")

and after ``import pe_sim.gym`` without it. 'Pursuit/File-v0' takes any file: ``engagement="my_engagement.yaml"``.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from pe_sim.engagement import load
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.shared_files import engagement_file, shipped_engagements

NAMESPACE = "Pursuit"


def make_single(engagement: str, **options: Any) -> SinglePursuit:
    """Return the single-agent environment of an engagement file, given by path or shipped name."""
    return SinglePursuit(load(engagement_file(engagement)), **options)


def environment_id(engagement: str) -> str:
    """Return the id of a shipped engagement: 'kinematic_3v1' -> 'Pursuit/Kinematic3v1-v0'."""
    return f"{NAMESPACE}/{''.join(part[:1].upper() + part[1:] for part in engagement.split('_'))}-v0"


def register() -> list[str]:
    """Register every shipped engagement and 'Pursuit/File-v0'; return the ids."""
    names = {environment_id(name): {"engagement": name} for name in shipped_engagements()}
    names[f"{NAMESPACE}/File-v0"] = {}
    for name, options in names.items():
        if name not in gym.registry:
            gym.register(name, entry_point="pe_sim.gym:make_single", kwargs=options)
    return list(names)


register()
