"""YAML as people mean it: no surprises from YAML 1.1, no file that hangs or crashes the reader."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.errors import EngagementError
from pe_sim.yaml_reader import parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("010", 10),
        ("1:30", "1:30"),
        ("1e6", 1e6),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
        ("~", None),
        ("", None),
        ("null", None),
        ("2026-01-01", "2026-01-01"),
        ("'20 Hz'", "20 Hz"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_plain_scalars(text: str, value: Any) -> None:
    got = parse_yaml(f"a: {text}", "file")["a"]
    assert got == value
    assert type(got) is type(value)


def test_references_and_merging_work() -> None:
    assert parse_yaml("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}", "file")["b"] == {"p": 1, "q": 3}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a: 1\na: 2", "the key 'a' is there twice in line 2, column 1"),
        ("a: [1", "is no valid YAML"),
        ("a: 1\n\tb: 2", "is no valid YAML"),
        ("? [1]\n: 2", "is no valid YAML"),
        ("? {a: 1}\n: 2", "is no valid YAML"),
        ("!!python/object/apply:os.system [ls]", "is no valid YAML"),
        ("a: &x [*x]", "or itself"),
        ("a: " + "9" * 5000, "more than 100 digits"),
        ("[" * 5000, "is no valid YAML"),
        ("a: *nothing", "is no valid YAML"),
        ("\0", "is no valid YAML"),
        ("a: 1\n---\nb: 2", "is no valid YAML"),
    ],
)
def test_what_is_refused(text: str, rule: str) -> None:
    with pytest.raises(EngagementError) as caught:
        parse_yaml(text, "file")
    assert rule in str(caught.value)


def test_references_that_grow_without_end_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    with pytest.raises(EngagementError, match="more than"):
        parse_yaml("\n".join(lines), "file")


@given(st.text())
def test_no_text_crashes_the_reader(text: str) -> None:
    with contextlib.suppress(EngagementError):
        parse_yaml(text, "file")
