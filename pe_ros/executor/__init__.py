"""The executor that runs pe_ros nodes.

`make_executor()` gives it, or rclpy's own where the platform does not support it.
"""

from pe_ros.executor.event_executor import EventExecutor, make_executor

__all__ = ["EventExecutor", "make_executor"]
