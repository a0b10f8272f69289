"""A whole simulated engagement: world and referee, every agent's sensors, policy and gate, and a recorder if asked for.

    ros2 launch pe_ros pursuit_sim.launch.py world:=kinematic record:=true
    ros2 launch pe_ros pursuit_sim.launch.py engagement:=grid_1v1 pace:=lockstep episodes:=20 seed:=1
    ros2 launch pe_ros pursuit_sim.launch.py --show-args

It ends when the engagement does. The nodes are the same as of `pe-ros engage`, each process with nodes of its own.
"""

from pathlib import Path

from launch import LaunchDescription

from pe_ros.launch_actions import describe
from pe_ros.launch_arguments import PURSUIT_SIM
from pe_ros.launch_plans import pursuit_sim


def generate_launch_description() -> LaunchDescription:
    """Return the description for `ros2 launch`."""
    return describe(Path(__file__), PURSUIT_SIM, pursuit_sim)
