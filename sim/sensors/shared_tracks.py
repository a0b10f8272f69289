"""Shared tracks: what teammates' sensors measure, over a link of limited range that delays and loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from pe_sim import registry, streams
from pe_sim.arrays import Array
from pe_sim.quantities import Length, Probability, show_rate, show_time
from pe_sim.schema import nearest
from pe_sim.sensors.ahead import Ahead, put_rows
from pe_sim.sensors.base import Measured, Quantity, Sensor, SensorSpec, check_noise
from pe_sim.sensors.delays import SensorTiming
from pe_sim.sensors.errors import Errors
from pe_sim.sensors.instrument import Instrument
from pe_sim.sensors.scene import Scene
from pe_sim.sensors.selection import target_indices
from pe_sim.sensors.setting import SensorSetting, index_of
from pe_sim.state import State

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

_LINK = 7


class SharedTracksSpec(SensorSpec):
    """Settings of a link.

    Rate and phase are those of the shared sensor; the latency is counted from the measurement, so it is at least the
    shared sensor's own latency and jitter.

    Attributes:
        source: name of the sensor whose readings teammates send.
        link_range: greatest distance between sender and receiver at the instant of the measurement [m], None for any.
        loss: probability that one sender's message is lost on its way to one receiver.
    """

    source: str
    link_range: Annotated[Length, Field(gt=0.0)] | None = None
    loss: Probability = 0.0


class SharedTracks(Sensor):
    """Per teammate that has the shared sensor: where it is [m; world], its attitude, and its reading.

    The values of the reading are the sender's own to the last bit, in the frame of the shared sensor. All of a sender's
    values are invalid where its reading did not reach the receiver: out of link range, lost on the link, lost on the
    sender's own way (its dropout), or the sender out of play. ``noise`` is that of the sender's navigation.
    """

    name: ClassVar[str] = "shared_tracks"
    Parameters: ClassVar[type[SensorSpec]] = SharedTracksSpec
    quantities = (
        *(Quantity(f"position_{axis}", "m") for axis in "xyz"),
        *(Quantity(f"attitude_{axis}", "1") for axis in "xyzw"),
    )
    frame: ClassVar[str] = "world"

    def measure(self, scene: Scene) -> Measured:
        """Return the pose of the senders."""
        return scene.own.block[0:7], None

    @classmethod
    def instrument(cls, setting: SensorSetting) -> Instrument:
        """Return the receiver of the link."""
        return LinkReceiver(setting)

    @classmethod
    def check(cls, engagement: Engagement, role: str, sensor: str) -> None:
        """Refuse a link to nobody, of a sensor that cannot be shared, or out of step with it."""
        spec, path = engagement.roles[role].sensors[sensor], f"roles.{role}.sensors.{sensor}"
        assert isinstance(spec, SharedTracksSpec)
        check_noise(spec, cls.quantities, path)
        numbers = range(engagement.roles[role].count)
        mates = {i for number in numbers for i in target_indices(engagement, role, number, "teammates", path)}
        team = engagement.roles[role].team
        shared = {name: mate.sensors for name, mate in engagement.roles.items() if mate.team == team}
        known = {name for i in mates for name in shared[engagement.role_of(engagement.agents[i])]}
        if spec.source not in known:
            raise PydanticCustomError(
                "link", "{path}.source: no teammate has a sensor {source}; {nearest}",
                {"path": path, "source": repr(spec.source), "nearest": nearest(spec.source, known - {sensor})},
            )
        for sensors in shared.values():
            if spec.source in sensors:
                _check_source(spec, sensors[spec.source], path)


def _check_source(spec: SharedTracksSpec, source: SensorSpec, path: str) -> None:
    if not registry.lookup("pe_sim.sensors", source.kind).of_targets:
        raise PydanticCustomError(
            "link", "{path}.source: {source} measures no other agents", {"path": path, "source": repr(spec.source)}
        )
    if (spec.rate, spec.phase) != (source.rate, source.phase):
        rate, phase = show_rate(source.rate), show_time(source.phase)
        raise PydanticCustomError(
            "link", "{path}: a link sends each reading of {source}: set rate: {rate} and phase: {phase}",
            {"path": path, "source": repr(spec.source), "rate": rate, "phase": phase},
        )
    if spec.latency < source.latency + source.jitter:
        raise PydanticCustomError(
            "link", "{path}.latency: the sender itself may have the reading only after {least}",
            {"path": path, "least": show_time(source.latency + source.jitter)},
        )


def senders_of(engagement: Engagement, role: str, number: int, source: str) -> list[int]:
    """Return the indices of the teammates of an agent that have the shared sensor."""
    mates = target_indices(engagement, role, number, "teammates", f"roles.{role}.sensors")
    return [i for i in mates if source in engagement.roles[engagement.role_of(engagement.agents[i])].sensors]


class _Senders:
    """The senders of one role: what each of them sends.

    Attributes:
        agents: their indices.
    """

    def __init__(self, setting: SensorSetting, role: str, agents: list[int]) -> None:
        engagement, xp = setting.engagement, setting.xp
        spec = setting.spec
        assert isinstance(spec, SharedTracksSpec)
        first = engagement.role_ranges[role][0]
        numbers = tuple(i - first for i in agents)
        shared = SensorSetting(engagement, role, spec.source, numbers, xp)
        self.agents = agents
        self._xp = xp
        self._index = index_of(agents)
        self._keys_of = SensorSetting(engagement, role, setting.sensor, numbers, xp)
        self._pose = Errors(xp, SharedTracks.quantities, spec, None, self._keys_of)
        self._timing = SensorTiming(engagement, role, spec.source, agents, xp)
        self.instrument: Instrument = registry.lookup("pe_sim.sensors", shared.spec.kind).instrument(shared)
        self.width = len(SharedTracks.quantities) + self.instrument.width

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Take the keys of new episodes."""
        self._timing.reset(roots, rows)
        self.instrument.reset(roots, rows)
        self._pose.reset(self._keys_of.keys(roots), rows, roots)

    def messages(
        self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None
    ) -> tuple[Array, Array]:
        """Return what they send, float32 (W, k, B), and what of it is valid, bool (W, k, B)."""
        xp = self._xp
        values, valid = self.instrument.read(state, alive, stamp, sequence, taken)
        pose = self._pose.apply(state.block[0:7, self._index], sequence)
        sent = alive[self._index]
        lost = self._timing.lost(sequence)
        sent = sent if lost is None else sent & ~lost
        every = xp.ones((len(SharedTracks.quantities), *sent.shape), dtype=xp.bool)
        return xp.concat((xp.astype(pose, xp.float32), values)), xp.concat((every, valid)) & sent


