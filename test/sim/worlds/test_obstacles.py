"""Shapes of obstacles: distance, normal and line of sight against sampling along the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.arrays import namespace
from pe_sim.errors import EngagementError
from pe_sim.worlds.obstacles import Box, Circle, Cylinder, Polygon, Sphere, Wall, blocks, occluded
from pe_sim.worlds.solid import Obstacle

from .kit import made

XP = namespace()

SHAPES: dict[str, Obstacle] = {
    "circle": Circle(center=(1, 2), radius=1.5),
    "cylinder": Cylinder(center=(1, 2), radius=1.5, bottom=0, top=3),
    "box": Box(low=(0, 0, 0), high=(2, 3, 1)),
    "box without height": Box(low=(0, 0), high=(2, 3)),
    "sphere": Sphere(center=(1, 1, 1), radius=1.2),
    "polygon": Polygon(points=((0, 0), (3, 0), (3, 3), (1.5, 1), (0, 3))),
    "polygon the other way round, with a top": Polygon(points=((0, 0), (0, 3), (1.5, 1), (3, 3), (3, 0)), top=1),
    "wall": Wall(points=((0, 0), (2, 1), (3, 3)), thickness=0.4, bottom=-1, top=2),
}


def points(random: Any, count: int) -> Any:
    return tuple(random.uniform(-3, 6, (3, count)))


@pytest.mark.parametrize("name", SHAPES)
def test_distance_and_normal_lead_to_the_nearest_point_of_the_surface(name: str) -> None:
    obstacle, random = SHAPES[name], np.random.default_rng(0)
    place = points(random, 3000)
    distance, normal = obstacle.surface(XP, place)
    assert sum(n * n for n in normal) == pytest.approx(np.ones(3000), abs=1e-12)
    if name == "wall":  # inside a bend one arm ends in the other
        place, normal = (tuple(part[distance > 0] for part in v) for v in (place, normal))
        distance = distance[distance > 0]
    on = tuple(p - distance * n for p, n in zip(place, normal, strict=True))
    assert obstacle.surface(XP, on)[0] == pytest.approx(np.zeros(len(distance)), abs=1e-9)
    # No point is nearer than the distance says: going that far in any direction never enters, or leaves.
    way = random.normal(size=(3, len(distance)))
    way /= np.sqrt((way**2).sum(axis=0))
    there = tuple(p + 0.999 * np.abs(distance) * w for p, w in zip(place, way, strict=True))
    assert ((obstacle.surface(XP, there)[0] > 0) == (distance > 0)).all()


@pytest.mark.parametrize("name", SHAPES)
def test_the_clearance_has_the_sign_of_the_distance_and_never_promises_more(name: str) -> None:
    place = points(np.random.default_rng(1), 3000)
    distance, clear = SHAPES[name].surface(XP, place)[0], SHAPES[name].clearance(XP, place)
    assert (clear <= distance + 1e-12).all()
    assert ((clear < 0) == (distance < 0)).all()


@pytest.mark.parametrize("name", SHAPES)
def test_a_line_of_sight_is_blocked_where_points_along_it_lie_inside(name: str) -> None:
    obstacle, random = SHAPES[name], np.random.default_rng(2)
    p, q = points(random, 1500), points(random, 1500)
    fraction = np.linspace(0, 1, 1001)[:, None]
    way = tuple(a + fraction * (b - a) for a, b in zip(p, q, strict=True))
    deepest = obstacle.surface(XP, way)[0].min(axis=0)
    found = blocks(XP, obstacle, p, q)
    sure = np.abs(deepest) > 5e-3  # between two samples a line may graze the surface
    assert found.dtype == np.bool_
    assert (found == (deepest < 0))[sure].all()
    assert sure.mean() > 0.95
    assert 0.05 < found.mean() < 0.6
    assert np.array_equal(found, blocks(XP, obstacle, q, p)), "whoever sees is seen"


@pytest.mark.parametrize("name", SHAPES)
def test_a_line_of_sight_takes_axes_of_any_shape(name: str) -> None:
    random = np.random.default_rng(3)
    p, q = random.uniform(-3, 6, (3, 4, 1, 7)), random.uniform(-3, 6, (3, 1, 5, 7))
    found = blocks(XP, SHAPES[name], tuple(p), tuple(q))
    assert found.shape == (4, 5, 7)
    one = blocks(XP, SHAPES[name], tuple(p[:, 2, 0]), tuple(q[:, 0, 3]))
    assert np.array_equal(found[2, 3], one)


def test_lines_through_corners_and_along_axes_are_seen() -> None:
    square = Polygon(points=((0, 0), (2, 0), (2, 2), (0, 2)))
    box = Box(low=(0, 0, 0), high=(2, 2, 2))
    for solid in (square, box):
        for p, q, hit in [
            ((-1, -1, 1), (3, 3, 1), True), ((-1, 1, 1), (3, 1, 1), True), ((1, 1, 1), (1, 1, 1), True),
            ((-1, -1, 1), (-1, 3, 1), False), ((-1, 3, 1), (3, 3, 1), False), ((1, -1, 1), (1, -0.5, 1), False),
        ]:
            ends = [tuple(np.asarray([float(c)]) for c in end) for end in (p, q)]
            assert bool(blocks(XP, solid, *ends)[0]) == hit, (solid.shape, p, q)
    above = [tuple(np.asarray([float(c)]) for c in end) for end in ((-1, 1, 2.5), (3, 1, 2.5))]
    assert not blocks(XP, box, *above)[0]
    over = [tuple(np.asarray([float(c)]) for c in end) for end in ((1, 1, 5), (1, 1, 3))]
    assert not blocks(XP, box, *over)[0]


def test_a_blocked_cell_of_the_grid_hides_what_is_behind_it() -> None:
    p = tuple(np.asarray(c, dtype=float) for c in ([0, 0, 0], [0, 0, 0], [0, 0, 0]))
    q = tuple(np.asarray(c, dtype=float) for c in ([4, 4, 0], [0, 4, 4], [0, 0, 0]))
    assert blocks(XP, (2, 0), p, q).tolist() == [True, False, False]
    hidden = occluded(XP, ((2, 0), (0, 3)), p, q)
    assert hidden is not None
    assert hidden.tolist() == [True, False, True]
    assert occluded(XP, (), p, q) is None


@pytest.mark.parametrize("name", SHAPES)
def test_an_obstacle_lies_within_the_circle_around_it(name: str) -> None:
    x, y, radius = SHAPES[name].surrounding_circle()
    place = points(np.random.default_rng(4), 20_000)
    inside = SHAPES[name].clearance(XP, place) < 0
    assert inside.any()
    assert (np.hypot(place[0] - x, place[1] - y)[inside] < radius).all()


def test_looking_past_obstacles_that_lie_aside_changes_nothing() -> None:
    """Line by line, as one engagement has them, and all lines at once, as a batch has them."""
    random = np.random.default_rng(5)
    everything = (*SHAPES.values(), (4, 4), (-2, 5))
    p, q = points(random, 600), points(random, 600)
    together = occluded(XP, everything, p, q)
    assert together is not None
    for i in range(600):
        line = (tuple(part[i : i + 1] for part in end) for end in (p, q))
        alone = occluded(XP, everything, *line)
        assert alone is not None
        assert bool(alone[0]) == bool(together[i])


def test_two_dimensions_see_obstacles_from_above_whatever_their_height() -> None:
    listed = [
        {"shape": "box", "low": [0, 0, 5], "high": [2, 2, 6]}, {"shape": "sphere", "center": [5, 5, 9], "radius": 1},
        {"shape": "cylinder", "center": [9, 9], "radius": 1, "bottom": 3, "top": 4},
        {"shape": "wall", "points": [[-5, 0], [-5, 9]], "thickness": 1, "bottom": 2},
    ]
    engagement = made({"p": "unicycle"}, dimensions=2, obstacles=listed)
    height = np.zeros(4)
    place = (np.asarray([1.0, 5, 9, -5]), np.asarray([1.0, 5, 9, 5]), height)
    for number, obstacle in enumerate(engagement.world.obstacles):  # type: ignore[attr-defined]
        assert (obstacle.surface(XP, place)[0] < 0).tolist() == [i == number for i in range(4)]
    again = type(engagement).model_validate(engagement.resolved())
    assert again == engagement, "the resolved file reads back"


@pytest.mark.parametrize(
    ("obstacle", "rule"),
    [
        ({"shape": "box", "low": [0, 0, 0], "high": [1, 0, 1]}, "low must be below high on every axis"),
        ({"shape": "box", "low": [0, 0], "high": [1, 1, 1]}, "low must be below high on every axis"),
        ({"shape": "circle", "center": [0, 0], "radius": 1, "top": 3}, "use the shape 'cylinder'"),
        ({"shape": "cylinder", "center": [0, 0], "radius": 1, "top": 3, "bottom": 3}, "bottom must be below top"),
        ({"shape": "polygon", "points": [[0, 0], [1, 1], [2, 2]]}, "must not lie on one line"),
        ({"shape": "polygon", "points": [[0, 0], [0, 0], [2, 2]]}, "given twice"),
        ({"shape": "wall", "points": [[0, 0], [0, 0]], "thickness": 1}, "given twice"),
        ({"shape": "wall", "points": [[0, 0], [0, 1]], "thicknes": 1}, "did you mean 'thickness'"),
        ({"center": [0, 0]}, "needs the key 'shape'"),
    ],
)
def test_impossible_obstacles_are_refused(obstacle: dict[str, Any], rule: str) -> None:
    with pytest.raises(EngagementError, match=rule):
        made({"p": "multirotor"}, obstacles=[obstacle])
