"""What the wheel holds."""

import configparser
import re
import stat
import zipfile

import pytest

pytestmark = [pytest.mark.serial, pytest.mark.timeout(600)]

TYPESUPPORTS = ("rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")


@pytest.fixture(scope="module")
def archive(wheel):
    with zipfile.ZipFile(wheel) as opened:
        yield opened


@pytest.fixture(scope="module")
def packages(archive):
    """The files of the Python packages, and of nothing else."""
    return {name for name in archive.namelist() if name.startswith(("pe_ros/", "pe_sim/"))}


@pytest.fixture(scope="module")
def prefix(archive):
    """The files that go to the prefix of the environment, by their path there."""
    found = (re.fullmatch(r"pe_ros-[^/]+\.data/data/(.+)", name) for name in archive.namelist())
    return {match[1]: archive.getinfo(match[0]) for match in found if match}


def test_is_bound_to_python_and_machine(wheel):
    assert re.fullmatch(r"pe_ros-\d+\.\d+\.\d+-(cp3\d+)-\1-linux_x86_64\.whl", wheel.name)


def test_sim_is_pe_sim_with_all_its_files(packages, source):
    assert {name.removeprefix("pe_sim/") for name in packages if name.startswith("pe_sim/")} == source.files("sim")


def test_nodes_have_all_their_files_and_the_generated_beside_them(packages, source):
    nodes = {name.removeprefix("pe_ros/") for name in packages if name.startswith("pe_ros/")}
    assert source.files("pe_ros") <= nodes
    generated = nodes - source.files("pe_ros")
    modules = {f"msg/_{re.sub(r'(?<!^)(?=[A-Z])', '_', message).lower()}" for message in source.messages()}
    python = {"msg/__init__.py"} | {f"{module}.py" for module in modules} | {f"{module}_s.c" for module in modules}
    assert {name for name in generated if not name.endswith(".so")} == python
    extensions = {re.sub(r"\.(cpython-[\w-]+\.)?so$", "", name) for name in generated if name.endswith(".so")}
    assert extensions == {f"pe_ros_s__{typesupport}" for typesupport in TYPESUPPORTS}


def test_nothing_else_at_the_top(archive):
    tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {re.sub(r"-.*\.", ".", top) for top in tops} == {"pe_ros", "pe_sim", "pe_ros.data", "pe_ros.dist-info"}


@pytest.mark.parametrize("room", ["launch", "config"])
def test_share_holds_launch_and_config(room, prefix, source):
    shared = {name.removeprefix(f"share/pe_ros/{room}/") for name in prefix if name.startswith(f"share/pe_ros/{room}/")}
    assert shared == source.files(room)


def test_share_holds_manifest_and_messages(prefix, archive, source):
    assert archive.read(prefix["share/pe_ros/package.xml"]) == (source.root / "package.xml").read_bytes()
    for message in source.messages():
        definition = (source.root / "msg" / f"{message}.msg").read_bytes()
        assert archive.read(prefix[f"share/pe_ros/msg/{message}.msg"]) == definition
        assert f"share/pe_ros/msg/{message}.idl" in prefix


@pytest.mark.parametrize("kind", ["packages", "rosidl_interfaces", "package_run_dependencies", "parent_prefix_path"])
def test_ament_index_entries(kind, prefix):
    assert f"share/ament_index/resource_index/{kind}/pe_ros" in prefix


def test_no_path_of_the_build_is_left(archive):
    """A directory of the build is gone once the wheel is installed."""
    for name in archive.namelist():
        content = archive.read(name)
        assert b"pip-build-env" not in content, name
        assert b"pe_ros_build_" not in content, name


def test_libraries_of_all_typesupports(prefix):
    for typesupport in (*TYPESUPPORTS, "rosidl_generator_c", "rosidl_generator_py"):
        assert f"lib/libpe_ros__{typesupport}.so" in prefix


def test_every_node_is_an_executable_of_ros2_run(prefix, archive, source):
    executables = {name.removeprefix("lib/pe_ros/") for name in prefix if name.startswith("lib/pe_ros/")}
    assert executables == {*source.nodes(), "pe-ros"}
    for name in executables:
        info = prefix[f"lib/pe_ros/{name}"]
        assert stat.S_IMODE(info.external_attr >> 16) & 0o111 == 0o111
        assert archive.read(info).startswith(b"#!/bin/sh\n")


def test_console_script(archive, wheel):
    entry_points = configparser.ConfigParser()
    entry_points.read_string(archive.read(f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/entry_points.txt").decode())
    assert dict(entry_points["console_scripts"]) == {"pe-ros": "pe_ros.program:command_line"}
