"""Whether ROS is there, and what to do if not."""

from __future__ import annotations

from importlib.util import find_spec

from pe_sim.errors import RosError


def require_ros(what: str) -> None:
    """Refuse to go on without ROS 2, and say how to get it.

    Raises:
        RosError: if rclpy or the messages are not installed.
    """
    if find_spec("rclpy") is None:
        raise RosError(
            what, "needs ROS 2 (rclpy), which is not installed here",
            cure="source a ROS 2 installation, or: pip install '.[ros]'. Without ROS, 'pe-ros rollout' runs the file",
        )
    if find_spec("pe_ros.msg") is None:
        raise RosError(what, "needs the messages pe_ros/msg, which were not built", cure="pip install '.[ros]'")
