"""One agent's sensors, policy and gate, as they run on its onboard computer or on a ground station beside a vehicle.

    ros2 launch pe_ros agent.launch.py engagement:=kinematic_3v1 agent:=pursuer_0 odom:=/drone1/odom \
        remap:='{evader_0/odom: /target/odom}'
    ros2 launch pe_ros agent.launch.py --show-args

It does not know whether the odometry comes from a vehicle or from a simulation. A referee elsewhere conducts the
episodes.
"""

from pathlib import Path

from launch import LaunchDescription

from pe_ros.launch_actions import describe
from pe_ros.launch_arguments import AGENT
from pe_ros.launch_plans import agent


def generate_launch_description() -> LaunchDescription:
    """Return the description for `ros2 launch`."""
    return describe(Path(__file__), AGENT, agent)
