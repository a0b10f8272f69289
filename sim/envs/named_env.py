"""Environments of users, named where they are made: 'package.module:Name' or 'path/to/file.py:Name'."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pe_sim.envs.check_env import check_dict_env
from pe_sim.envs.findings import Finding
from pe_sim.errors import PeError


def check_named(name: str, *, zero_sum: bool = False) -> list[Finding]:
    """Make the environment that a name means and return what is wrong with it, see :func:`check_dict_env`.

    Args:
        name: module or file, a colon, and the class or function that makes the environment without arguments.
        zero_sum: whether the rewards of every step must add up to zero.

    Raises:
        PeError: if there is nothing of that name, or it cannot be made or played.
    """
    place, _, attribute = name.rpartition(":")
    make = getattr(_module(place, name), attribute, None)
    if not callable(make):
        raise PeError(name, f"there is nothing in {place} that makes an environment", attribute)
    try:
        env: Any = make()
    except Exception as fault:
        raise PeError(name, f"cannot be made: {type(fault).__name__}: {fault}") from fault
    try:
        return check_dict_env(env, zero_sum=zero_sum)
    except Exception as fault:
        rule = f"cannot be played by the dict API (reset, five-value step): {type(fault).__name__}: {fault}"
        raise PeError(name, rule) from fault


def _module(place: str, name: str) -> ModuleType:
    path = Path(place)
    try:
        if path.suffix != ".py":
            return importlib.import_module(place)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(path.stem, module)
        spec.loader.exec_module(module)
    except Exception as fault:
        raise PeError(name, f"{place} cannot be imported: {type(fault).__name__}: {fault}") from fault
    return module
