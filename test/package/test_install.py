"""The wheel in a fresh virtual environment: it works there, and leaves nothing behind."""

import json
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.serial, pytest.mark.timeout(600)]


def test_every_message_crosses_serialization(environment, source):
    """The type supports load: a message comes back from its serialized form as it was."""
    program = (
        "import json, pe_ros.msg\n"
        "from rclpy.serialization import deserialize_message, serialize_message\n"
        "names = [name for name in dir(pe_ros.msg) if isinstance(getattr(pe_ros.msg, name), type)]\n"
        "for name in names:\n"
        "    kind = getattr(pe_ros.msg, name)\n"
        "    assert deserialize_message(serialize_message(kind()), kind) == kind(), name\n"
        "action = pe_ros.msg.Action(agent='pursuer_0', values=[1.5, -2.0], sequence=2**40)\n"
        "again = deserialize_message(serialize_message(action), pe_ros.msg.Action)\n"
        "print(json.dumps([names, again.agent, list(again.values), again.sequence]))\n"
    )
    names, agent, values, sequence = json.loads(environment.python("-c", program))
    assert names == source.messages()
    assert (agent, values, sequence) == ("pursuer_0", [1.5, -2.0], 2**40)


def test_a_message_crosses_dds(environment):
    program = (
        "import rclpy\n"
        "from pe_ros.msg import Observation\n"
        "from rclpy.executors import SingleThreadedExecutor\n"
        "rclpy.init()\n"
        "node = rclpy.create_node('crossing')\n"
        "heard = []\n"
        "node.create_subscription(Observation, 'observation', heard.append, 1)\n"
        "publisher = node.create_publisher(Observation, 'observation', 1)\n"
        "executor = SingleThreadedExecutor()\n"
        "executor.add_node(node)\n"
        "while not heard:\n"
        "    publisher.publish(Observation(agent='evader_0', values=[0.5], valid=[True]))\n"
        "    executor.spin_once(timeout_sec=0.1)\n"
        "print(heard[0].agent, list(heard[0].values), list(heard[0].valid))\n"
        "node.destroy_node()\n"
        "rclpy.shutdown()\n"
    )
    written = environment.python("-c", program, ROS_DOMAIN_ID="77", ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    assert written.splitlines()[-1] == "evader_0 [0.5] [True]"


def test_ament_finds_the_package(environment, source):
    program = (
        "from ament_index_python import get_package_prefix, get_package_share_directory, get_resource\n"
        "print(get_package_prefix('pe_ros'))\n"
        "print(get_package_share_directory('pe_ros'))\n"
        "print(get_resource('rosidl_interfaces', 'pe_ros')[0])\n"
    )
    written = environment.python("-c", program, AMENT_PREFIX_PATH=str(environment.prefix)).splitlines()
    assert written[0] == str(environment.prefix)
    assert (Path(written[1]) / "package.xml").is_file()
    assert {f"msg/{message}.msg" for message in source.messages()} <= set(written[2:])


def test_console_script_tells_its_commands(environment):
    written = environment.run("bin/pe-ros", "--help")
    for command in ("engage", "rollout", "bag"):
        assert re.search(rf"\b{command}\b", written)


def test_executables_run_under_the_python_of_the_environment(environment):
    """`ros2 run` starts them with no environment activated."""
    assert "engage" in environment.run("lib/pe_ros/pe-ros", "--help")


def test_uninstall_leaves_nothing(environment, wheel):
    environment.python("-c", "import pe_ros.msg, pe_sim.timing")  # leaves byte code beside the modules
    environment.pip("uninstall", "--yes", "--quiet", "pe_ros")
    try:
        own = re.compile(r"pe_ros|pe-ros|pe_sim")
        assert not [path for path in environment.files() if own.search(path)]
        assert not [path for path in environment.prefix.rglob("*") if path.is_dir() and own.search(path.name)]
    finally:
        environment.pip("install", "--quiet", "--no-deps", str(wheel))
    assert "lib/pe_ros/pe-ros" in environment.files()
