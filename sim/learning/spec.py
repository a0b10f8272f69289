"""The training file: which engagement, which roles learn by which algorithm, how long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.engagement import Engagement, load, override, parse, policy_changes
from pe_sim.errors import EngagementError
from pe_sim.learning.opponents_spec import OpponentSpec
from pe_sim.learning.warm_start_spec import WarmStartSpec
from pe_sim.policies.networks import NetworkSpec
from pe_sim.schema import Strict, nearest, validated
from pe_sim.yaml_reader import read_yaml

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Above = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]


class CriticSpec(Strict):
    """The network that judges states in training; it does not fly.

    Attributes:
        hidden: width of each hidden layer.
    """

    hidden: tuple[Count, ...] = (128, 128)


class LearnerSpec(Strict):
    """How a role learns.

    Attributes:
        algorithm: mappo (its critic sees the observations of all learning agents of the team) or ippo (only the
            agent's own).
        sharing: parameters: none (each agent its own), role (one set for the role), all (one set for all roles that
            say so).
        network: the network that flies; with a recurrent unit it is trained over whole sequences of decisions.
        critic: the network that judges what is seen at present.
        learning_rate: of Adam.
        anneal: let the learning rate fall linearly to zero over the training.
        gamma: discount per decision.
        gae_lambda: of the generalised advantage estimate.
        clip: bound on the ratio of probabilities.
        entropy: weight of the entropy bonus.
        value_weight: weight of the critic's loss.
        max_grad_norm: bound on the norm of the gradient.
        epochs: passes over a rollout.
        minibatches: parts of a rollout that are learned from one after another.
        target_kl: stop the passes over a rollout when the policy has moved this far; None for never.
        initial_std: standard deviation of a continuous action in the beginning, in [-1, 1].
        warm_start: what is learned from guidance before anything is learned from rewards; None for nothing.
    """

    algorithm: Literal["mappo", "ippo"] = "mappo"
    sharing: Literal["none", "role", "all"] = "role"
    network: NetworkSpec = NetworkSpec()
    critic: CriticSpec = CriticSpec()
    learning_rate: Above = 5e-4
    anneal: bool = True
    gamma: Share = 0.99
    gae_lambda: Share = 0.95
    clip: Above = 0.2
    entropy: Annotated[float, Field(ge=0.0)] = 0.0
    value_weight: Annotated[float, Field(ge=0.0)] = 0.5
    max_grad_norm: Above = 0.5
    epochs: Count = 4
    minibatches: Count = 8
    target_kl: Above | None = None
    initial_std: Above = 0.6
    warm_start: WarmStartSpec | None = None

    @model_validator(mode="after")
    def _taught_without_memory(self) -> LearnerSpec:
        if self.network.recurrent != "none" and self.warm_start is not None:
            rule = "warm_start: only networks without memory (recurrent: none) are taught"
            raise PydanticCustomError("network", rule)
        return self


class TrainingSpec(Strict):
    """A whole training file.

    Attributes:
        training: its name.
        description: for people.
        engagement: engagement file, relative to this file.
        changes: dotted keys of the engagement to replace for training, e.g. the opponents' policies and rewards.
        seed: of everything random.
        batch: engagements at once.
        decisions: decisions of the fastest learning role in a rollout.
        steps: world ticks to train for, over all engagements together.
        checkpoint_every: updates between checkpoints.
        evaluate_episodes: unseen episodes after the training, for the bundle's record; 0 for none.
        roles: role -> how it learns; the other roles follow the engagement's policies.
        opponents: team -> who plays it; the teams not named follow the engagement, and learn all at once.
    """

    training: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    description: str = ""
    engagement: str
    changes: dict[str, Any] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    batch: Count = 256
    decisions: Annotated[int, Field(ge=2)] = 64
    steps: Count
    checkpoint_every: Count = 10
    evaluate_episodes: Annotated[int, Field(ge=0)] = 100
    roles: Annotated[dict[str, LearnerSpec], Field(min_length=1)]
    opponents: dict[str, OpponentSpec] = Field(default_factory=dict)

    def load_engagement(self, directory: Path) -> Engagement:
        """Return the engagement to train on; ``directory`` is the training file's.

        Raises:
            EngagementError: if it cannot be used, or lacks a role that is to learn.
        """
        engagement = load(directory / self.engagement, self.changes or None)
        others = {name: self.opponents.get(section.team) for name, section in engagement.roles.items()}
        named = {name: opponent for name, opponent in others.items() if opponent is not None and opponent.use}
        if named:
            parameters = {name: opponent.parameters for name, opponent in named.items()}
            changes = policy_changes({name: str(opponent.use) for name, opponent in named.items()}, parameters)
            engagement = parse(override(engagement.resolved(), changes))
        for role in self.roles:
            if role not in engagement.roles:
                raise EngagementError(f"roles.{role}", "no such role", role, nearest(role, engagement.roles))
        return engagement


def parse_training(data: Any, name: str = "training") -> TrainingSpec:
    """Return a training file from plain data.

    Raises:
        EngagementError: with the path of the key, the rule, the value and the nearest valid name.
    """
    return validated(TrainingSpec, data, name)


def load_training(path: Path) -> TrainingSpec:
    """Read and validate a training file.

    Raises:
        EngagementError: if it is missing, no YAML, or invalid.
    """
    return parse_training(read_yaml(path), str(path))
