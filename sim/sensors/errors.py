"""Errors of a sensor's values: constant bias, white noise, quantisation; angles wrap, bounded fields stay in bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pe_sim import streams
from pe_sim.arrays import Array, wrap_angle
from pe_sim.draws import Draw, draw_of
from pe_sim.sensors.ahead import Ahead, put_rows
from pe_sim.sensors.base import Quantity, SensorSpec
from pe_sim.sensors.setting import SensorSetting

_BIAS, _WHITE = 3, 4


class Errors:
    """Errors of F fields of m slots of n agents.

    The draw for field f of slot j is component ``j F + f`` of the reading's own stream, half of a pair.

    Args:
        xp: array namespace.
        quantities: the fields.
        spec: gives their noise.
        slots: m, or None for values without an axis of slots.
        setting: whose errors they are, where the file may draw their size for every episode.
    """

    def __init__(
        self, xp: Any, quantities: Sequence[Quantity], spec: SensorSpec, slots: int | None,
        setting: SensorSetting | None = None,
    ) -> None:
        self._xp = xp
        self._slots = slots
        self._sizes = None if setting is None else noise_sizes(setting, quantities)
        self._quantities = quantities
        noise = [
            spec.noise[quantity.name].in_unit(quantity.unit) if quantity.name in spec.noise else (0.0, 0.0, 0.0)
            for quantity in quantities
        ]
        self._steps = {f: step for f, (_, _, step) in enumerate(noise) if step > 0.0}
        self._erroneous = sorted({f for f, (white, bias, _) in enumerate(noise) if white > 0.0 or bias > 0.0})
        self._white = _Draws(xp, [white for white, _, _ in noise], slots)
        self._bias = _Draws(xp, [bias for _, bias, _ in noise], slots)
        self._ahead = Ahead(xp, self._draw_white, 3)
        self._keys: Array = None
        self._offset: Array = None
        self._size: Array | None = None

    def reset(self, keys: Array, rows: Array | None, roots: Array | None = None) -> None:
        """Take stream keys, int64 (n, R), and draw the biases, for the engagements ``rows`` (indices; None for all).

        ``roots`` are the episodes' root keys (R,): the sizes of the errors are drawn from them.
        """
        size: Array | None = None
        if self._sizes is not None:
            size = self._xp.stack([one.values(roots) if one is not None else keys * 0 + 1.0 for one in self._sizes])
            size = size if self._slots is None else size[:, :, None]
            self._size = put_rows(self._size, size, rows)
            self._ahead.forget()
        if self._white.fields:
            self._keys = put_rows(self._keys, self._white.keys(streams.derive(keys, _WHITE)), rows)
            self._ahead.forget()
        if self._bias.fields:
            bias_keys = self._bias.keys(streams.derive(keys, _BIAS))
            self._offset = put_rows(self._offset, self._bias.draw(bias_keys, 0, size), rows)

    @property
    def drawn(self) -> Errors | None:
        """Itself, or None where nothing is ever drawn."""
        return self if self._erroneous else None

    def _draw_white(self, numbers: Array) -> Array:
        return self._white.draw(self._keys, numbers, self._size)

    def apply(self, values: Array, sequence: Array) -> Array:
        """Return values (F, n, B) or (F, n, m, B) with their errors.

        Args:
            values: noise-free values, float64; they are not changed.
            sequence: number of the reading, int64 (B,).
        """
        if not self._erroneous and not self._steps:
            return values
        values = values + 0.0
        if self._white.fields:
            self._white.add(values, self._ahead.of(sequence))
        if self._bias.fields:
            self._bias.add(values, self._offset)
        for field, step in self._steps.items():
            values[field] = self._xp.round(values[field] / step) * step
        for field in {*self._erroneous, *self._steps}:
            self._confine(values, field)
        return values

    def _confine(self, values: Array, field: int) -> None:
        xp, quantity = self._xp, self._quantities[field]
        if quantity.angle:
            values[field] = wrap_angle(xp, values[field])
        if quantity.low is not None or quantity.high is not None:
            values[field] = xp.clip(values[field], quantity.low, quantity.high)


def noise_sizes(setting: SensorSetting, quantities: Sequence[Quantity]) -> list[Draw | None] | None:
    """Return what the errors of each field are scaled by in each episode; None where the file draws nothing."""
    path = f"{setting.path}.noise"
    draws = [
        draw_of(setting.engagement, f"{path}.{quantity.name}", setting.xp, setting.names)
        or draw_of(setting.engagement, path, setting.xp, setting.names)
        for quantity in quantities
    ]
    return draws if any(draw is not None for draw in draws) else None


class _Draws:
    """Normal draws for the fields whose deviation is not zero, in pairs, all at once."""

    def __init__(self, xp: Any, deviations: list[float], slots: int | None) -> None:
        self._xp = xp
        self._slots = slots
        width, places = len(deviations), range(1 if slots is None else slots)
        self.fields = [f for f, deviation in enumerate(deviations) if deviation > 0.0]
        self._every_field = len(self.fields) == width
        wanted = [[j * width + f for j in places] for f in self.fields]
        self._pairs = sorted({component // 2 for row in wanted for component in row})
        order = [2 * pair + half for pair in self._pairs for half in (0, 1)]
        rows = [order.index(component) for row in wanted for component in row]
        self._rows = None if rows == list(range(len(order))) else xp.asarray(rows)
        tail = (1, 1) if slots is None else (1, 1, 1)
        self._deviations = xp.reshape(
            xp.asarray([deviations[f] for f in self.fields], dtype=xp.float64), (len(self.fields), *tail)
        )

    def keys(self, keys: Array) -> Array:
        """Return the key of each pair, int64 (pairs, n, R), from that of each agent, int64 (n, R)."""
        return self._xp.stack([streams.derive(keys, pair) for pair in self._pairs])

    def draw(self, keys: Array, numbers: Array | int, size: Array | None = None) -> Array:
        """Return the errors, float64 (..., fields, n, m, B), or without m.

        Args:
            keys: of each pair, (pairs, n, B).
            numbers: of the draws, (B,), (K, 1, 1, 1) or an integer.
            size: factor of each of the F fields, (F, n, 1, B), or without m; None for 1.
        """
        xp = self._xp
        first, second = streams.normal_pair(xp, keys, numbers)
        *lead, _, agents, batch = first.shape
        both = xp.empty((*lead, len(self._pairs), 2, agents, batch), dtype=xp.float64)
        both[..., 0, :, :] = first
        both[..., 1, :, :] = second
        draws = xp.reshape(both, (*lead, 2 * len(self._pairs), agents, batch))
        if self._rows is not None:
            draws = xp.take(draws, self._rows, axis=len(lead))
        if self._slots is not None:
            draws = xp.reshape(draws, (*lead, len(self.fields), self._slots, agents, batch))
            axes = len(lead)
            order = (*range(axes), axes, axes + 2, axes + 1, axes + 3)
            draws = xp.permute_dims(draws, order)
        if size is not None:
            return draws * (self._deviations * (size if self._every_field else size[self.fields]))
        return draws * self._deviations

    def add(self, values: Array, errors: Array) -> None:
        """Add errors to the fields that have them, in place."""
        if self._every_field:
            values += errors
            return
        for i, field in enumerate(self.fields):
            part = values[field]
            part += errors[i]
