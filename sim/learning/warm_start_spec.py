"""The part of a training file that says what a policy learns from guidance before it learns from rewards."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from pe_sim.schema import Strict

Count = Annotated[int, Field(ge=1)]


class WarmStartSpec(Strict):
    """What is learned from guidance first, see :mod:`pe_sim.learning.warm_start`.

    Attributes:
        use: whose example is followed: 'guidance/<name>', or a bundle.
        parameters: its parameters.
        stretch: factor on what guidance says of continuous values, in [-1, 1]. Means of directions are shorter than
            directions: a little more than 1 keeps the speed where the vehicle's own limits shorten what is too long.
        rounds: rollouts; the guidance flies the first one, the learner the others.
        decisions: decisions of all agents together in a rollout.
        epochs: passes, after each rollout, over all that the guidance has said.
        minibatch: decisions that are learned from at once.
        learning_rate: of Adam in the first round; it falls linearly from round to round.
        turns: learn from copies turned about the vertical, see :mod:`pe_sim.learning.turns`. Right where nothing but
            attitudes is told in the world's axes, and guidance answers in body axes, or with bank and load factor.
        critic_updates: updates after it in which only the critic learns, so that the first ones with rewards do not
            spoil what was learned.
    """

    use: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    stretch: Annotated[float, Field(gt=0.0)] = 1.0
    rounds: Count = 6
    decisions: Count = 30_000
    epochs: Count = 4
    minibatch: Count = 1024
    learning_rate: Annotated[float, Field(gt=0.0)] = 1e-3
    turns: bool = False
    critic_updates: Annotated[int, Field(ge=0)] = 4
