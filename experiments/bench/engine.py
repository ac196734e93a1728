"""The fast text engine against textworld's stock class: steps, and the start of an episode.

Both play the same game with the same commands in one process, in turns; each game has a process of its own.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import Goal, Measure, faster
from experiments.bench.scale import Scale
from experiments.bench.workers import each
from experiments.envs.engine import FastEngine
from experiments.envs.stock import StockEngine


@dataclass(frozen=True, slots=True)
class Play:
    """What one process is to time.

    Attributes:
        game: The game.
        other: Another game, with which the process begins where starts are timed.
        cache: Folder of the prepared games.
        steps: Commands, where steps are timed.
        stock_first: Whether the stock engine has the first turn.
    """

    game: Path
    other: Path
    cache: Path
    steps: int
    stock_first: bool


def engine_step(scale: Scale, console: Console) -> Measure:
    """One command, with all that an engine says after it."""
    with tempfile.TemporaryDirectory() as cache:
        plays = _plays(scale, Path(cache))
        found = list(each(timed_steps, plays, console, "engine_step", fresh=True))
    return faster(
        "engine_step",
        [pair for pairs in found for pair in pairs],
        note=f"{len(plays)} {_env()} games, {scale.timed_steps} commands each: walkthrough, random admissible and "
        "wrong ones; ratio: stock over fast",
        goals=(Goal("ratio", ">=", 25),),
        ratio_by_game={
            games.name(play.game): median(stock for stock, _ in pairs) / median(fast for _, fast in pairs)
            for play, pairs in zip(plays, found, strict=True)
        },
    )


def episode_start_cold(scale: Scale, console: Console) -> Measure:
    """Loading and resetting a game that has never been translated."""
    with tempfile.TemporaryDirectory() as cache:
        found = list(each(timed_starts, _plays(scale, Path(cache)), console, "episode_start_cold", fresh=True))
    return _starts("episode_start_cold", found, "never translated before", Goal("ratio", ">=", 3))


def episode_start_warm(scale: Scale, console: Console) -> Measure:
    """Loading and resetting a game whose translation another process has left on disk."""
    with tempfile.TemporaryDirectory() as cache:
        plays = _plays(scale, Path(cache))
        list(each(prepare, plays, console, "episode_start_warm: translating"))
        found = list(each(timed_starts, plays, console, "episode_start_warm", fresh=True))
    return _starts("episode_start_warm", found, "translated on disk by another process", Goal("ratio", ">=", 15))


def timed_steps(play: Play) -> list[tuple[float, float]]:
    """Seconds of each step on the stock and on the fast engine."""
    stock, fast = StockEngine(), FastEngine(play.cache)
    for engine in (stock, fast):
        engine.load(play.game)
        state = engine.reset()
    draw, first, pairs = random.Random(games.name(play.game)), games.walkthrough(play.game), []
    for number in range(play.steps):
        command = first[number] if number < len(first) else games.drawn(draw, state["admissible_commands"])
        pairs.append(_in_turn(partial(_step, command=command), stock, fast, number % 2 == 0))
        state = fast.state
    return pairs


def timed_starts(play: Play) -> tuple[tuple[float, float], tuple[float, float]]:
    """Seconds of the stock and the fast engine to load and reset the process's first game, and the game in question."""

    def start(engine: Any, game: Path) -> None:
        engine.load(game)
        engine.reset()

    first, second = (
        _in_turn(partial(start, game=game), StockEngine(), FastEngine(play.cache), play.stock_first)
        for game in (play.other, play.game)
    )
    return first, second


def prepare(play: Play) -> None:
    """Leave the translation of both games on disk."""
    for game in (play.other, play.game):
        FastEngine(play.cache).load(game)


def _in_turn(
    work: Callable[[Any], object], stock: StockEngine, fast: FastEngine, stock_first: bool
) -> tuple[float, float]:
    seconds = {}
    for engine in (stock, fast) if stock_first else (fast, stock):
        start = perf_counter()
        work(engine)
        seconds[engine] = perf_counter() - start
    return seconds[stock], seconds[fast]


def _env() -> str:
    return "alfworld" if games.has_alfworld() else "household"


def _step(engine: Any, command: str) -> None:
    engine.step(command)


def _starts(
    name: str, found: Sequence[tuple[tuple[float, float], tuple[float, float]]], how: str, goal: Goal
) -> Measure:
    first = faster(name, [pair for pair, _ in found], note="")
    return faster(
        name,
        [pair for _, pair in found],
        note=f"load and reset of {len(found)} {_env()} games, {how}, each in a process that has loaded one other game "
        "with both engines; ratio: stock over fast",
        goals=(goal,),
        first_game_of_a_process={name: getattr(first, name) for name in ("value", "baseline", "ratio", "spread")},
    )


def _plays(scale: Scale, cache: Path) -> list[Play]:
    found = games.paths(_env(), scale.timed_games)
    # Each has a cache of its own, so that no other process translates its games.
    return [
        Play(game, found[number - 1], cache / str(number), scale.timed_steps, number % 2 == 0)
        for number, game in enumerate(found)
    ]
