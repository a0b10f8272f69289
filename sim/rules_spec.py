"""The section ``rules`` of the engagement file: sides, capture, escape, time limit, rewards."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.air_combat import CombatSpec
from pe_sim.capture import CaptureSpec
from pe_sim.quantities import Duration
from pe_sim.regions import Region
from pe_sim.rewards import RewardSpec
from pe_sim.scales import scales_of
from pe_sim.schema import Strict, nearest
from pe_sim.timing import to_nanoseconds

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class EscapeSpec(Strict):
    """When an evader gets away: it reaches the goal without being caught at that tick.

    Attributes:
        region: the goal.
        ends: whether the episode ends when 'any' evader has escaped, or when 'all' are out of play.
    """

    region: Region
    ends: Literal["any", "all"] = "any"


class RulesSpec(Strict):
    """How an engagement is judged.

    Attributes:
        pursuers: team that chases.
        evaders: team that is chased.
        capture: when an evader is caught.
        escape: when an evader gets away; left out, only by the time limit.
        combat: guns and hit points; left out, nobody shoots.
        time_limit: engagement time after which the episode ends [s].
        max_step: the same as a number of ticks, instead of ``time_limit``.
        rewards: what each agent receives.
    """

    pursuers: str = "pursuers"
    evaders: str = "evaders"
    capture: CaptureSpec = CaptureSpec()
    escape: EscapeSpec | None = None
    combat: CombatSpec | None = None
    time_limit: Annotated[Duration, Field(gt=0)] = to_nanoseconds(Fraction(60))
    max_step: Annotated[int, Field(ge=1)] | None = None
    rewards: RewardSpec = RewardSpec()

    @model_validator(mode="after")
    def _sides_differ(self) -> RulesSpec:
        if self.pursuers == self.evaders:
            raise PydanticCustomError("teams", "pursuers and evaders must be two teams")
        return self

    def check(self, engagement: Engagement) -> None:
        """Refuse rules that name a team nobody belongs to, or that no team can fulfil.

        Raises:
            PydanticCustomError: with path and rule.
        """
        teams = engagement.teams
        named = {"pursuers": self.pursuers, "evaders": self.evaders}
        named.update({f"rewards.terms.{i}.team": term.team for i, term in enumerate(self.rewards.terms)})
        for key, team in named.items():
            if team not in teams:
                raise PydanticCustomError(
                    "teams",
                    "rules.{key}: no role belongs to the team {team}; {nearest}",
                    {"key": key, "team": repr(team), "nearest": nearest(team, set(teams))},
                )
        if teams.count(self.pursuers) < self.capture.fewest:
            raise PydanticCustomError(
                "capture", "rules.capture: takes {fewest} pursuers, of which there are {count}",
                {"fewest": self.capture.fewest, "count": teams.count(self.pursuers)},
            )
        if self.rewards.normalise:
            scales_of(engagement)
