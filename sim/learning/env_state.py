"""The whole state of a batched environment as plain data, so that a training goes on exactly where it stopped.

Objects are walked attribute by attribute. Numbers and arrays are kept, with the sharing of memory between arrays; what
never changes (specifications, functions, libraries) is not kept, but found in the new environment that the state is
put into, which must be of the same engagement file. Nothing is executed when a state is read back: classes are looked
up only among those that the new environment is made of, and among the plain records of this package.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
from pydantic import BaseModel

from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import PeError
from pe_sim.worlds.base import World

FIXED = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.SimpleNamespace, type,
    BaseModel, Fraction, np.dtype, np.ufunc,
)
"""What never changes."""

PLAIN = (type(None), bool, int, float, str, bytes)


def environment_state(env: VectorPursuit) -> dict[str, Any]:
    """Return the state of an environment on NumPy.

    Raises:
        PeError: if a world has not kept what brings back its state.
    """
    worlds = _worlds(env)
    outside = [world.recollection() for world in worlds]
    reader = _Reader()
    shared = [reader.read(array) for world in worlds for array in world.shared()]
    # All that it keeps for itself but its threads: what it holds beside the lanes may be views of the same memory.
    kept = {name: reader.read(value) for name, value in vars(env).items() if name[0] == "_" and name != "_pool"}
    return {
        "made_of": _made_of(env), "memory": reader.memory, "objects": kept, "shared": shared, "outside": outside,
    }


def _worlds(env: VectorPursuit) -> list[World]:
    return [lane.simulation.world for lane in env.lanes]


def _made_of(env: VectorPursuit) -> list[Any]:
    return [env.engagement.sha256, env.batch, list(env.roles)]


def restore_environment(
    env: VectorPursuit, state: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> None:
    """Put a state into an environment made from the same file.

    Args:
        env: the environment.
        state: what :func:`environment_state` has returned.
        progress: called with how much is done of how much, where a world takes its time.

    Raises:
        PeError: if the state is that of another environment, or a world does not come back to it.
    """
    if state.get("made_of") != _made_of(env):
        raise PeError("the environment's state", "does not fit: it is of another engagement, batch or roles")
    worlds = _worlds(env)
    try:
        writer = _Writer(state["memory"])
        # Written where they are: a library or another process looks there.
        shared = [array for world in worlds for array in world.shared()]
        for array, data in zip(shared, state.get("shared", []), strict=True):
            writer.write_into(array, data)
        for name, data in state["objects"].items():
            setattr(env, name, writer.write(vars(env)[name], data))
        for number, (world, told) in enumerate(zip(worlds, state.get("outside", [{}] * len(worlds)), strict=True)):
            world.relive(told, _share(progress, number, len(worlds)))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as fault:
        raise PeError("the environment's state", f"does not fit this environment: {fault}") from fault


def _share(
    progress: Callable[[int, int], None] | None, number: int, count: int
) -> Callable[[int, int], None] | None:
    """Return the progress of one world as a part of that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class _Reader:
    """Turns objects into plain data: ['kind', ...] lists."""

    def __init__(self) -> None:
        self.memory: list[np.ndarray[Any, Any]] = []
        self._places: dict[int, int] = {}
        self._objects: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def read(self, value: Any) -> list[Any]:  # noqa: PLR0911 - one answer per kind of value
        if isinstance(value, np.generic):
            return ["scalar", np.asarray(value)]
        if isinstance(value, Enum):
            return ["enum", value.value]
        if isinstance(value, PLAIN):
            return ["plain", value]
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, dict):
            return ["dict", [[key, self.read(item)] for key, item in value.items()]]
        if isinstance(value, list | tuple | deque):
            return [type(value).__name__, [self.read(item) for item in value]]
        if isinstance(value, FIXED) or not _has_attributes(value):
            return ["fixed"]
        if id(value) in self._objects:
            return ["same", self._objects[id(value)]]
        number = self._objects[id(value)] = len(self._objects)
        self._alive.append(value)
        kind = type(value)
        attributes = [[name, self.read(item)] for name, item in _attributes(value).items()]
        return ["object", number, kind.__module__, kind.__qualname__, attributes]

    def _array(self, array: np.ndarray[Any, Any]) -> list[Any]:
        if id(array) in self._objects:
            return ["same", self._objects[id(array)]]
        number = self._objects[id(array)] = len(self._objects)
        self._alive.append(array)
        owner = _owner(array)
        if id(owner) not in self._places:
            self._places[id(owner)] = len(self.memory)
            # Kept flat in memory order, so that every view of it is an offset and strides.
            self._alive.append(owner)
            self.memory.append(np.ndarray((owner.nbytes,), np.uint8, _buffer(owner)).copy())
        offset = array.__array_interface__["data"][0] - _start(owner)
        shape, strides = list(array.shape), list(array.strides)
        return ["array", number, self._places[id(owner)], offset, array.dtype.str, shape, strides]


