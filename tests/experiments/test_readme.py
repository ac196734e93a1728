"""The README's own memory is played as the README says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.settings import CHECKOUT

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def block(language: str, first_line: str) -> str:
    """The fenced block of the README that begins with this line."""
    return next(
        found for found in re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL) if found.startswith(first_line)
    )


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "my_memory.py").write_text(block("python", "# my_memory.py"))
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "last_actions.yaml").write_text(block("yaml", "# configs/method/last_actions.yaml"))
    return tmp_path


def test_the_memory_in_one_file_is_played(mine: Path) -> None:
    out = mine / "run"
    toy = [
        "env.task_set._target_=toys.CorridorTasks",
        "~env.task_set.root",
        "~env.task_set.seed",
        "~env.task_set.split",
        "~env.task_set.engine",
    ]
    overrides = ["method=last_actions", "model._target_=toys.Walker", *toy, f"out={out}", "budget=100"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(mine), os.environ["PYTHONPATH"]])}
    run = [sys.executable, "-m", "experiments.run", "--config-dir", str(mine), *overrides]
    subprocess.run(run, env=environment, check=True, timeout=120, capture_output=True)
    assert json.loads((out / "manifest.json").read_text())["condition"]["method"] == "last_actions"
    last = sorted((out / "episodes").iterdir())[-1].read_text().splitlines()[-2]
    assert json.loads(last)["memory"]["text"] == "\n".join(f"Step {n}: go to room {n} (done)" for n in (1, 2, 3))


def test_P4_a_changed_memory_of_one_s_own_is_not_continued(mine: Path) -> None:
    toy = [
        "env.task_set._target_=toys.CorridorTasks",
        *(f"~env.task_set.{key}" for key in ("root", "seed", "split", "engine")),
    ]
    overrides = ["method=last_actions", "model._target_=toys.Walker", *toy, f"out={mine / 'run'}", "jobs=1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(mine), os.environ["PYTHONPATH"]])}
    command = [sys.executable, "-m", "experiments.run", "--config-dir", str(mine), *overrides]
    subprocess.run(command, env=environment, check=True, timeout=120, capture_output=True)
    program = mine / "my_memory.py"
    program.write_text(program.read_text().replace("[-3:]", "[-30:]"))
    again = subprocess.run(command, env=environment, check=False, timeout=120, capture_output=True, text=True)
    assert again.returncode == 2
    assert "code.own.my_memory" in again.stderr


def test_every_method_that_the_readme_names_exists() -> None:
    named = re.search(r"\| `method` \| (.*?) \|", README)
    assert named
    methods = set(re.findall(r"`(\w+)`", named[1]))
    assert methods == {path.stem for path in (CHECKOUT / "configs" / "method").glob("*.yaml")}
