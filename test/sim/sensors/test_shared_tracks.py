"""Shared tracks: the teammate's own numbers, as far as the link carries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.state import State

from .scenes import Station, file, place, random_state

RADAR = {"kind": "radar", "max_range": 60, "noise": {"range": 0.5, "azimuth": 0.02}, "latency": "20 ms"}
LINK = {"kind": "shared_tracks", "source": "radar", "latency": "30 ms"}
POSE = 7


def stations(batch: int = 1, radar: dict[str, Any] | None = None, **link: Any) -> tuple[Station, Station]:
    engagement = file(pursuers=3, evaders=2, radar={**RADAR, **(radar or {})}, link={**LINK, **link})
    return Station(engagement, "radar", batch), Station(engagement, "link", batch)


def test_what_arrives_is_the_teammates_own_reading_and_its_pose() -> None:
    radar, link = stations()
    state = random_state(5, 1, 2)
    for k in range(4):
        own, told = radar.take(state, k), link.take(state, k)
        for receiver, senders in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
            for slot, sender in enumerate(senders):
                first = slot * (POSE + 8)
                assert np.array_equal(
                    told.values[first : first + POSE, receiver], state.block[:POSE, sender].astype(np.float32)
                )
                assert told.valid[first : first + POSE, receiver].all()
                at = slice(first + POSE, first + POSE + 8)
                assert told.values[at, receiver].tobytes() == own.values[:, sender].tobytes()
                assert np.array_equal(told.valid[at, receiver], own.valid[:, sender])


def test_fields_name_sender_and_target() -> None:
    _, link = stations()
    fields = link.channel.layout(1).fields
    assert fields[0] == "pursuer_0.position_x"
    assert fields[POSE] == "pursuer_0.evader_0.range"
    assert fields[POSE + 8] == "pursuer_2.position_x"
    assert fields[-1] == "pursuer_2.evader_1.range_rate"


def test_out_of_link_range_nothing_arrives() -> None:
    _, link = stations(link_range=20)
    reading = link.take(place([[0, 0, 0], [15, 0, 0], [0, 25, 0], [5, 5, 0], [9, 9, 0]]))
    first, second = reading.valid[: POSE + 8, 0], reading.valid[POSE + 8 :, 0]
    assert first.all()
    assert not second.any()
    assert not reading.values[POSE + 8 :, 0].any()


def test_the_link_loses_its_share_for_each_receiver_by_itself() -> None:
    _, link = stations(3000, loss=0.3)
    state = State(np.repeat(place([[0, 0, 0], [5, 0, 0], [0, 5, 0], [9, 0, 0], [0, 9, 0]]).block, 3000, axis=2))
    got = np.asarray([link.take(state, k).valid[[0, POSE + 8]] for k in range(2)]).reshape(12, 3000)
    assert got.mean() == pytest.approx(0.7, abs=0.01)
    assert np.abs(np.corrcoef(got) - np.eye(12)).max() < 0.1


def test_what_the_sender_itself_lost_is_not_sent() -> None:
    radar, link = stations(2000, radar={"dropout": 0.4})
    state = State(np.repeat(place([[0, 0, 0], [5, 0, 0], [0, 5, 0], [9, 0, 0], [0, 9, 0]]).block, 2000, axis=2))
    lost = radar.take(state, 3).arrival >= 2**60
    got = link.take(state, 3).valid
    assert np.array_equal(got[0, 0], ~lost[1])
    assert np.array_equal(got[POSE + 8, 0], ~lost[2])
    assert np.array_equal(got[0, 2], ~lost[0])


def test_who_is_out_of_play_sends_nothing() -> None:
    _, link = stations()
    alive = np.array([[True], [False], [True], [True], [True]])
    reading = link.take(place([[0, 0, 0], [5, 0, 0], [0, 5, 0], [9, 0, 0], [0, 9, 0]]), alive=alive)
    assert not reading.valid[: POSE + 8, 0].any()
    assert reading.valid[POSE + 8 :, 0].all()


def test_the_senders_navigation_errs_alike_for_all_receivers() -> None:
    _, link = stations(noise={"position_x": 0.5})
    state = place([[0, 0, 0], [5, 0, 0], [0, 5, 0], [9, 0, 0], [0, 9, 0]])
    reading = link.take(state, 2)
    to_first, to_second = reading.values[POSE + 8, 0, 0], reading.values[POSE + 8, 1, 0]
    assert to_first == to_second != 0.0


def test_it_arrives_after_its_own_latency() -> None:
    _, link = stations(jitter="10 ms")
    arrival = link.take(random_state(5, 1), 1).arrival - 20_000_000
    assert ((arrival >= 30_000_000) & (arrival <= 40_000_000)).all()


@pytest.mark.parametrize(
    ("link", "rule"),
    [
        ({"source": "rader"}, "did you mean 'radar'"),
        ({"source": "own"}, "measures no other agents"),
        ({"rate": 25}, "set rate: 50 Hz and phase: 0 s"),
        ({"latency": "10 ms"}, "only after 0.02 s"),
        ({"noise": {"position": 1}}, "no such field"),
    ],
)
def test_a_link_that_cannot_be_is_refused(link: dict[str, Any], rule: str) -> None:
    with pytest.raises(EngagementError, match=rule):
        file(pursuers=2, radar=RADAR, own={"kind": "own_motion"}, link={**LINK, **link})


def test_a_link_of_what_only_the_agent_itself_has_names_what_its_teammates_have() -> None:
    data = file(pursuers=1, radar=RADAR, link={"kind": "position"}).resolved()
    data["roles"]["wingman"] = {**data["roles"]["pursuer"], "sensors": {"radio": {**RADAR, "rate": 50}}}
    data["roles"]["pursuer"]["sensors"]["link"] = {**LINK, "rate": 50}
    with pytest.raises(EngagementError, match="no teammate has a sensor 'radar'; did you mean 'radio'"):
        parse(data)


def test_a_link_needs_teammates() -> None:
    with pytest.raises(EngagementError, match="nobody to measure"):
        file(pursuers=1, radar=RADAR, link=LINK)


def test_tracks_without_names_can_be_shared() -> None:
    radar, link = stations(radar={"order": "range"})
    state = random_state(5, 1, 2)
    assert link.fields[POSE] == "pursuer_1.detection_0.range"
    assert np.array_equal(link.take(state).values[POSE : POSE + 8, 0], radar.take(state).values[:, 1])
