"""The fast engine against the stock one: every word is the same, also of what is listed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.envs.base import Engine
from experiments.envs.engine import FastEngine
from experiments.envs.household import ensure
from experiments.envs.stock import StockEngine


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = ensure(tmp_path_factory.mktemp("engine") / "set", seed=7, tasks=2, jobs=1)
    return sorted(root.rglob("game.tw-pddl"))


def said(state: Any, score: int = 0) -> list[Any]:
    return [state["feedback"], list(state["admissible_commands"]), state["won"], score]


def played(engine: Engine, path: Path, commands: Sequence[str]) -> Iterator[list[Any]]:
    """What an engine says at the start, and after each command."""
    engine.load(path)
    yield said(engine.reset())
    for command in commands:
        state, score, _ = engine.step(command)
        yield said(state, score)


def drawn(path: Path, steps: int) -> list[str]:
    """Admissible commands, with wrong ones between them, as they come up in a game."""
    engine, draw = FastEngine(), random.Random(path.name)
    engine.load(path)
    state, commands = engine.reset(), list[str]()
    for _ in range(steps):
        commands.append(draw.choice([*state["admissible_commands"], "open nothing 1", "Look", "go to  bed 1."]))
        state, _, _ = engine.step(commands[-1])
    return commands


def test_says_what_the_stock_engine_says(games: list[Path]) -> None:
    for path in games:
        walkthrough = json.loads(path.read_text())["walkthrough"]
        commands = [*walkthrough, "look", "help", "go to moon 1", "inventory", *drawn(path, 12)]
        stock = list(played(StockEngine(), path, commands))
        assert list(played(FastEngine(), path, commands)) == stock
        assert stock[len(walkthrough)][2:] == [True, 1]


@pytest.mark.alfworld
def test_says_what_the_stock_engine_says_on_real_games() -> None:
    found = sorted(Path(os.environ["ALFWORLD_DATA"]).glob("json_2.1.1/valid_unseen/*/*/game.tw-pddl"))
    for path in found[::27]:
        commands = drawn(path, 40)
        assert list(played(FastEngine(), path, commands)) == list(played(StockEngine(), path, commands))


def test_a_game_says_the_same_from_an_empty_cache_and_from_a_full_one(games: list[Path], tmp_path: Path) -> None:
    commands = json.loads(games[0].read_text())["walkthrough"]
    cold, warm = (list(played(FastEngine(tmp_path / "cache"), games[0], commands)) for _ in range(2))
    assert cold == warm
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_reset_brings_the_beginning_back(games: list[Path]) -> None:
    engine = FastEngine()
    engine.load(games[0])
    first = said(engine.reset())
    for command in engine.walkthrough:
        engine.step(command)
    assert engine.state["won"]
    assert said(engine.reset()) == first
