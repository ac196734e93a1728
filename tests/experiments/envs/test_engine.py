"""The engine against textworld's stock class: every word is the same, also of what is listed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.envs.pddl import PddlEnv

from experiments.envs.engine import AlfredEngine
from experiments.envs.household import ensure


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = ensure(tmp_path_factory.mktemp("engine") / "set", seed=7, tasks=2, jobs=1)
    return sorted(root.rglob("game.tw-pddl"))


def stock(path: Path) -> Any:
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))
    env.load(str(path))
    return env


def test_plays_as_the_stock_engine_does(games: list[Path]) -> None:
    for path in games:
        ours, theirs = AlfredEngine(), stock(path)
        ours.load(path)
        mine, referee = ours.reset(), theirs.reset()
        draw = random.Random(path.name)
        commands = [*ours.walkthrough, "look", "help", "go to moon 1", "inventory"]
        for number in range(24):
            assert mine["feedback"] == referee["feedback"]
            assert mine["admissible_commands"] == referee["admissible_commands"]
            assert mine["won"] == referee["won"]
            known = mine["admissible_commands"]
            command = commands[number] if number < len(commands) else draw.choice([*known, "open nothing 1"])
            mine, _, _ = ours.step(command)
            referee, _, _ = theirs.step(command)


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
