"""A tournament: every pursuing member of a self-play training against every evading one, and what all are rated."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.engagement import Engagement, override, parse, policy_changes
from pe_sim.errors import PeError
from pe_sim.evaluation.evaluate import evaluate
from pe_sim.learning.elo import fitted
from pe_sim.learning.pool import Member
from pe_sim.learning.scores import PURSUERS_SCORE
from pe_sim.timing import NANOSECONDS

POOL = "pool.json"


@dataclass(frozen=True)
class Standings:
    """What a tournament came to.

    Attributes:
        names: team -> names of its members; the pursuing team first.
        ratings: team -> their ratings.
        scores: mean score of pursuer i against evader j, 1 a win, (P, E).
        times: mean time to capture [s], NaN where there was no capture, (P, E).
        episodes: of each pair.
    """

    names: dict[str, list[str]]
    ratings: dict[str, list[float]]
    scores: NDArray[np.float64]
    times: NDArray[np.float64]
    episodes: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        times = [[None if np.isnan(value) else float(value) for value in row] for row in self.times]
        return {
            "names": self.names, "ratings": self.ratings, "scores": self.scores.tolist(),
            "mean_times_to_capture": times, "episodes": self.episodes,
        }


@dataclass(frozen=True)
class Manner:
    """How the members of pools play.

    Attributes:
        deterministic: team -> whether its snapshots play their most probable action.
        par: team -> captures that take longer count as lost [ns]; None for no such limit.
    """

    deterministic: dict[str, bool]
    par: dict[str, int | None]

    @property
    def limit(self) -> int | None:
        """Time after which nothing can be won any more [ns]."""
        return next((par for par in self.par.values() if par is not None), None)


def read_pools(directory: Path, most: int) -> tuple[dict[str, list[Member]], Manner]:
    """Return the members of a training's pools, at most so many a team, evenly spread; and how they play.

    Args:
        directory: of a training against pools.
        most: members of a team.

    Raises:
        PeError: if there is no such training.
    """
    path = directory / POOL
    try:
        told = json.loads(path.read_text())
        pools = {team: [_member(plain, directory) for plain in members] for team, members in told["pools"].items()}
        how = Manner({team: bool(told["deterministic"][team]) for team in pools}, dict(told["par"]))
    except (OSError, ValueError, KeyError, TypeError) as fault:
        cure = "name the directory of a training whose file has opponents of kind: pool"
        raise PeError(str(path), f"tells of no pools: {fault}", cure=cure) from fault
    for team, members in pools.items():
        places = np.unique(np.linspace(0, len(members) - 1, min(most, len(members))).round().astype(int))
        pools[team] = [members[place] for place in places]
    return pools, how


def _member(plain: dict[str, Any], directory: Path) -> Member:
    member = Member(str(plain["name"]), dict(plain["uses"]), dict(plain["hashes"]), elo=float(plain["elo"]))
    member.find_in(directory)
    return member


def tournament(
    engagement: Engagement, pools: dict[str, list[Member]], how: Manner, episodes: int,
    seed: int | None = None, progress: Callable[[int], None] | None = None,
) -> Standings:
    """Let everybody play everybody of the other team.

    Args:
        engagement: the engagement.
        pools: team -> members.
        how: how they play.
        episodes: of each pair, the same for all pairs.
        seed: of the run; default the file's.
        progress: called with how many pairs are done.

    Raises:
        PeError: if the engagement has other teams, or somebody in none of its games won or lost.
    """
    teams = (engagement.rules.pursuers, engagement.rules.evaders)
    for team in teams:
        if not pools.get(team):
            raise PeError(f"pools of {team}", "nobody is in it", sorted(pools))
    if how.limit is not None:
        limit = {"rules.max_step": None, "rules.time_limit": how.limit / NANOSECONDS}
        engagement = parse(override(engagement.resolved(), limit))
    shape = tuple(len(pools[team]) for team in teams)
    scores, games, times = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    for i, pursuer in enumerate(pools[teams[0]]):
        for j, evader in enumerate(pools[teams[1]]):
            changes = {
                **_seats(pursuer, how.deterministic[teams[0]]), **_seats(evader, how.deterministic[teams[1]]),
            }
            result = evaluate(parse(override(engagement.resolved(), changes)), episodes, seed)
            counted = {name: count for name, count in result.outcomes.items() if name in PURSUERS_SCORE}
            games[i, j] = sum(counted.values())
            scores[i, j] = sum(PURSUERS_SCORE[name] * count for name, count in counted.items())
            if result.mean_time_to_capture is not None:
                times[i, j] = result.mean_time_to_capture
            if progress is not None:
                progress(i * shape[1] + j + 1)
    ratings = fitted(scores, games)
    return Standings(
        names={team: [member.name for member in pools[team]] for team in teams},
        ratings={team: [float(value) for value in values] for team, values in zip(teams, ratings, strict=True)},
        scores=scores / np.maximum(games, 1.0), times=times, episodes=episodes,
    )


def _seats(member: Member, deterministic: bool) -> dict[str, Any]:
    parameters = {"deterministic": deterministic} if member.hashes else {}
    return policy_changes(member.uses, dict.fromkeys(member.uses, parameters))
