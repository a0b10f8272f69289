"""Turning what was seen about the vertical: what is said in body axes stays, the attitude turns.

Which way is north tells nothing about how to bank towards an opponent that is seen from the cockpit, but an attitude
as a quaternion is another one for every heading. Turned copies spare flying every manoeuvre to all sides.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pe_sim.errors import EngagementError

ATTITUDE = tuple(f"attitude_{axis}" for axis in "xyzw")


class Turns:
    """Turns observation vectors about the world's z axis, each by an angle of its own.

    Args:
        names: of the values of an observation vector, '<sensor>.<field>'.

    Raises:
        EngagementError: if no sensor tells an attitude.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        sensors = [name.partition(".")[0] for name in names if name.endswith(f".{ATTITUDE[0]}")]
        self._places = [[names.index(f"{sensor}.{axis}") for axis in ATTITUDE] for sensor in sensors]
        if not self._places:
            raise EngagementError("warm_start.turns", "no sensor tells an attitude that could be turned")

    def turned(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return observation vectors (R, K) turned by uniform angles.

        A quaternion is its own negative's attitude; angles up to two full turns bring both.
        """
        half = torch.rand(len(rows), generator=generator) * (2.0 * torch.pi)
        cosine, sine = torch.cos(half), torch.sin(half)
        out = rows.clone()
        for places in self._places:
            x, y, z, w = (rows[:, place] for place in places)
            turned = (cosine * x - sine * y, cosine * y + sine * x, cosine * z + sine * w, cosine * w - sine * z)
            for place, values in zip(places, turned, strict=True):
                out[:, place] = values
        return out
