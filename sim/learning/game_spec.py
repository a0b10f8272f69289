"""The training file of a grid game: a policy learned against the best response, on the exact game."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pe_sim.engagement import Engagement, load
from pe_sim.errors import EngagementError
from pe_sim.policies.networks import NetworkSpec
from pe_sim.schema import Strict, nearest

Count = Annotated[int, Field(ge=1)]
Above = Annotated[float, Field(gt=0.0)]


class GameLearnerSpec(Strict):
    """How a pursuer learns a grid game, see :mod:`pe_sim.learning.exploitability`.

    Attributes:
        role: who learns; the other one is the best response.
        network: the network that flies.
        exact_rounds: rounds in the beginning in which moves are judged by the exact value of the game; in those that
            follow they are judged by what the best response makes of them.
        passes: steps of the optimiser in a round.
        minibatch: states in a step.
        learning_rate: of Adam; it falls linearly to a hundredth.
        refresh: rounds from one computation of the best response to the next.
        sharpness: how sharply the worst of the opponent's moves counts [1 / steps].
        everywhere: share of the states that are drawn evenly; the others are drawn as often as play comes to them.
    """

    role: str
    network: NetworkSpec = NetworkSpec(hidden=(128, 128, 128))
    exact_rounds: Annotated[int, Field(ge=0)] = 400
    passes: Count = 5
    minibatch: Count = 2048
    learning_rate: Above = 2e-3
    refresh: Count = 5
    sharpness: Above = 20.0
    everywhere: Annotated[float, Field(gt=0.0, le=1.0)] = 0.2


class GameTrainingSpec(Strict):
    """A whole training file of this kind: one with a section ``game``.

    Attributes:
        training: its name.
        description: for people.
        engagement: engagement file, relative to this file: one pursuer and one evader on a grid.
        changes: dotted keys of the engagement to replace.
        seed: of everything random.
        steps: rounds.
        checkpoint_every: rounds between checkpoints.
        evaluate_episodes: unseen episodes after the training, for the bundle's record; 0 for none.
        game: how it is learned.
    """

    training: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    description: str = ""
    engagement: str
    changes: dict[str, Any] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    steps: Count
    checkpoint_every: Count = 500
    evaluate_episodes: Annotated[int, Field(ge=0)] = 100
    game: GameLearnerSpec

    def load_engagement(self, directory: Path) -> Engagement:
        """Return the engagement to train on; ``directory`` is the training file's.

        Raises:
            EngagementError: if it cannot be used, or the role does not pursue in it.
        """
        engagement = load(directory / self.engagement, self.changes or None)
        role = self.game.role
        if role not in engagement.roles:
            raise EngagementError("game.role", "no such role", role, nearest(role, engagement.roles))
        if engagement.roles[role].team != engagement.rules.pursuers:
            raise EngagementError("game.role", "must pursue: evaders do not learn this way yet", role)
        return engagement
