"""Pursuit and evasion without ROS: worlds, sensors, policies, environments and training."""

__version__ = "0.1.0"
