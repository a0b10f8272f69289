"""The fixed-wing world: bare JSBSim to the bit, rows of a batch, modes, failures with names."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pe_sim.actions import Mode
from pe_sim.engagement import parse
from pe_sim.rules import OUTCOMES
from pe_sim.worlds.base import Command, told
from pe_sim.worlds.jsbsim import frames, library
from pe_sim.worlds.jsbsim.frames import LocalFrame
from pe_sim.worlds.jsbsim.properties import FOOT
from pe_sim.worlds.jsbsim.spec import FixedWingSpec

from .flying import CRUISE, begun, command, duel, role, start_of, surfaces_duel

AIRCRAFT = ("f16", "T38", "c172x", "f15", "A4", "737")


def bare(name, start, actions, substeps=6):
    """Fly recorded surface commands in JSBSim alone, written without the package; return its readings per tick."""
    jsbsim = library.load()
    fdm = jsbsim.FGFDMExec(None)
    fdm.set_output_path("/dev/null")
    fdm.load_model(name)
    fdm.set_dt(0.05 / substeps)
    fdm["ic/terrain-elevation-ft"] = start.terrain / FOOT
    fdm["ic/lat-geod-rad"], fdm["ic/long-gc-rad"] = start.latitude, start.longitude
    fdm["ic/h-sl-ft"] = start.altitude / FOOT
    fdm["ic/h-sl-ft"] = (start.altitude + (start.altitude - fdm["ic/geod-alt-ft"] * FOOT)) / FOOT
    fdm["ic/psi-true-rad"] = start.heading
    fdm["ic/gamma-rad"] = 0.0
    fdm["ic/vt-fps"] = start.airspeed / FOOT
    catalogue = fdm.query_property_catalog("")
    for lever, value in (("gear/gear-cmd-norm", 0.0), ("gear/gear-pos-norm", 0.0)):
        if lever in catalogue:
            fdm[lever] = value
    engines = catalogue.count("fcs/throttle-cmd-norm")
    for engine in range(engines):
        for lever, value in (("mixture", 1.0), ("advance", 1.0), ("throttle", 0.5)):
            fdm[f"fcs/{lever}-cmd-norm[{engine}]"] = value
    assert fdm.run_ic()
    fdm["propulsion/set-running"] = -1
    fdm.do_trim(1)
    readings = []
    for action in actions:
        for surface, value in zip(("aileron", "elevator", "rudder"), action, strict=False):
            fdm[f"fcs/{surface}-cmd-norm"] = float(value)
        for engine in range(engines):
            fdm[f"fcs/throttle-cmd-norm[{engine}]"] = float(action[3])
        for _ in range(substeps):
            fdm.run()
        readings.append(
            [fdm[f"position/ecef-{a}-ft"] for a in "xyz"]
            + [fdm["position/lat-geod-rad"], fdm["position/long-gc-rad"]]
            + [fdm[f"attitude/{a}-rad"] for a in ("phi", "theta", "psi")]
            + [fdm[f"velocities/{a}-fps"] for a in "uvw"]
            + [fdm[f"velocities/{a}-rad_sec"] for a in "pqr"]
        )
    return readings


@pytest.mark.parametrize("name", AIRCRAFT)
def test_recorded_surface_commands_in_bare_jsbsim_give_the_same_states_to_the_bit(name):
    evader = role("evaders", name)
    evader["start"]["points"] = [[1000.0, 2000.0, start_of(name).altitude + 100.0]]
    simulation = begun(parse(duel(role("pursuers", name), evader)))
    rng = np.random.default_rng(5)
    actions = rng.uniform(-0.4, 0.4, (60, 4)).astype(np.float32)
    actions[:, 3] = np.abs(actions[:, 3]) * 2.0
    states = []
    for action in actions:
        simulation.world.step(command(simulation, pursuer=action, evader=action), None)
        states.append(simulation.state.block[:, 0, 0].copy())
    assert not simulation.world.failed.any()
    frame = LocalFrame(math.radians(47.0), math.radians(8.0), 0.0)
    place = (0.0, 0.0, start_of(name).altitude)
    lat, lon, altitude = frame.geodetic(*place)
    heading = frame.true_heading(*place, 0.0)
    start = start_of(name, latitude=lat, longitude=lon, altitude=altitude, heading=heading)
    for state, reading in zip(states, bare(name, start, actions), strict=True):
        x, y, z, lat, lon, roll, pitch, heading, u, v, w, p, q, r = reading
        assert state[0:3].tolist() == list(frame.position((x * FOOT, y * FOOT, z * FOOT)))
        assert state[3:7].tolist() == list(frame.attitude(lat, lon, roll, pitch, heading))
        assert state[7:10].tolist() == list(frames.frd_to_flu((u * FOOT, v * FOOT, w * FOOT)))
        assert state[10:13].tolist() == list(frames.frd_to_flu((p, q, r)))


def test_the_start_is_where_the_file_says():
    simulation = begun(surfaces_duel())
    state = simulation.state
    assert state.pos[0, 0] == pytest.approx((0.0, 0.0, 5000.0), abs=1e-3)
    assert state.pos[0, 1] == pytest.approx((3000.0, 4000.0, 6000.0), abs=1e-3)
    assert np.linalg.norm(state.vel[0, 0]) == pytest.approx(200.0, abs=1e-3)
    east = state.agents(0, 1)
    from pe_sim.arrays import rotate

    vx, vy, _ = rotate(east.attitude, east.velocity)
    assert math.atan2(vy[0, 0], vx[0, 0]) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_row_of_a_batch_equals_the_engagement_alone_to_the_bit(workers):
    def fly(batch, seeds, workers=0):
        data = duel(role("pursuers", start={"points": None, "low": [0, 0, 4000], "high": [900, 900, 5000]}), role(
            "evaders", start={"points": None, "low": [3000, 0, 4000], "high": [3900, 900, 5000]}
        ), world={"workers": workers, "air": {"wind": [5, 3, 0], "turbulence": {"severity": 4}}})
        for side in data["roles"].values():
            del side["start"]["points"]
        simulation = begun(parse(data), batch)
        try:
            simulation.reset(np.asarray(seeds, np.int64), np.zeros(batch, np.int64))
            for _ in range(30):
                simulation.world.step(command(simulation, pursuer=[0.1, -0.2, 0, 1], evader=[-0.1, 0.1, 0, 0.5]), None)
            return simulation.state.block.copy()
        finally:
            simulation.close()

    together = fly(3, [7, 8, 9], workers)
    for row, seed in enumerate((7, 8, 9)):
        assert np.array_equal(together[:, :, row], fly(1, [seed])[:, :, 0])
    assert len({together[0, 0, row] for row in range(3)}) == 3


def test_some_engagements_can_begin_anew_while_others_fly_on():
    simulation = begun(surfaces_duel(), 2)
    act = command(simulation, pursuer=[0.1, -0.1, 0, 1], evader=[0, 0, 0, 1])
    first = simulation.state.block.copy()
    for _ in range(10):
        simulation.world.step(act, None)
    flown = simulation.state.block.copy()
    simulation.reset(np.asarray([1]), np.asarray([1]), np.asarray([1]))
    assert np.array_equal(simulation.state.block[:, :, 1], first[:, :, 1])
    assert np.array_equal(simulation.state.block[:, :, 0], flown[:, :, 0])


def test_who_is_not_active_keeps_its_state():
    simulation = begun(surfaces_duel())
    before = simulation.state.block.copy()
    act = command(simulation, pursuer=[0, 0, 0, 1], evader=[0, 0, 0, 1])
    simulation.world.step(act, np.asarray([[True], [False]]))
    assert np.array_equal(simulation.state.block[:, 1], before[:, 1])
    assert not np.array_equal(simulation.state.block[:, 0], before[:, 0])


def test_positive_surfaces_turn_positively_about_the_body_axes():
    for surface, row in (("aileron", 10), ("elevator", 11), ("rudder", 12)):
        action = [0.0, 0.0, 0.0, 0.3]
        action[("aileron", "elevator", "rudder").index(surface)] = 0.4
        evader = role("evaders", "T38", start={"points": [[0, 900, 5000]]})
        simulation = begun(parse(duel(role("pursuers", "T38"), evader)))
        for _ in range(6):
            simulation.world.step(command(simulation, pursuer=action, evader=[0, 0, 0, 0.3]), None)
        rates = simulation.state.block[10:13, 0, 0]
        assert rates[row - 10] == max(rates, key=abs) > 0.02, surface


@pytest.mark.parametrize("mode", [Mode.COAST, Mode.STOP])
def test_without_a_command_surfaces_stay_trimmed(mode):
    simulation = begun(surfaces_duel())
    act = command(simulation, pursuer=[1, -1, 1, 1], evader=[1, -1, 1, 1])
    for part in act.values():
        part.mode = np.full((1, 1), int(mode), np.int8)
    for _ in range(100):
        simulation.world.step(act, None)
    assert simulation.state.pos[0, 0, 2] == pytest.approx(5000.0, abs=1.0)
    assert not simulation.world.failed.any()


@pytest.mark.parametrize("mode", [Mode.COAST, Mode.STOP])
def test_without_a_command_an_autopilot_keeps_course_height_and_speed(mode):
    autopilot = {"dynamics": {"action": "guidance", "lateral": "bank", "vertical": "load_factor"}}
    simulation = begun(parse(duel(role("pursuers", **autopilot), role("evaders", start={"points": [[0, 900, 5000]]}))))
    turn = command(simulation, pursuer=[0.9, 1.6, 220], evader=[0, 0, 0, 0.3])
    for _ in range(60):
        simulation.world.step(turn, None)
    height = simulation.state.pos[0, 0, 2]
    turn["pursuer"].mode = np.full((1, 1), int(mode), np.int8)
    for _ in range(300):
        simulation.world.step(turn, None)
    assert simulation.state.pos[0, 0, 2] == pytest.approx(height, abs=10.0)
    assert np.abs(simulation.state.omega[0, 0]).max() < 0.01


def test_without_a_command_from_the_start_the_airspeed_is_kept_not_the_speed_over_ground():
    hold = {"dynamics": {"action": "guidance"}}
    evader = role("evaders", "c172x", start={"points": [[0, 900, 1000]]}, **hold)
    simulation = begun(parse(duel(role("pursuers", **hold), evader, world={"air": {"wind": [20.0, 0.0, 0.0]}})))
    speeds = [aircraft.aircraft.properties for aircraft in simulation.world._fleet.flights[0]]
    for _ in range(400):
        simulation.world.step({}, None)
    assert speeds[0].get("true_airspeed") == pytest.approx(CRUISE["f16"][1], abs=1.0)
    assert speeds[1].get("true_airspeed") == pytest.approx(CRUISE["c172x"][1], abs=1.0)


def ending(action, seconds=60.0, aircraft="f16", **changes):
    """Fly one action until the flight ends; return the name of the reason and whether all states were finite."""
    evader = role("evaders")
    evader["start"]["points"] = [[20_000.0, 0.0, 6000.0]]
    world = changes.pop("world", {})
    simulation = begun(parse(duel(role("pursuers", aircraft, **changes), evader, world=world)))
    simulation.commands = lambda: command(simulation, pursuer=action, evader=[0, 0, 0, 0.3])
    finite = True
    for _ in range(int(seconds / 0.05)):
        simulation.advance()
        finite = finite and bool(np.isfinite(simulation.state.block).all())
        if not simulation.running[0]:
            break
    world = simulation.world
    return world.failure_names[world.failure_reasons[0, 0]], finite, OUTCOMES[int(simulation.outcome[0])]


def test_a_dive_ends_in_ground_contact():
    low = {"start": {"points": [[0.0, 0.0, 300.0]]}}
    assert ending([0, 0.3, 0, 0.5], **low) == ("ground_contact", True, "failure")


def test_high_terrain_counts():
    low = {"start": {"points": [[0.0, 0.0, 5000.0]]}, "world": {"terrain": 4900.0}}
    assert ending([0, 0.4, 0, 0.3], 10.0, **low) == ("ground_contact", True, "failure")


def test_too_much_load_breaks_the_aircraft():
    weak = {"dynamics": {"breaking_load_factor": [-1, 2.5]}}
    assert ending([0, -1, 0, 1], **weak) == ("overstress", True, "failure")


def test_staying_stalled_ends_the_flight():
    low = {"dynamics": {"stall_angle": "12 deg", "stall_time": "1 s"}}
    assert ending([0, -1, 0, 0], 90.0, "c172x", **low) == ("stall", True, "failure")


def test_leaving_the_area_ends_the_flight():
    small = {"world": {"area": {"low": [-2000, -5000, 0], "high": [30000, 5000, 9000]}}}
    back = {"start": {"heading": [math.pi, math.pi]}}
    assert ending([0, 0, 0, 0.4], 30.0, **back, **small) == ("left_area", True, "failure")


def test_numbers_that_run_away_end_the_flight_and_the_last_finite_state_stays():
    simulation = begun(surfaces_duel())
    before = simulation.state.block.copy()
    act = command(simulation, pursuer=[0, math.nan, 0, 1], evader=[0, 0, 0, 0.3])
    for _ in range(20):
        simulation.world.step(act, None)
    assert simulation.world.failure_names[simulation.world.failure_reasons[0, 0]] == "diverged"
    assert np.isfinite(simulation.state.block).all()
    assert np.abs(simulation.state.block[:3, 0] - before[:3, 0]).max() < 250.0
    assert not simulation.world.failed[1, 0]


def test_ticks_are_divided_into_substeps_of_at_most_a_120th_of_a_second():
    for tick, expected in (("50 ms", 6), ("1/120 s", 1), ("10 ms", 2), ("25 ms", 3), ("100 ms", 12)):
        data = surfaces_duel().world.model_dump() | {"tick": tick}
        assert FixedWingSpec.model_validate(data).substeps == expected


def test_the_number_of_workers_is_no_part_of_what_an_engagement_is():
    assert surfaces_duel(world={"workers": 2}).sha256 == surfaces_duel().sha256


def test_the_order_of_keys_in_the_file_does_not_matter():
    data = duel(role("pursuers"), role("evaders", start={"points": [[3000.0, 0.0, 6000.0]]}))
    backwards = {key: dict(reversed(list(value.items()))) if key == "world" else value for key, value in data.items()}
    for side in backwards["roles"].values():
        side["start"] = dict(reversed(list(side["start"].items())))
        side["dynamics"] = dict(reversed(list(side["dynamics"].items())))
    states = [begun(parse(file)).state.block for file in (data, backwards)]
    assert np.array_equal(*states)


def test_actions_are_described_with_units_and_limits():
    guided = {"dynamics": {"action": "guidance"}}
    simulation = begun(parse(duel(role("pursuers", **guided), role("evaders", start={"points": [[900, 0, 6000]]}))))
    flight, surfaces = simulation.roles["pursuer"].action, simulation.roles["evader"].action
    assert (flight.kind, flight.names) == ("flight", ("heading", "altitude", "airspeed"))
    assert flight.units == ("rad", "m", "m/s")
    assert (surfaces.kind, surfaces.names) == ("surfaces", ("aileron", "elevator", "rudder", "throttle"))
    assert surfaces.low.tolist() == [-1, -1, -1, 0]
    assert surfaces.high.tolist() == [1, 1, 1, 1]
    assert Command(np.zeros(1), None).mode is None


def test_the_result_of_an_episode_tells_who_ended_and_why():
    pursuer, evader = role("pursuers", start={"points": [[0.0, 0.0, 150.0]]}), role("evaders")
    evader["start"]["points"] = [[20_000.0, 0.0, 6000.0]]
    simulation = begun(parse(duel(pursuer, evader)))
    simulation.commands = lambda: command(simulation, pursuer=[0, 0.5, 0, 0.5], evader=[0, 0, 0, 0.3])
    assert simulation.world.failures(0) == {}
    for _ in range(200):
        simulation.advance()
    assert simulation.world.failures(0) == {"pursuer_0": "ground_contact"}
    assert told(simulation.world.failures(0)) == "pursuer_0 ground contact"
