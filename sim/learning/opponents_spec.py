"""The ``opponents`` section of a training file: who plays the teams that are not being trained just then."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.policies.loader import GUIDANCE
from pe_sim.quantities import Duration
from pe_sim.schema import Strict

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class OpponentSpec(Strict):
    """Who plays a team.

    Attributes:
        kind: scripted (guidance), bundle (a trained policy that stays as it is) or pool. A pool holds frozen snapshots
            of the team's learners, taken on the way, and the members named; each episode is played by one of them.
        use: of scripted and bundle: 'guidance/<name>', or the directory of a bundle, for all roles of the team.
        parameters: of what is used.
        members: of a pool, what is in it from the beginning: 'guidance/<name>' or directories of bundles.
        snapshot_every: updates between two snapshots.
        newest: share of the episodes that the newest snapshot plays.
        prioritise: who plays the others, by the learners' share p of games won against it: hard, (1 - p)^2; even,
            p (1 - p); or uniform (Vinyals et al., 2019).
        capacity: how many play at most; of more, those that are played most often.
        memory: weight that the games before an update keep in the shares of games won.
        deterministic: snapshots play their most probable action instead of drawing one.
        par: captures that take longer count as won by those who are chased: where capture is certain in the end, time
            is what is played for.
    """

    kind: Literal["scripted", "bundle", "pool"]
    use: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    members: tuple[str, ...] = ()
    snapshot_every: Count = 20
    newest: Share = 0.5
    prioritise: Literal["hard", "even", "uniform"] = "hard"
    capacity: Count = 16
    memory: Share = 0.98
    deterministic: bool = False
    par: Annotated[Duration, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> OpponentSpec:
        """Refuse keys of another kind.

        Raises:
            PydanticCustomError: which the schema turns into an error with the key's path.
        """
        rules = {
            "scripted": (self.use.startswith(GUIDANCE), f"use: must be '{GUIDANCE}<name>'"),
            "bundle": (self.use != "" and not self.use.startswith(GUIDANCE), "use: must be the directory of a bundle"),
            "pool": (self.use == "" and not self.parameters, "use, parameters: a pool has members instead"),
        }
        holds, rule = rules[self.kind]
        if not holds:
            raise PydanticCustomError("opponents", "{rule}", {"rule": f"{rule}, with kind: {self.kind}"})
        if self.kind != "pool" and self.members:
            raise PydanticCustomError("opponents", "members: only a pool has them")
        return self
