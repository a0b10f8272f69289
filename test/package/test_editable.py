"""An editable install: built messages from the environment, everything else from the source tree, as it is now."""

import importlib
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def is_editable():
    try:
        origin = json.loads(distribution("pe_ros").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return False
    return bool(origin.get("dir_info", {}).get("editable")) and origin["url"] == ROOT.as_uri()


pytestmark = pytest.mark.skipif(not is_editable(), reason="pe_ros is not installed editable from this source tree")


def elsewhere(program):
    """Run a program in a directory that has nothing to do with the source tree."""
    result = subprocess.run([sys.executable, "-c", program], cwd="/", capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize(("package", "room"), [("pe_ros", "pe_ros"), ("pe_sim", "sim")])
def test_rooms_are_the_source_tree(package, room):
    (directory,) = {Path(line).resolve() for line in elsewhere(f"import {package}; print({package}.__file__)")}
    assert directory == ROOT / room / "__init__.py"


def test_a_new_module_is_seen_at_once(tmp_path):
    """The rooms are reached through links to their directories, not through a list of files made at install time."""
    for package, room in (("pe_ros", "pe_ros"), ("pe_sim", "sim")):
        spec = importlib.util.find_spec(package)
        assert any(Path(location).resolve() == ROOT / room for location in spec.submodule_search_locations)


@pytest.mark.ros
def test_messages_are_in_the_environment_not_in_the_source_tree():
    (file,) = elsewhere("import pe_ros.msg; print(pe_ros.msg.__file__)")
    assert Path(sys.prefix) in Path(file).parents
    assert not (ROOT / "pe_ros" / "msg").exists()


@pytest.mark.ros
def test_messages_are_those_of_the_source_tree():
    """A changed message calls for a new set-up: `bash scripts/setup.sh`."""
    (share,) = elsewhere("import sys; print(sys.prefix + '/share/pe_ros/msg')")
    installed = {path.name: path.read_text(encoding="utf-8") for path in Path(share).glob("*.msg")}
    assert installed == {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "msg").glob("*.msg")}
