"""One small hierarchy of errors: each names what is wrong, the rule, the value and the cure."""

from __future__ import annotations

from typing import Any


class PeError(Exception):
    """A fault that a user can understand and mend.

    Attributes:
        name: what is wrong, e.g. the path of a key, a topic, a file.
        rule: the rule it breaks.
        value: the offending value, or None where there is none.
        cure: what to do about it, or ''.
    """

    def __init__(self, name: str, rule: str, value: Any = None, cure: str = "") -> None:
        super().__init__(name, rule, value, cure)
        self.name = name
        self.rule = rule
        self.value = value
        self.cure = cure

    def __str__(self) -> str:
        text = f"{self.name}: {self.rule}"
        if self.value is not None:
            text += f" (got {self.value!r})"
        if self.cure:
            text += f"; {self.cure}"
        return text


class EngagementError(PeError):
    """An engagement file that cannot be used: unknown key, impossible value, wrong unit."""


class ActionError(PeError):
    """An action that does not fit the agent: wrong shape, not finite, outside the space, not due."""


class ContractError(PeError):
    """Two parts that do not fit together: a policy and an agent, a layout and a reading."""


class BagError(PeError):
    """A recording that cannot be written, read or repaired."""


class PluginError(PeError):
    """A world, sensor, dynamics model or policy that is not registered or breaks its contract."""


class RosError(PeError):
    """A fault of the ROS graph: a node, topic, clock or parameter that is missing or wrong."""
