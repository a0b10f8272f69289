"""The manifests agree: package.xml, pyproject.toml, the families of ROS 2, the versions."""

import ast
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]

#: In a ROS 2 installation only: there are no wheels of these.
NO_WHEELS = {"launch", "launch_ros", "ros2launch"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def manifest():
    return ET.parse(ROOT / "package.xml").getroot()


def names(requirements, prefix):
    """Return the ROS packages that requirements name, as ROS spells them."""
    return {
        re.split(r"[\[~=<>! ]", requirement.removeprefix(prefix))[0].replace("-", "_")
        for requirement in requirements
        if requirement.startswith(prefix)
    }


def literal(path, name):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{path} does not set {name}")


@pytest.mark.parametrize("room", ["pe_ros", "sim"])
def test_the_rooms_state_the_version_of_package_xml(room, manifest):
    assert literal(ROOT / room / "__init__.py", "__version__") == manifest.findtext("version")


def test_ros_is_no_plain_dependency(project):
    assert not [requirement for requirement in project["dependencies"] if requirement.startswith("ros-")]


@pytest.mark.parametrize(("extra", "prefix"), [("ros", "ros-jazzy-"), ("ros-kilted", "ros-kilted-")])
def test_an_extra_takes_one_family_pinned_to_its_release(extra, prefix, project):
    requirements = project["optional-dependencies"][extra]
    assert all(re.fullmatch(rf"{prefix}[a-z-]+(\[\w+\])?~=\d+\.\d+\.\d+", requirement) for requirement in requirements)
    build = [item for item in project["optional-dependencies"][f"{extra}-build"] if item.startswith("ros-")]
    assert all(re.fullmatch(rf"{prefix}[a-z0-9-]+~=\d+\.\d+\.\d+", requirement) for requirement in build)


def test_both_families_offer_the_same(project):
    extras = project["optional-dependencies"]
    assert names(extras["ros"], "ros-jazzy-") == names(extras["ros-kilted"], "ros-kilted-")


def test_the_ros_extra_brings_what_package_xml_needs_to_run(project, manifest):
    needed = {str(element.text) for element in manifest if element.tag in {"depend", "exec_depend"}}
    needed = {name for name in needed if not name.startswith("python3-")} - NO_WHEELS
    assert names(project["optional-dependencies"]["ros"], "ros-jazzy-") == needed


def test_what_rosdep_installs_is_what_pip_installs(project, manifest):
    depends = {str(element.text) for element in manifest}
    keys = {name.removeprefix("python3-") for name in depends if name.startswith("python3-")}
    declared = {re.split(r"[^\w-]", requirement)[0] for requirement in project["dependencies"]}
    assert keys
    assert keys <= declared | {"yaml"}


def test_message_dependencies_are_build_dependencies(manifest):
    """Every package whose message a message holds is built against."""
    used = set()
    for path in (ROOT / "msg").glob("*.msg"):
        used |= set(re.findall(r"^(\w+)/\w+", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    declared = {str(element.text) for element in manifest if element.tag == "depend"}
    assert used - {"pe_ros"} <= declared


def test_names_of_extras_are_those_that_any_pip_knows(project):
    """The metadata spells them with hyphens; pip before release 23.3 finds no other spelling, and goes on without."""
    for extra, requirements in project["optional-dependencies"].items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", extra)
        assert not [item for item in requirements if item.startswith("pe_ros[") and "_" in item[7 : item.index("]")]]


def test_every_extra_that_the_code_tells_a_user_to_install_exists(project):
    told = set()
    for room in ("pe_ros", "sim", "launch", "build_support"):
        for path in (ROOT / room).rglob("*.py"):
            for extras in re.findall(r"(?:pe_ros|\.)\[([a-z_,-]+)\]'", path.read_text(encoding="utf-8")):
                told |= {(extra, str(path.relative_to(ROOT))) for extra in extras.split(",")}
    assert {extra for extra, _ in told} <= set(project["optional-dependencies"]), sorted(told)
