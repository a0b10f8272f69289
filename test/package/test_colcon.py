"""`colcon build` over a virtual environment gives the package that a wheel gives, with its executables."""

import json
import shutil
from pathlib import Path

import pytest

pytestmark = [pytest.mark.serial, pytest.mark.timeout(600)]

@pytest.fixture(scope="module")
def workspace(own_environment, source):
    """A colcon workspace over the environment of the tests, its only ROS 2; a later run builds what has changed."""
    environment = own_environment
    if not (environment.prefix / "share" / "rosidl_default_generators").is_dir():
        pytest.skip("what builds messages is not in this environment: pip install '.[ros-build]' (or ros-kilted-build)")
    workspace = environment.prefix / "pe_ros_test_workspace"
    for stale in ("install", "src"):
        shutil.rmtree(workspace / stale, ignore_errors=True)
    shutil.copytree(source.root, workspace / "src" / "pe_ros")
    environment.run("bin/colcon", "build", cwd=workspace, **environment.activated())
    return workspace


@pytest.fixture(scope="module")
def prefix(workspace):
    """Where colcon has installed the package."""
    return workspace / "install" / "pe_ros"


@pytest.fixture(scope="module")
def sourced(workspace, own_environment):
    """Runs a command in a shell that has sourced the workspace, outside the source tree."""

    def run(command):
        command = f"source {workspace}/install/setup.bash && cd / && {command}"
        return own_environment.bash(command, **own_environment.activated())

    return run


def files(tree):
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_rooms_are_where_python_finds_them(prefix, source):
    (site_packages,) = prefix.glob("lib/python3*/site-packages")
    assert files(site_packages / "pe_sim") == source.files("sim")
    assert source.files("pe_ros") <= files(site_packages / "pe_ros")
    assert (site_packages / "pe_ros" / "msg" / "__init__.py").is_file()


def test_the_nodes_package_is_ours_not_the_empty_generated_one(prefix, source):
    (installed,) = prefix.glob("lib/python3*/site-packages/pe_ros/__init__.py")
    assert installed.read_bytes() == (source.root / "pe_ros" / "__init__.py").read_bytes()


@pytest.mark.parametrize("room", ["launch", "config"])
def test_share_holds_launch_and_config(room, prefix, source):
    assert files(prefix / "share" / "pe_ros" / room) == source.files(room)


def test_ament_index_and_libraries(prefix):
    assert (prefix / "lib" / "libpe_ros__rosidl_typesupport_fastrtps_c.so").is_file()
    for kind in ("packages", "rosidl_interfaces"):
        assert (prefix / "share" / "ament_index" / "resource_index" / kind / "pe_ros").is_file()


def test_every_node_is_an_executable_of_ros2_run(prefix, source):
    executables = sorted((prefix / "lib" / "pe_ros").iterdir())
    assert [path.name for path in executables] == sorted([*source.nodes(), "pe-ros"])
    assert all(path.stat().st_mode & 0o111 == 0o111 for path in executables)


def test_executables_serve_a_symlink_install_too(workspace, source):
    """`colcon build --symlink-install` installs links to the files of the build directory."""
    executables = sorted((workspace / "build" / "pe_ros" / "executables").iterdir())
    assert [path.name for path in executables] == sorted([*source.nodes(), "pe-ros"])
    assert all(path.stat().st_mode & 0o111 == 0o111 for path in executables)


def test_a_sourced_workspace_has_messages_and_sim(sourced, prefix, source):
    program = (
        "import json, pe_ros.msg, pe_sim.timing; from rclpy.serialization import serialize_message as s; "
        "names = [name for name in dir(pe_ros.msg) if isinstance(getattr(pe_ros.msg, name), type)]; "
        "[s(getattr(pe_ros.msg, name)()) for name in names]; print(json.dumps([names, pe_sim.__file__]))"
    )
    names, file = json.loads(sourced(f'python -c "{program}"'))
    assert names == source.messages()
    assert prefix in Path(file).parents


def test_a_sourced_workspace_has_pe_ros_on_the_path(sourced, prefix):
    assert sourced("command -v pe-ros").strip() == str(prefix / "bin" / "pe-ros")
    assert "engage" in sourced("pe-ros --help")
    assert "engage" in sourced(f"{prefix}/lib/pe_ros/pe-ros --help")
