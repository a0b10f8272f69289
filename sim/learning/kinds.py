"""The kinds of training files, and what trains them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pe_sim.engagement import Engagement
from pe_sim.learning.game_spec import GameTrainingSpec
from pe_sim.learning.game_trainer import GameTrainer
from pe_sim.learning.self_play import training_of
from pe_sim.learning.spec import TrainingSpec, parse_training
from pe_sim.learning.training import Training
from pe_sim.schema import validated
from pe_sim.yaml_reader import read_yaml

AnySpec = TrainingSpec | GameTrainingSpec
AnyTrainer = Training | GameTrainer


def parse_any(data: Any, name: str = "training") -> AnySpec:
    """Return a training file of any kind from plain data: with a section ``game`` it is that of a grid game.

    Raises:
        EngagementError: with the path of the key, the rule, the value and the nearest valid name.
    """
    if isinstance(data, dict) and "game" in data:
        return validated(GameTrainingSpec, data, name)
    return parse_training(data, name)


def load_any(path: Path) -> AnySpec:
    """Read and validate a training file of any kind.

    Raises:
        EngagementError: if it is missing, no YAML, or invalid.
    """
    return parse_any(read_yaml(path), str(path))


def trainer_of(spec: AnySpec, engagement: Engagement, directory: Path) -> AnyTrainer:
    """Return what trains as a file says, on an engagement, into a directory."""
    if isinstance(spec, GameTrainingSpec):
        return GameTrainer(spec, engagement, directory)
    return training_of(spec, engagement, directory)
