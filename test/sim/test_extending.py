"""The guide to parts of one's own: the package it shows is built from its text, installed, and flown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"

FLY = """
import json, sys
from pe_sim import registry
from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.evaluation.rollout import Rollout
from pe_sim.json_schema import json_schema

mover = {"model": "unicycle", "max_speed": 3, "max_turn_rate": 2}
policy = {"use": "guidance/spiral", "rate": 10, "parameters": {"turn_rate": 1}}
role = {
    "team": "pursuers", "dynamics": mover, "policy": policy,
    "sensors": {"ears": {"kind": "sonar", "rate": 10, "hears": "20 m", "noise": {"distance": 0.1}}},
}
world = {"backend": "kinematic", "dimensions": 2, "tick": 0.05, "arena": {"low": [-9, -9, 0], "high": [9, 9, 0]}}
data = {
    "engagement": "own_parts", "world": world, "rules": {"max_step": 20, "capture": {"radius": 0.1}},
    "roles": {"pursuer": role, "evader": {**role, "team": "evaders"}},
}
runner = Rollout(parse(data), 4)
results = runner.run([1] * 4, [0, 1, 2, 3])
alone = Rollout(parse(data)).run([1], [2])[0]
view = runner.simulation.roles["pursuer"].perception.view(runner.simulation.now)["ears"]
data["roles"]["pursuer"]["sensors"]["ears"]["heers"] = 1
try:
    parse(data)
    fault = ""
except EngagementError as error:
    fault = str(error)
kinds = [option["title"] for option in json_schema()["$defs"]["SensorSpec"]["anyOf"]]
print(json.dumps({
    "names": [registry.names("pe_sim.sensors"), registry.names("pe_sim.guidance")],
    "parity": alone == results[2], "width": view.values.shape[0], "heard": bool(view.valid.all()),
    "least": float(view.values.min()), "fault": fault, "schema": "sonar" in kinds,
}))
"""


def package_of_the_guide(directory: Path) -> Path:
    """Write the files that the guide shows."""
    text = GUIDE.read_text(encoding="utf-8")
    root = directory / "my_parts"
    (root / "my_parts").mkdir(parents=True)
    toml = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert toml is not None
    (root / "pyproject.toml").write_text(toml.group(1))
    (root / "my_parts" / "__init__.py").write_text('"""Parts of my own."""\n')
    codes = re.findall(r"`(my_parts/\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL)
    assert len(codes) == 2
    for name, code in codes:
        (root / name).write_text(code)
    return root


@pytest.mark.timeout(240)
def test_the_guides_package_installs_and_flies(tmp_path: Path) -> None:
    import json

    root = package_of_the_guide(tmp_path)
    site = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-t",
        str(site),
        str(root),
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0 and "No module named pip" in done.stderr:
        pytest.skip("this environment has no pip")
    assert done.returncode == 0, done.stderr
    paths = [str(site), *filter(None, sys.path)]
    flown = subprocess.run(
        [sys.executable, "-c", FLY],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(paths), "PATH": ""},
    )
    assert flown.returncode == 0, flown.stderr
    told = json.loads(flown.stdout)
    assert "sonar" in told["names"][0]
    assert "spiral" in told["names"][1]
    assert told["parity"] is True
    assert told["width"] == 1
    assert told["heard"] is True
    assert told["least"] > 0.0
    assert "did you mean 'hears'?" in told["fault"]
    assert told["schema"] is True
