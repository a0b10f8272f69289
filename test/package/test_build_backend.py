"""What a build asks for: no ROS wheels without messages, one family with them; plain words where it cannot."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HOOK = (
    "import json, sys\n"
    "sys.path.insert(0, 'build_support')\n"
    "import pe_ros_backend\n"
    "print(json.dumps(pe_ros_backend.get_requires_for_build_wheel(json.loads(sys.argv[1]))))\n"
)


def hook(settings="{}", **environment):
    choices = {"CXX", "ROS_DISTRO", "PE_ROS_DISTRO", "PE_ROS_MESSAGES"}
    kept = {name: value for name, value in os.environ.items() if name not in choices}
    command = [sys.executable, "-c", HOOK, settings]
    return subprocess.run(command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False)


def required_families(result):
    assert result.returncode == 0, result.stderr
    return {name for name in ("jazzy", "kilted") if f"ros-{name}-rosidl-default-generators" in result.stdout}


ONLY_WHERE_WHEELS_ARE = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="there are no ROS wheels for this platform"
)


@ONLY_WHERE_WHEELS_ARE
@pytest.mark.parametrize(
    ("settings", "environment", "family"),
    [
        ("{}", {}, "jazzy"),
        ("{}", {"PE_ROS_DISTRO": "kilted"}, "kilted"),
        ("{}", {"ROS_DISTRO": "kilted"}, "kilted"),
        ("{}", {"ROS_DISTRO": "kilted", "PE_ROS_DISTRO": "jazzy"}, "jazzy"),
        ('{"distro": "kilted"}', {"PE_ROS_DISTRO": "jazzy"}, "kilted"),
        ("{}", {"ROS_DISTRO": "humble", "PE_ROS_MESSAGES": "on"}, "jazzy"),
    ],
)
def test_a_build_takes_one_family(settings, environment, family):
    assert required_families(hook(settings, **environment)) == {family}


@pytest.mark.parametrize(
    ("settings", "environment"),
    [
        ("{}", {"PE_ROS_MESSAGES": "off"}),
        ('{"messages": "off"}', {}),
        ('{"messages": "off"}', {"PE_ROS_MESSAGES": "on"}),
        ("{}", {"ROS_DISTRO": "humble"}),
    ],
)
def test_a_build_without_messages_takes_no_ros(settings, environment):
    result = hook(settings, **environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"PE_ROS_DISTRO": "humble"}, ["PE_ROS_DISTRO", "'humble'", "jazzy, kilted"]),
        ({"PE_ROS_MESSAGES": "maybe"}, ["PE_ROS_MESSAGES", "'maybe'", "auto, on, off"]),
    ],
)
def test_an_unknown_choice_is_refused_by_name_value_and_rule(environment, told):
    result = hook(**environment)
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert all(part in result.stderr for part in told)


@ONLY_WHERE_WHEELS_ARE
def test_a_machine_without_compiler_is_told_so_and_the_cures(tmp_path):
    result = hook(PATH=str(tmp_path))
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert all(part in result.stderr for part in ("C++ compiler", "apt-get install g++", "PE_ROS_MESSAGES=off"))


@ONLY_WHERE_WHEELS_ARE
def test_a_machine_without_cmake_gets_it_from_pypi(tmp_path):
    (tmp_path / "g++").touch(mode=0o755)
    result = hook(PATH=str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert {"cmake>=3.20", "ninja"} <= set(json.loads(result.stdout))


@pytest.fixture(scope="module")
def plain_wheel(source, tmp_path_factory):
    """A wheel without messages."""
    built = tmp_path_factory.mktemp("plain")
    environment = os.environ | {"PE_ROS_MESSAGES": "off"}
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--wheel-dir", str(built), str(source.root)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return next(built.glob("*.whl")), result.stdout + result.stderr


def test_a_plain_wheel_is_for_any_python_and_machine(plain_wheel):
    assert plain_wheel[0].name.endswith("-py3-none-any.whl")


def test_a_plain_build_says_what_it_cannot_do_and_the_cure(plain_wheel):
    assert "building WITHOUT messages (PE_ROS_MESSAGES=off)" in plain_wheel[1]
    assert "colcon" in plain_wheel[1]


def test_a_plain_wheel_has_the_rooms_and_what_they_read(plain_wheel, source):
    with zipfile.ZipFile(plain_wheel[0]) as archive:
        names = set(archive.namelist())
    assert {f"pe_sim/{name}" for name in source.files("sim")} <= names
    assert {f"pe_ros/{name}" for name in source.files("pe_ros")} <= names
    shared = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}
    rooms = {f"share/pe_ros/{room}/{name}" for room in ("launch", "config", "msg") for name in source.files(room)}
    assert shared == rooms | {"share/pe_ros/package.xml"}


def test_a_source_distribution_holds_all_a_build_needs(source, tmp_path):
    command = [sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path), str(source.root)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    (archive,) = tmp_path.glob("pe_ros-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    needed = {str(path.relative_to(source.root)) for path in source.root.rglob("*") if path.is_file()}
    assert {name for name in needed if "egg-info" not in name and "__pycache__" not in name} <= names
