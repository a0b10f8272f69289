"""ROS 2 nodes of pursuit and evasion engagements; the only room that imports rclpy."""

from pkgutil import extend_path

__version__ = "0.1.0"

# An editable install keeps what is generated from msg/ in site-packages, away from this source tree.
__path__ = extend_path(__path__, __name__)
