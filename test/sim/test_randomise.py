"""Domain randomisation: drawn within its range, really applied, the same for a row, a run alone and the environment."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.draws import drawn_values
from pe_sim.engagement import Engagement, load, parse
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import EngagementError
from pe_sim.evaluation.rollout import Rollout
from pe_sim.learning.env_state import environment_state, restore_environment
from pe_sim.randomise import targets
from pe_sim.show import as_yaml
from pe_sim.simulation import Simulation

from .envs.test_vector_pursuit import QUICK, SLOW, compare
from .files import ENGAGEMENTS, engagements, shipped
from .test_parity import runs_alike

KINEMATIC = ENGAGEMENTS / "kinematic_3v1.yaml"

EVERYTHING: dict[str, Any] = {
    "roles.pursuer.dynamics.max_speed": {"low": 8, "high": "12 m/s"},
    "roles.pursuer.dynamics.max_acceleration": {"scale": [0.7, 1.3], "per": "agent"},
    "roles.evader.dynamics.max_speed": {"scale": [0.8, 1.2]},
    "roles.evader.dynamics.time_constant": {"low": "50 ms", "high": "0.2 s"},
    "roles.evader.dynamics.max_tilt": {"low": "20 deg", "high": "60 deg"},
    "roles.evader.dynamics.max_yaw_rate": {"scale": [0.5, 1]},
    "roles.pursuer.sensors.radar.latency": {"low": 0, "high": "40 ms", "per": "agent"},
    "roles.pursuer.sensors.radar.jitter": {"choices": [0, "30 ms"]},
    "roles.pursuer.sensors.radar.dropout": {"choices": [0, 0.1, 0.3]},
    "roles.pursuer.sensors.radar.noise": {"scale": [0.5, 2]},
    "roles.evader.sensors.tracker.noise.x": {"scale": [0.5, 4]},
    "roles.pursuer.action.latency": {"low": 0, "high": "60 ms"},
    "world.arena": {"scale": [0.8, 1.2]},
    "world.min_start_distance": {"low": 15, "high": 30},
    "world.min_separation": {"choices": [2, 4]},
    "world.obstacles.shift": {"low": -3, "high": 3},
    "world.obstacles.1.size": {"scale": [0.7, 1.3]},
}


def drawn(randomise: dict[str, Any], **changes: Any) -> Engagement:
    return load(KINEMATIC, {"randomise": randomise, **{key.replace("__", "."): v for key, v in changes.items()}})


def everything(limit: str = "2 s", **changes: Any) -> Engagement:
    return drawn(EVERYTHING, rules__time_limit=limit, roles__pursuer__sensors__radar__occlusion=True, **changes)


def test_a_row_of_a_batch_a_run_alone_and_the_env_draw_the_same() -> None:
    runs_alike(everything(), 5)


def test_rows_of_the_batched_env_are_dict_environments_over_restarts() -> None:
    assert compare(everything("300 ms"), 3, 80, batch=3) > 3


@pytest.mark.parametrize("name", ["grid_1v1", "multirate_2v2"])
def test_other_worlds_draw_delays_and_starts(name: str) -> None:
    plain = shipped(name, rules__max_step=40)
    role = next(iter(plain.roles))
    randomise: dict[str, Any] = {f"roles.{role}.action.latency": {"low": 0, "high": "60 ms"}}
    randomise["world.min_start_distance"] = {"scale": [0.5, 1]}
    randomise.update({
        f"roles.{role}.sensors.{sensor}.latency": {"low": 0, "high": "50 ms"} for sensor in plain.roles[role].sensors
    })
    runs_alike(shipped(name, rules__max_step=40, randomise=randomise), 2)


def simulation_of(engagement: Engagement, batch: int, seed: int = 1) -> Simulation:
    simulation = Simulation(engagement, batch)
    simulation.reset(np.full(batch, seed), np.arange(batch))
    return simulation


def test_the_section_is_shown_with_units_and_reads_back() -> None:
    engagement = everything()
    text = as_yaml(engagement)
    assert "  roles.pursuer.dynamics.max_speed: {low: 8.0, high: 12.0}  # m/s\n" in text
    assert "  roles.evader.dynamics.time_constant: {low: 0.05, high: 0.2}  # s\n" in text
    assert "  roles.pursuer.sensors.radar.noise: {scale: [0.5, 2.0]}\n" in text
    assert parse(yaml.safe_load(text)) == engagement
    assert parse(engagement.resolved()).sha256 == engagement.sha256


def test_two_sections_that_mean_the_same_have_the_same_hash() -> None:
    path = "roles.pursuer.action.latency"
    one, other = drawn({path: {"low": "0.01 s", "high": "20 ms"}}), drawn({path: {"low": 0.01, "high": "0.02"}})
    assert one.sha256 == other.sha256
    assert one.sha256 != drawn({path: {"low": "0.01 s", "high": "21 ms"}}).sha256


def test_a_file_that_draws_nothing_keeps_its_hash() -> None:
    assert drawn({}).sha256 == load(KINEMATIC).sha256
    assert "randomise" not in load(KINEMATIC).resolved()


@pytest.mark.parametrize(
    ("randomise", "words"),
    [
        ({"roles.pursuer.dynamics.max_sped": {"low": 1, "high": 2}}, ["max_sped", "did you mean"]),
        ({"world.tick": {"scale": [1, 2]}}, ["world.tick", "cannot be drawn"]),
        ({"roles.pursuer.dynamics.max_speed": {"low": 8}}, ["max_speed", "low and high belong together"]),
        ({"roles.pursuer.dynamics.max_speed": {}}, ["max_speed", "needs low and high, or scale, or choices"]),
        ({"roles.pursuer.dynamics.max_speed": {"low": 9, "high": 8}}, ["max_speed.low", "must not exceed high", "9"]),
        ({"roles.pursuer.dynamics.max_speed": {"low": -1, "high": 8}}, ["max_speed.low", "greater than 0", "-1"]),
        ({"roles.pursuer.dynamics.max_speed": {"low": 1, "high": "8 s"}}, ["max_speed.high", "wrong unit", "8 s"]),
        ({"roles.pursuer.dynamics.max_speed": {"scale": [0, 2]}}, ["max_speed", "positive"]),
        ({"roles.pursuer.sensors.radar.dropout": {"low": 0, "high": 1.5}}, ["dropout.high", "less than or equal to 1"]),
        ({"roles.pursuer.sensors.radar.dropout": {"scale": [1, 2]}}, ["dropout.scale", "the file says 0"]),
        ({"roles.pursuer.sensors.radar.noise": {"low": 0, "high": 1}}, ["radar.noise", "can only be scaled"]),
        ({"roles.pursuer.sensors.radar.noise.rang": {"scale": [1, 2]}}, ["noise.rang", "noise.range"]),
        ({"world.obstacles.shift": {"scale": [1, 2]}}, ["shift.scale", "is a shift"]),
        ({"world.obstacles.7.shift": {"low": 0, "high": 1}}, ["world.obstacles.7.shift", "cannot be drawn"]),
        ({"world.arena": {"scale": [0.5, 1], "per": "agent"}}, ["world.arena.per", "belongs to no agent"]),
        ({"world.min_start_distance": {"low": 1, "hgh": 2}}, ["min_start_distance", "unknown key 'hgh'", "'high'"]),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(randomise: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(EngagementError) as fault:
        drawn(randomise)
    for word in ["randomise", *words]:
        assert word in str(fault.value)


def test_arenas_without_room_to_start_and_obstacles_on_a_start_are_refused() -> None:
    box = {"low": [-40, -40, 2], "high": [-35, 40, 30]}
    words = r"randomise.world.arena.scale: the least arena leaves no room for roles.pursuer"
    with pytest.raises(EngagementError, match=words):
        drawn({"world.arena": {"scale": [0.8, 1]}}, roles__pursuer__start=box)
    point = {"points": [[3, 12, 10]]}
    with pytest.raises(EngagementError, match=r"randomise.world.obstacles.0: may reach the start"):
        drawn({"world.obstacles.0.shift": {"low": -4, "high": 4}}, roles__evader__start=point)
    drawn({"world.obstacles.0.shift": {"low": -1, "high": 1}}, roles__evader__start=point)
    with pytest.raises(EngagementError, match=r"randomise.world: .* no place to start: no free place found for eva"):
        drawn({"world.min_start_distance": {"low": 10, "high": 75}, "world.arena": {"scale": [0.6, 1.0]}})


def test_draws_lie_in_their_ranges_fill_them_and_differ_between_episodes() -> None:
    engagement = everything()
    episodes = [drawn_values(engagement, 3, episode) for episode in range(200)]
    for path, low, high in [
        ("roles.pursuer.dynamics.max_speed", 8.0, 12.0), ("roles.evader.dynamics.max_speed", 6.4, 9.6),
        ("roles.evader.dynamics.time_constant", 0.05, 0.2), ("roles.pursuer.action.latency", 0.0, 0.06),
        ("world.arena", 0.8, 1.2), ("world.obstacles.shift/2/x", -3.0, 3.0), ("world.min_start_distance", 15.0, 30.0),
    ]:
        values = np.asarray([episode[path] for episode in episodes])
        assert low <= values.min() < low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) < values.max() <= high
        assert len(set(values.tolist())) == 200
    assert {episode["roles.pursuer.sensors.radar.dropout"] for episode in episodes} == {0.0, 0.1, 0.3}
    own = np.asarray([list(episode["roles.pursuer.sensors.radar.latency"].values()) for episode in episodes])
    assert own.shape == (200, 3)
    assert np.abs(np.corrcoef(own.T) - np.eye(3)).max() < 0.25


def test_draws_of_one_path_do_not_depend_on_what_else_is_drawn() -> None:
    path = "roles.pursuer.dynamics.max_speed"
    assert drawn_values(everything(), 1, 5)[path] == drawn_values(drawn({path: EVERYTHING[path]}), 1, 5)[path]


def test_an_episode_is_the_plain_file_with_the_drawn_values_in_it() -> None:
    chosen = [
        "roles.pursuer.dynamics.max_speed", "roles.evader.dynamics.time_constant", "world.min_start_distance",
        "roles.pursuer.action.latency", "roles.pursuer.sensors.radar.dropout",
    ]
    randomise = {key: EVERYTHING[key] for key in chosen}
    randomise["roles.pursuer.sensors.radar.latency"] = {"low": 0, "high": "40 ms"}
    randomise["roles.pursuer.dynamics.max_acceleration"] = {"scale": [0.7, 1.3]}
    engagement = drawn(randomise)
    # The speed apart, which the action reaches in full command: the policies then ask for other values.
    del randomise["roles.pursuer.dynamics.max_speed"]
    for episode in range(4):
        values: dict[str, Any] = dict(drawn_values(engagement, 2, episode))
        speed = values.pop("roles.pursuer.dynamics.max_speed")
        plain = Rollout(load(KINEMATIC, {"rules.time_limit": "3 s", **values}), 1).run([2], [episode])[0]
        changed = drawn(randomise, rules__time_limit="3 s")
        assert Rollout(changed, 1).run([2], [episode])[0].trajectory_sha256 == plain.trajectory_sha256
        assert 8.0 <= speed <= 12.0


def test_the_state_statistics_differ_by_what_is_drawn() -> None:
    """Really applied: what is drawn shows in the state, with the ratio that it was drawn with."""
    path = "roles.pursuer.dynamics.max_speed"
    engagement = drawn({path: {"low": 3, "high": 9}}, rules__time_limit="20 s")
    batch = 64
    simulation = simulation_of(engagement, batch)
    fast = np.zeros(batch)
    policy = np.zeros((4, 3, batch), np.float32)
    policy[0] = 10.0  # full command eastwards
    other = np.zeros((4, 1, batch), np.float32)
    for _ in range(150):
        simulation.sense()
        for role, values in (("pursuer", policy), ("evader", other)):
            due = simulation.due(role)
            if due is not None:
                simulation.submit(role, values, due)
        simulation.advance()
        speed = np.sqrt((simulation.state.block[7:10, :3] ** 2).sum(axis=0)).max(axis=0)
        fast = np.maximum(fast, speed)
    wanted = np.asarray([drawn_values(engagement, 1, episode)[path] for episode in range(batch)])
    assert np.median(np.abs(fast - wanted) / wanted) < 0.01
    assert np.all(fast <= wanted * (1 + 1e-9))
    assert fast.std() > 1.0


def test_noise_size_shows_in_the_readings() -> None:
    path = "roles.evader.sensors.tracker.noise"
    plain = {"rules__time_limit": "20 s", "roles__evader__sensors__tracker__latency": 0}
    engagement = drawn({path: {"scale": [0.25, 4]}}, **plain)
    batch = 40
    simulation = simulation_of(engagement, batch)
    errors = []
    for _ in range(300):
        simulation.sense()
        view = simulation.roles["evader"].perception.inboxes["tracker"].view(simulation.now)
        true = simulation.state.block[:3, 0] - simulation.state.block[:3, 3]
        if int(simulation.tick[0]) % 10 == 0:
            errors.append(view.values[:3, 0] - true)
        simulation.due("evader"), simulation.due("pursuer")
        simulation.advance()
    spread = np.asarray(errors).std(axis=(0, 1))
    wanted = 0.2 * np.asarray([drawn_values(engagement, 1, episode)[path] for episode in range(batch)])
    np.testing.assert_allclose(spread, wanted, rtol=0.25)
    assert spread.max() > 5 * spread.min()


def test_agents_start_as_far_apart_as_drawn_and_inside_the_drawn_arena() -> None:
    engagement = drawn({
        "world.min_start_distance": {"low": 10, "high": 25}, "world.arena": {"scale": [0.6, 1.4]},
        "world.obstacles.shift": {"low": -6, "high": 6}, "world.obstacles.size": {"scale": [0.5, 1.8]},
    })
    batch = 400
    block = simulation_of(engagement, batch).state.block
    values = [drawn_values(engagement, 1, episode) for episode in range(batch)]
    least = np.asarray([value["world.min_start_distance"] for value in values])
    distance = np.sqrt(((block[:3, :3] - block[:3, 3:]) ** 2).sum(axis=0)).min(axis=0)
    assert np.all(distance > least)
    assert distance[least < 15].min() < 15.0
    assert distance[least > 20].min() > 20.0
    factor = np.asarray([value["world.arena"] for value in values])
    assert np.all(np.abs(block[:2]).max(axis=(0, 1)) <= 40 * factor)
    assert np.all(block[2].max(axis=0) <= 2 + 28 * factor + 1e-12)
    assert np.mean(np.abs(block[:2]).max(axis=(0, 1)) > 40) > 0.1
    # The first obstacle is a circle of radius 4 about (10, 12).
    for i, value in enumerate(values):
        x = 10 + value["world.obstacles.shift/0/x"]
        y = 12 + value["world.obstacles.shift/0/y"]
        away = np.hypot(block[0, :, i] - x, block[1, :, i] - y)
        assert away.min() >= 4 * value["world.obstacles.size/0"] - 1e-9


def test_nobody_enters_the_drawn_obstacles_or_leaves_the_drawn_arena() -> None:
    engagement = drawn({
        "world.arena": {"scale": [0.6, 1.4]}, "world.obstacles.shift": {"low": -6, "high": 6},
        "world.obstacles.size": {"scale": [0.5, 1.8]}, "roles.evader.dynamics.max_speed": {"scale": [0.5, 2]},
    }, rules__time_limit="12 s")
    batch = 60
    runner = Rollout(engagement, batch)
    simulation, seen = runner.simulation, []
    advance = simulation.advance
    simulation.advance = lambda *given: (advance(*given), seen.append(simulation.state.block[:3].copy()))[0]  # type: ignore[method-assign]
    runner.run([1] * batch, list(range(batch)))
    x, y, z = np.asarray(seen).transpose(1, 0, 2, 3)
    touched = 0
    for i in range(batch):
        value = drawn_values(engagement, 1, i)
        factor = value["world.arena"]
        assert np.abs(x[..., i]).max() <= 40 * factor + 1e-9
        assert z[..., i].max() <= 2 + 28 * factor + 1e-9
        for number, (cx, cy, radius) in enumerate([(10, 12, 4), (-15, -8, 5)]):
            dx, dy = (value[f"world.obstacles.shift/{number}/{axis}"] for axis in "xy")
            away = np.hypot(x[..., i] - cx - dx, y[..., i] - cy - dy) - radius * value[f"world.obstacles.size/{number}"]
            assert away.min() > -1e-6
            touched += away.min() < 0.01
    assert touched > 3


def test_restarts_draw_anew() -> None:
    path = "roles.pursuer.dynamics.max_speed"
    engagement = drawn({path: {"low": 5, "high": 15}}, rules__max_step=5)
    env = VectorPursuit(engagement, 4, seed=9, block=2)
    env.reset()
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(16):
        limits = np.concatenate([lane.simulation.world._groups[0].model._max_speed for lane in env.lanes], axis=1)
        episodes = np.concatenate([lane.simulation.episodes for lane in env.lanes])
        for row, episode in enumerate(episodes.tolist()):
            assert limits[0, row] == drawn_values(engagement, 9, episode)[path]
        seen += episodes.tolist()
        env.step(env.sample(rng))
    assert max(seen) >= 12


def test_an_environment_put_back_goes_on_with_its_draws() -> None:
    engagement = everything("300 ms")
    one, rng = VectorPursuit(engagement, 4, block=3), np.random.default_rng(0)
    one.reset()
    for _ in range(40):
        one.step(one.sample(rng))
    other = VectorPursuit(engagement, 4, block=3)
    other.reset()
    restore_environment(other, pickle.loads(pickle.dumps(environment_state(one))))
    for _ in range(80):
        actions = one.sample(rng)
        a, b = one.step(actions), other.step(actions)
        for role in one.roles:
            np.testing.assert_array_equal(a.observations[role], b.observations[role])
            np.testing.assert_array_equal(a.rewards[role], b.rewards[role])


@pytest.mark.parametrize(
    "name", ["grid_1v1", "kinematic_3v1", "multirate_2v2", "courtyard_2v1", "gusts_3v1", "grid_maze_2v1"]
)
def test_every_path_that_is_offered_can_be_drawn(name: str) -> None:
    short = {"rules__max_step": 12}
    randomise: dict[str, Any] = {}
    for path, target in targets(shipped(name, **short)).items():
        if target.kind == "shift":
            randomise[path] = {"low": -0.1, "high": 0.1}
        elif target.kind == "factor" or target.nominal > 0:
            randomise[path] = {"scale": [0.95, 1.0]}
        else:
            randomise[path] = {"choices": [0, 0]}
    assert len(randomise) > 3
    runs_alike(shipped(name, randomise=randomise, **short), 1)


@st.composite
def drawn_files(draw: st.DrawFn) -> Engagement:
    """Engagements of all kinds with some of what can be drawn of them drawn."""
    plain = draw(engagements())
    offered = targets(plain)
    randomise: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(sorted(offered)), min_size=1, max_size=8, unique=True)):
        target = offered[path]
        per = {"per": draw(st.sampled_from(["role", "agent"]))} if target.role else {}
        if target.kind == "shift":
            randomise[path] = {"low": -0.05, "high": 0.05}
        elif target.kind == "value" and target.duration and "dynamics" not in path:
            randomise[path] = {"low": 0, "high": draw(st.sampled_from(["30 ms", "70 ms"])), **per}
        elif target.kind == "factor" or target.nominal > 0.0:
            randomise[path] = {"scale": [draw(st.sampled_from([0.8, 0.95])), 1.0], **per}
    try:
        return parse({**plain.resolved(), "randomise": randomise})
    except EngagementError as fault:
        if "randomise" not in str(fault):
            raise
        return plain  # e.g. no room to start in what is left


@settings(max_examples=25, deadline=None, phases=QUICK, suppress_health_check=SLOW)
@given(drawn_files(), st.integers(0, 2**32))
def test_any_draws_are_the_same_alone_in_a_batch_and_in_the_env(engagement: Engagement, seed: int) -> None:
    runs_alike(engagement, seed)
    compare(engagement, seed, 40, batch=3)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=1000, deadline=None, phases=QUICK, suppress_health_check=SLOW)
@given(drawn_files(), st.integers(0, 2**32))
def test_thousands_of_draws_are_the_same_everywhere(engagement: Engagement, seed: int) -> None:
    runs_alike(engagement, seed)
    compare(engagement, seed, 40, batch=3)
