"""A checkpoint that is whole, yet holds something else than it should, is refused by name and never run."""

from __future__ import annotations

import hashlib
import pickle

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.engagement import parse
from pe_sim.errors import PeError
from pe_sim.learning.checkpoint import MAGIC, read_checkpoint, write_checkpoint
from pe_sim.learning.kinds import parse_any, trainer_of

from ..files import grid_file  # noqa: TID252 - shared by one room

SMALL = grid_file(world={"size": 5})
LEARNS = {"network": {"hidden": [4]}, "critic": {"hidden": [4]}}
KINDS = {
    "alone": {"roles": {"pursuer": LEARNS}, "batch": 2, "decisions": 2},
    "pool": {"roles": {"pursuer": LEARNS}, "batch": 2, "decisions": 2, "opponents": {"evaders": {"kind": "pool"}}},
    "game": {"game": {"role": "pursuer", "network": {"hidden": [4]}}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_is_something_else_is_refused(tmp_path, kind):
    def training():
        spec = parse_any({"training": "t", "engagement": "x", "steps": 8, **KINDS[kind]})
        return trainer_of(spec, parse(SMALL), tmp_path)

    first = training()
    first.run()
    path = tmp_path / "checkpoint.bin"
    state = read_checkpoint(path)
    trainer = training()
    for part in state:
        if part in ("history", "steps", "update"):  # plain figures
            continue
        for wrong in (None, 3, "x", [], {}):
            write_checkpoint(path, {**state, part: wrong})
            with pytest.raises(PeError, match=r"checkpoint|does not fit"):
                trainer.resume(path)
    write_checkpoint(path, state)
    trainer.resume(path)


@pytest.mark.parametrize("body", [b"", b"\x80\x05", b"\x80\x05\x8e" + b"\xff" * 8 + b".", b"\x80\x05h\x07.", b"text"])
def test_bytes_that_are_no_plain_data_are_refused(tmp_path, body):
    path = tmp_path / "checkpoint.bin"
    path.write_bytes(MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(PeError, match="no training checkpoint"):
        read_checkpoint(path)
    path.write_bytes(MAGIC + hashlib.sha256(pickle.dumps([1])).hexdigest().encode() + b"\n" + pickle.dumps([1]))
    with pytest.raises(PeError, match="no training checkpoint"):
        read_checkpoint(path)
