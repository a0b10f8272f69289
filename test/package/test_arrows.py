"""Dependencies flow one way: sim knows no ROS; what each room imports is declared."""

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]

ROS = re.compile(
    r"rclpy|pe_ros|\w+_msgs|std_srvs|\w+_interfaces|ament_\w+|rosidl_\w+|tf2_ros|launch|launch_ros|rosbag2_py|rpyutils|rcl\w*"
)
OWN = {"pe_ros", "pe_sim"}
#: Distributions whose modules have other names.
MODULES = {"pyyaml": ("yaml",), "mcap_ros2_support": ("mcap_ros2",), "pydantic": ("pydantic", "pydantic_core")}


def python_files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported_modules(path: Path) -> set[str]:
    """Return the dotted names that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


def top_level(paths: list[Path]) -> set[str]:
    return {name.partition(".")[0] for path in paths for name in imported_modules(path)}


def declared_python() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    for extra, of_extra in project["optional-dependencies"].items():
        if extra not in {"dev", "all", "ros-build", "ros-kilted-build"}:
            requirements += of_extra
    names = {re.split(r"[^\w.-]", requirement)[0].lower().replace("-", "_") for requirement in requirements}
    return {module for name in names for module in MODULES.get(name, (name,))}


def declared_ros() -> set[str]:
    manifest = ET.parse(ROOT / "package.xml").getroot()
    return {str(element.text) for element in manifest if element.tag in {"depend", "exec_depend"}}


def test_the_rooms_are_seen():
    assert len(python_files("sim")) > 1
    assert len(python_files("pe_ros")) > 1


@pytest.mark.parametrize("path", python_files("sim"), ids=lambda path: str(path.relative_to(ROOT)))
def test_sim_imports_no_ros(path):
    ros = {name for name in imported_modules(path) if ROS.fullmatch(name.partition(".")[0])}
    assert not ros, f"{path.relative_to(ROOT)} imports {sorted(ros)}: sim/ runs without ROS"


def test_sim_module_names_resolve_without_ros():
    """Importing every module of pe_sim pulls in no ROS module, by whatever way."""
    program = (
        "import importlib, importlib.util, json, pkgutil, sys\n"
        "import pe_sim\n"
        "skipped = []\n"
        "for module in pkgutil.walk_packages(pe_sim.__path__, 'pe_sim.'):\n"
        "    if '.rival_scripts.' in module.name:\n"  # programs, run by the Python of a rival
        "        continue\n"
        "    try:\n"
        "        importlib.import_module(module.name)\n"
        "    except ModuleNotFoundError as error:\n"  # an optional library, such as torch
        "        skipped.append([module.name, error.name])\n"
        "print(json.dumps([sorted(sys.modules), skipped]))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    modules, skipped = json.loads(result.stdout.splitlines()[-1])
    ros = {name for name in modules if ROS.fullmatch(name.partition(".")[0])}
    assert "pe_sim.timing" in modules
    assert not ros
    optional = declared_python()
    assert not [entry for entry in skipped if entry[1].partition(".")[0] not in optional], skipped


@pytest.mark.parametrize("room", ["pe_ros", "launch"])
def test_package_xml_declares_the_ros_packages_in_use(room):
    used = {name for name in top_level(python_files(room)) if ROS.fullmatch(name)} - OWN
    missing = used - declared_ros()
    assert not missing, f"package.xml lacks exec_depend of {sorted(missing)}, which {room}/ imports"


@pytest.mark.parametrize("room", ["pe_ros", "sim"])
def test_pyproject_declares_the_libraries_in_use(room):
    used = {name for name in top_level(python_files(room)) if not ROS.fullmatch(name)} - OWN
    undeclared = used - set(sys.stdlib_module_names) - declared_python()
    assert not undeclared, f"pyproject.toml lacks {sorted(undeclared)}, which {room}/ imports"