class LinkReceiver(Instrument):
    """Receives what teammates send, teammate by teammate in the order of the engagement."""

    def __init__(self, setting: SensorSetting) -> None:
        spec = setting.spec
        assert isinstance(spec, SharedTracksSpec)
        engagement = setting.engagement
        self._setting = setting
        self._spec = spec
        self._xp = setting.xp
        self.frame = SharedTracks.frame
        self._of = [senders_of(engagement, setting.role, number, spec.source) for number in setting.numbers]
        self._roles = [
            engagement.role_of(engagement.agents[i]) for i in self._of[0]
        ]
        self._senders = {
            role: _Senders(setting, role, sorted({i for chosen in self._of for i in chosen if self._role(i) == role}))
            for role in dict.fromkeys(self._roles)
        }
        # Which of its role's senders stands in each slot of each receiver.
        self._places = [
            [self._senders[role].agents.index(chosen[slot]) for chosen in self._of]
            for slot, role in enumerate(self._roles)
        ]
        self.width = sum(self._senders[role].width for role in self._roles)
        self.others = [
            sorted({i for sender in chosen for i in (sender, *self._needs(sender))} - {own})
            for own, chosen in zip(setting.agents, self._of, strict=True)
        ]
        self._ahead = Ahead(self._xp, self._draw, 3)
        self._keys: Array = None

    def _role(self, agent: int) -> str:
        return self._setting.engagement.role_of(self._setting.engagement.agents[agent])

    def _needs(self, sender: int) -> list[int]:
        """Return whose motion a sender's reading is made from."""
        senders = self._senders[self._role(sender)]
        return senders.instrument.others[senders.agents.index(sender)]

    def fields(self, place: int) -> list[tuple[str, str]]:
        """Return the pose and the reading of each sender."""
        agents = self._setting.engagement.agents
        out = []
        for sender in self._of[place]:
            senders = self._senders[self._role(sender)]
            reading = senders.instrument.fields(senders.agents.index(sender))
            pose = [(quantity.name, quantity.unit) for quantity in SharedTracks.quantities]
            out += [(f"{agents[sender]}.{name}", unit) for name, unit in (*pose, *reading)]
        return out

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Take the keys of new episodes, those of the senders too."""
        for senders in self._senders.values():
            senders.reset(roots, rows)
        if self._spec.loss > 0.0:
            agents = self._setting.engagement.agents
            own = self._setting.keys(roots)
            new = self._xp.stack([
                self._xp.stack([
                    streams.derive(streams.derive(own[i], _LINK), streams.name_key(agents[chosen[slot]]))
                    for i, chosen in enumerate(self._of)
                ])
                for slot in range(len(self._roles))
            ])
            self._keys = put_rows(self._keys, new, rows)
            self._ahead.forget()

    def _draw(self, numbers: Array) -> Array:
        return streams.uniform(self._xp, self._keys, numbers)

    def read(
        self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None
    ) -> tuple[Array, Array]:
        """Let the teammates measure, and take of it what reaches the receivers."""
        xp = self._xp
        sent = {
            role: senders.messages(state, alive, stamp, sequence, taken) for role, senders in self._senders.items()
        }
        lost = self._ahead.of(sequence) < self._spec.loss if self._spec.loss > 0.0 else None
        values, valid = [], []
        for slot, (role, places) in enumerate(zip(self._roles, self._places, strict=True)):
            index = index_of(places)
            ok = sent[role][1][:, index]
            if self._spec.link_range is not None:
                ok = ok & self._within(state, slot)
            if lost is not None:
                ok = ok & ~lost[slot]
            values.append(xp.where(ok, sent[role][0][:, index], 0.0))
            valid.append(ok)
        return xp.astype(xp.concat(values), xp.float32), xp.concat(valid)

    def _within(self, state: State, slot: int) -> Array:
        """Return which receivers are in link range of the sender in a slot, bool (n, B)."""
        assert self._spec.link_range is not None
        own = state.block[0:3, index_of(self._setting.agents)]
        away = state.block[0:3, index_of([chosen[slot] for chosen in self._of])] - own
        square = away[0] * away[0] + away[1] * away[1] + away[2] * away[2]
        return square <= self._spec.link_range * self._spec.link_range
