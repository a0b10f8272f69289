"""The air: steady wind, and JSBSim's turbulence with a seed of its own per aircraft."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pe_sim.quantities import Speed
from pe_sim.schema import Strict
from pe_sim.worlds.jsbsim.properties import PropertyAccess

MODELS = {"milspec": 3.0, "tustin": 4.0}
"""JSBSim's numbers of the Dryden spectra of MIL-F-8785C, in two discretisations."""

SEEDS = 2**31 - 1


class TurbulenceSpec(Strict):
    """Random motion of the air (Dryden spectra, MIL-F-8785C).

    Attributes:
        model: discretisation: 'tustin' (as in MIL-HDBK-1797A) or 'milspec'.
        severity: probability of exceedance index, 1 (light) to 7 (extreme), for heights above 2,000 ft.
        wind_at_20_feet: mean wind near the ground [m/s], for heights below 1,000 ft.
    """

    model: Literal["milspec", "tustin"] = "tustin"
    severity: Annotated[int, Field(ge=1, le=7)] = 3
    wind_at_20_feet: Annotated[Speed, Field(ge=0.0, le=50.0)] = 7.5


Wind = Annotated[Speed, Field(ge=-150.0, le=150.0)]
"""One component of a wind [m/s]; the strongest jet streams blow at little more than 110 m/s."""


class AirSpec(Strict):
    """The air of the world.

    Attributes:
        wind: steady velocity of the air (x, y, z), each at most 150 either way [m/s; ENU world].
        turbulence: None for smooth air.
    """

    wind: tuple[Wind, Wind, Wind] = (0.0, 0.0, 0.0)
    turbulence: TurbulenceSpec | None = None


def seed_of(bits: int) -> int:
    """Return the seed of JSBSim's generator from 64 random bits: 1 to 2^31 - 1."""
    return bits % SEEDS + 1


def stir(properties: PropertyAccess, turbulence: TurbulenceSpec, seed: int) -> None:
    """Turn turbulence on.

    Args:
        properties: an aircraft after its initial conditions.
        turbulence: how strong.
        seed: of this aircraft's air in this episode, 1 to 2^31 - 1.
    """
    properties.set("random_seed", float(seed))
    properties.set("turbulence_seed", float(seed))
    properties.set("turbulence_wind_at_20_feet", turbulence.wind_at_20_feet)
    properties.set("turbulence_severity", float(turbulence.severity))
    properties.set("turbulence_model", MODELS[turbulence.model])
