"""The engine against textworld's stock class: every word is the same, also of what is listed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.envs.engine import AlfredEngine
from experiments.envs.household import ensure


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = ensure(tmp_path_factory.mktemp("engine") / "set", seed=7, tasks=2, jobs=1)
    return sorted(root.rglob("game.tw-pddl"))


def stock(path: Path, commands: Sequence[str]) -> list[list[Any]]:
    """What textworld's own engine says, before the first command and after each."""
    command = [sys.executable, str(Path(__file__).with_name("stock.py")), str(path)]
    told = subprocess.run(command, input=json.dumps(commands), capture_output=True, text=True, timeout=120, check=True)
    said: list[list[Any]] = json.loads(told.stdout)
    return said


def compare(path: Path, steps: int, first: Sequence[str] = ()) -> None:
    """Play a game with some given commands and then with random ones, here and on the stock engine."""
    engine, draw = AlfredEngine(), random.Random(path.name)
    engine.load(path)
    state, commands, said = engine.reset(), list[str](), list[list[Any]]()
    for number in range(steps + 1):
        known = state["admissible_commands"]
        said.append([state["feedback"], list(known), state["won"]])
        if number < steps:
            commands.append(first[number] if number < len(first) else draw.choice([*known, "open nothing 1"]))
            state, _, _ = engine.step(commands[-1])
    assert said == stock(path, commands)


def test_plays_as_the_stock_engine_does(games: list[Path]) -> None:
    for path in games:
        walkthrough = json.loads(path.read_text())["walkthrough"]
        compare(path, 24, [*walkthrough, "look", "help", "go to moon 1", "inventory"])


@pytest.mark.alfworld
def test_plays_real_games_as_the_stock_engine_does() -> None:
    found = sorted(Path(os.environ["ALFWORLD_DATA"]).glob("json_2.1.1/valid_unseen/*/*/game.tw-pddl"))
    for path in found[::27]:
        compare(path, 40)


def test_a_reset_brings_the_beginning_back(games: list[Path]) -> None:
    engine = AlfredEngine()
    engine.load(games[0])
    first = dict(engine.reset())
    for command in engine.walkthrough:
        engine.step(command)
    assert engine.state["won"]
    again = dict(engine.reset())
    assert (first["feedback"], first["admissible_commands"], first["won"]) == (
        again["feedback"],
        again["admissible_commands"],
        again["won"],
    )
