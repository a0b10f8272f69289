"""Subscriptions taken by hand: a recorder's own way to messages, past the executor.

rclpy's executor spends 30 to 65 microseconds of the interpreter on each message, and more the more subscriptions it
waits for; taking the serialized message by hand costs 3 to 4. In a process that others share, that difference decides
whether recording can be afforded. The middleware stamps each message when it arrives, so it does not matter when it
is taken. The subscriptions belong to a hidden node, so that whoever spins the recorder does not take from them too.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile

from pe_ros.bag.definitions import find_definition, split_type
from pe_ros.bag.record_queue import PAUSE, SLICE
from pe_sim.errors import BagError

_RAW = True
HISTORY = 1000
"""Messages of a topic that may wait in the middleware between two takes."""


class TakenMessage(NamedTuple):
    """A serialized message with what the middleware says about it.

    Attributes:
        received: when the middleware received it [ns, system clock].
        topic: resolved topic name.
        published: when it was published [ns, publisher's system clock].
        data: serialized message.
        sequence: number given by the publisher's middleware.
    """

    received: int
    topic: str
    published: int
    data: bytes
    sequence: int


class TopicTap:
    """One subscription to serialized messages, taken by hand.

    Attributes:
        topic: resolved topic name.
        type_name: message type, ``package/msg/Name``.
        qos: requested quality of service.
        lost: messages that did not arrive, by the gaps in their publisher's numbers; 0 where several publishers
            number their messages.
    """

    def __init__(self, node: Node, topic: str, type_name: str, qos: QoSProfile) -> None:
        """Subscribe.

        Args:
            node: a node that no executor spins; see ``make_tap_node``.
            topic: resolved topic name.
            type_name: message type, ``package/msg/Name``.
            qos: quality of service to request.

        Raises:
            BagError: the type is not installed.
        """
        self._node = node
        self._subscription = node.create_subscription(
            load_message_class(type_name),
            topic,
            _never_called,
            qos,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            raw=True,
        )
        self.topic: str = self._subscription.topic_name
        self.type_name = type_name
        self.qos = qos
        self.lost = 0
        self._newest: int | None = None
        self._one_publisher = True

    def take(self) -> Iterator[TakenMessage]:
        """Yield the messages that have arrived, oldest first, at most ``HISTORY``."""
        handle, message_class = self._subscription.handle, self._subscription.msg_type
        with handle:
            for number in range(1, HISTORY + 1):
                if number % SLICE == 0:
                    time.sleep(PAUSE)
                taken = handle.take_message(message_class, _RAW)
                if taken is None:
                    return
                data, info = taken
                received = info["received_timestamp"] or time.time_ns()
                published = info["source_timestamp"] or received
                sequence = info["publication_sequence_number"] or 0
                self._count_lost(sequence)
                yield TakenMessage(received, self.topic, published, data, sequence)

    def _count_lost(self, sequence: int) -> None:
        if not self._one_publisher or not sequence:
            return
        if self._newest is not None and sequence <= self._newest:
            self._one_publisher = False  # a second one, or the first one anew: gaps mean nothing from now on
            self.lost = 0
        elif self._newest is not None:
            self.lost += sequence - self._newest - 1
        self._newest = sequence

    def destroy(self) -> None:
        """Unsubscribe."""
        with contextlib.suppress(Exception):  # the context may be gone already, and then so is the subscription
            self._node.destroy_subscription(self._subscription)


def make_tap_node(recorder: Node) -> Node:
    """Return the hidden node that holds a recorder's subscriptions; it must not be added to an executor.

    Names are resolved by the recorder, so remapping must not apply to them a second time.
    """
    return Node(
        tap_node_name(recorder.get_name()),
        context=recorder.context,
        namespace=recorder.get_namespace(),
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )


def tap_node_name(recorder: str) -> str:
    """Return the name of the hidden node that holds the subscriptions of a recorder."""
    return f"_{recorder}_taps"


def load_message_class(type_name: str) -> Any:
    """Return the generated Python class of a message type.

    Raises:
        BagError: the type is not installed; the error names the package.
    """
    package, name = split_type(type_name)
    find_definition(type_name)
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        rule = f"package {package!r} has no Python message class {name}: {error}"
        raise BagError(f"message type {type_name}", rule, None, f"rebuild {package} with rosidl_generator_py") from None


def _never_called(_: bytes) -> None:
    raise AssertionError("the recorder's hidden node is being spun")  # pragma: no cover