def _slots(value: Any) -> list[str]:
    return [name for kind in type(value).__mro__ for name in kind.__dict__.get("__slots__", ()) if name[:2] != "__"]


def _has_attributes(value: Any) -> bool:
    return hasattr(value, "__dict__") or bool(_slots(value))


def _attributes(value: Any) -> dict[str, Any]:
    """Return an object's attributes, those in slots included."""
    inside = {name: getattr(value, name) for name in _slots(value) if hasattr(value, name)}
    found = {**getattr(value, "__dict__", {}), **inside}
    left = value.outside if isinstance(value, World) else ()
    return {name: item for name, item in found.items() if name not in left}


def _start(owner: np.ndarray[Any, Any]) -> int:
    return int(owner.__array_interface__["data"][0])


def _buffer(owner: np.ndarray[Any, Any]) -> memoryview:
    """Return the memory of an array that owns it, as bytes in memory order."""
    order: Any = owner.T if owner.flags.f_contiguous and not owner.flags.c_contiguous else owner
    if not order.flags.c_contiguous:
        # Owned, yet in another order of axes: sorted by stride it is one block.
        order = owner.transpose(sorted(range(owner.ndim), key=lambda axis: -owner.strides[axis]))
    return memoryview(order).cast("B") if order.nbytes else memoryview(b"")


class _Writer:
    """Puts plain data back, into the objects of a new environment where there are such."""

    def __init__(self, memory: list[np.ndarray[Any, Any]]) -> None:
        self._memory = [part.copy() for part in memory]
        self._objects: dict[int, Any] = {}

    def write_into(self, array: np.ndarray[Any, Any], data: list[Any]) -> None:
        """Put values into an array that stays where it is; what shared its memory will share it again."""
        kind, number, place, offset, dtype, shape, strides = data
        owner = _owner(array)
        memory = np.ndarray((owner.nbytes,), np.uint8, _buffer(owner))
        here = [array.__array_interface__["data"][0] - _start(owner), array.dtype.str, *array.shape, *array.strides]
        if kind != "array" or here != [offset, dtype, *shape, *strides]:
            raise ValueError("an array that is shared lies otherwise in memory")
        memory[...] = self._memory[place]
        self._memory[place] = memory
        self._objects[number] = array

    def write(self, old: Any, data: list[Any]) -> Any:  # noqa: PLR0911 - one answer per kind of value
        kind, *rest = data
        if kind == "plain":
            return rest[0]
        if kind == "enum":
            return type(old)(rest[0])
        if kind == "scalar":
            return rest[0][()]
        if kind == "fixed":
            return old
        if kind == "same":
            return self._objects[rest[0]]
        if kind == "array":
            number, place, offset, dtype, shape, strides = rest
            self._objects[number] = np.ndarray(shape, dtype, self._memory[place], offset, strides)
            return self._objects[number]
        if kind == "dict":
            known = old if isinstance(old, dict) else {}
            return {key: self.write(known.get(key), item) for key, item in rest[0]}
        if kind in ("list", "tuple", "deque"):
            parts = list(old) if isinstance(old, list | tuple | deque) else []
            parts += [None] * (len(rest[0]) - len(parts))
            items = [self.write(part, item) for part, item in zip(parts, rest[0], strict=False)]
            return {"list": list, "tuple": tuple, "deque": deque}[kind](items)
        return self._object(old, *rest)

    def _object(self, old: Any, number: int, module: str, name: str, attributes: list[Any]) -> Any:
        if old is None or (type(old).__module__, type(old).__qualname__) != (module, name):
            if not module.startswith("pe_sim."):
                raise TypeError(f"{module}.{name} is no record of pe_sim")
            old = object.__new__(getattr(import_module(module), name))
        self._objects[number] = old
        for key, item in attributes:
            object.__setattr__(old, key, self.write(_attributes(old).get(key), item))
        return old
