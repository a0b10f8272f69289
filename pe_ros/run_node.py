"""Run nodes as a process: ROS arguments, a clean end on signals, one clear message for what a user can mend."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args, try_shutdown

from pe_ros.discovery import use_profile
from pe_ros.end_request import EndedWhileStarting, EndRequest
from pe_ros.executor import EventExecutor, make_executor
from pe_ros.shared_memory import remove_leftovers
from pe_sim.errors import PeError, RosError

ENDED = 0
FAILED = 1
MISCONFIGURED = 2
_POLL_PERIOD = 0.2  # [s], with rclpy's executor
_LAST_CALLBACKS = 0.1  # for the stop to pass through nodes of this process [s]
_DELIVERY_TIME = 0.5  # for the stop to reach other processes [s]

Factory = Callable[[], "Node | Sequence[Node]"]


def run(factory: Factory, args: Sequence[str] | None = None, *, name: str) -> int:
    """Make nodes and spin them until SIGINT, SIGTERM, the death of the launch that started them, or a node is `done`.

    Before the end `stop_motion()` of each node that has it is called, also after a failure, and what it published is
    given time to arrive; then `linger()` of each node that has it.

    Args:
        factory: makes the node, or the nodes, once rclpy is initialised.
        args: arguments without the program's name; those of the process where None.
        name: name of the program in messages.

    Returns:
        0 when it was told to end, 1 when something failed, 2 when an argument, parameter or file is wrong.
    """
    arguments = sys.argv[1:] if args is None else list(args)
    refusal = _check_arguments(arguments, name)
    if refusal is not None:
        return refusal
    use_profile()
    remove_leftovers()
    with EndRequest() as end:
        try:
            rclpy.init(args=[name, *arguments], signal_handler_options=SignalHandlerOptions.NO)
            made = factory()
            end.on_request = lambda: None  # from here on the nodes are stopped, also if none has been spun
        except EndedWhileStarting:
            try_shutdown()
            return ENDED
        except (PeError, _rclpy.RCLInvalidROSArgsError, _rclpy.UnknownROSArgsError) as error:
            _say(name, str(error))
            try_shutdown()
            return MISCONFIGURED
        except Exception:  # noqa: BLE001 - whatever it is, it goes to the log
            get_logger(name).fatal(traceback.format_exc())
            try_shutdown()
            return FAILED
        nodes = [made] if isinstance(made, Node) else list(made)
        return spin_to_end(nodes, end, name)


def spin_to_end(nodes: Sequence[Node], end: EndRequest, name: str) -> int:
    """Spin nodes until the end is requested, stop their motion, destroy them and shut rclpy down.

    Args:
        nodes: the nodes.
        end: says when.
        name: name of the program in messages.

    Returns:
        As `run`.
    """
    code = ENDED
    executor = make_executor()
    end.on_request = executor.wake
    try:
        for node in nodes:
            executor.add_node(node)
        _spin_while(executor, lambda: not (end.requested or any(getattr(node, "done", False) for node in nodes)))
    except (ExternalShutdownException, ROSInterruptException, EndedWhileStarting):
        pass
    except PeError as error:
        _say(name, str(error))
        code = FAILED
    except Exception:  # noqa: BLE001 - whatever it is, it goes to the log
        get_logger(name).fatal(traceback.format_exc())
        code = FAILED
    failures = [
        _attempt(name, lambda: stop_motion(nodes, executor)),
        *(_attempt(name, node.linger) for node in nodes if hasattr(node, "linger")),
        _attempt(name, lambda: executor.shutdown(timeout_sec=1.0)),
        *(_attempt(name, node.destroy_node) for node in nodes),
        _attempt(name, try_shutdown),
    ]
    return FAILED if any(failures) else code


def stop_motion(nodes: Sequence[Node], executor: Executor) -> None:
    """Have every node that can move something stop it, and see the stop delivered as far as the time allows.

    Raises:
        RosError: a node could not stop; the others have been told to nevertheless.
    """
    movers = [node for node in nodes if hasattr(node, "stop_motion")]
    if not movers or not executor.context.ok():
        return
    failed = [node.get_name() for node in movers if _attempt(node.get_name(), node.stop_motion)]
    enough = time.monotonic() + _LAST_CALLBACKS
    while (left := enough - time.monotonic()) > 0:
        executor.spin_once(timeout_sec=left)
    see_delivered(movers)
    if failed:
        raise RosError("stop_motion", "must not fail", ", ".join(failed))


def see_delivered(nodes: Sequence[Node]) -> None:
    """Give what nodes have published a limited time to arrive."""
    enough = time.monotonic() + _DELIVERY_TIME
    for publisher in [publisher for node in nodes for publisher in node.publishers]:
        publisher.wait_for_all_acked(Duration(seconds=max(enough - time.monotonic(), 0.0)))


def _spin_while(executor: Executor, condition: Callable[[], bool]) -> None:
    """Spin as long as the condition holds."""
    if isinstance(executor, EventExecutor):
        executor.spin_while(condition)
        return
    while condition():
        executor.spin_once(timeout_sec=_POLL_PERIOD)


def _attempt(name: str, action: Callable[[], Any]) -> bool:
    """Do one step of ending; True if it failed, which keeps no other step from being done."""
    try:
        action()
    except PeError as error:
        _say(name, str(error))
        return True
    except Exception:  # noqa: BLE001 - whatever it is, it goes to the log
        get_logger(name).error(traceback.format_exc())
        return True
    return False


def _check_arguments(arguments: Sequence[str], name: str) -> int | None:
    """Give the exit code if the arguments end the program: help is asked for, or one is no ROS argument."""
    try:
        others = remove_ros_args(args=[name, *arguments])[1:]
    except (_rclpy.RCLInvalidROSArgsError, _rclpy.UnknownROSArgsError) as error:
        _say(name, str(error))
        return MISCONFIGURED
    if not others:
        return None
    if set(others) <= {"-h", "--help"}:
        print(_usage(name))
        return ENDED
    _say(name, f"unknown argument {others[0]!r}; arguments of ROS follow --ros-args\n\n{_usage(name)}")
    return MISCONFIGURED


def _usage(name: str) -> str:
    return f"""usage: {name} [--ros-args ROS_ARGUMENT ...]

  -p PARAMETER:=VALUE        set a parameter
  --params-file FILE.yaml    set parameters from a file
  -r __ns:=/NAMESPACE        put the node and its topics below a namespace
  -r __node:=NAME            rename the node
  -r TOPIC:=OTHER            remap a topic or service
  --log-level LEVEL          debug, info, warn, error or fatal"""


def _say(name: str, message: str) -> None:
    """One message for a person, on standard error."""
    print(f"{name}: {message}", file=sys.stderr, flush=True)
