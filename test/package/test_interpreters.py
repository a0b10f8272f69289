"""`pip install '.[ros]'` for every Python and ROS 2 family that the package names: minutes each, so marked slow."""

import shutil
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(sys.platform != "linux", reason="there are no ROS wheels for this platform"),
]

USE = (
    "import pe_ros.msg, pe_sim, rclpy, sys\n"
    "from rclpy.serialization import deserialize_message, serialize_message\n"
    "action = pe_ros.msg.Action(agent='pursuer_0', values=[1.5])\n"
    "assert deserialize_message(serialize_message(action), pe_ros.msg.Action) == action\n"
    "rclpy.init(); node = rclpy.create_node('n'); node.create_publisher(pe_ros.msg.Action, 'a', 1)\n"
    "node.destroy_node(); rclpy.shutdown()\n"
    "print('%d.%d' % sys.version_info[:2])\n"
)


def interpreter(version):
    """Return a Python of this version: on the path, or of pyenv."""
    found = shutil.which(f"python{version}")
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    if found and ".pyenv/shims" not in found:
        return found
    if pyenv:
        return str(pyenv[-1])
    return pytest.skip(f"there is no python{version} on this machine")


@pytest.mark.parametrize(("family", "extra"), [("jazzy", "ros"), ("kilted", "ros-kilted")])
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_install_from_the_source_tree(version, family, extra, make_environment, source):
    environment = make_environment(interpreter(version))
    environment.pip("install", "--quiet", f"{source.root}[{extra}]", PE_ROS_DISTRO=family)
    written = environment.python("-c", USE, ROS_DOMAIN_ID="78", ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    assert written.strip() == version
    assert "engage" in environment.run("bin/pe-ros", "--help")


def test_install_from_a_source_distribution(make_environment, source, tmp_path):
    environment = make_environment(sys.executable)
    environment.pip("install", "--quiet", "build")
    environment.python("-m", "build", "--sdist", "--outdir", tmp_path, source.root)
    (archive,) = tmp_path.glob("pe_ros-*.tar.gz")
    environment.pip("install", "--quiet", f"{archive}[ros]")
    assert environment.python("-c", USE, ROS_DOMAIN_ID="78", ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")


def test_install_without_ros(make_environment, source):
    """Training works; a command that needs ROS says what is missing and the cure."""
    environment = make_environment(sys.executable)
    environment.pip("install", "--quiet", str(source.root), PE_ROS_MESSAGES="off")
    environment.python("-c", "import pe_sim.timing, sys; assert 'rclpy' not in sys.modules")
    assert "engage" in environment.run("bin/pe-ros", "--help")
    assert "pip install" in environment.failing("bin/pe-ros", "engage", "engagement.yaml")
