"""Whether the fast engine says, word for word, what textworld's stock class says."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import Goal, Measure
from experiments.bench.scale import Scale
from experiments.bench.workers import each
from experiments.envs.base import Engine
from experiments.envs.engine import FastEngine
from experiments.envs.stock import StockEngine

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the engines told differently.

    Attributes:
        game: The game's name.
        step: Commands sent since the game was loaded; resets count as well.
        command: The last of them.
        what: ``observation``, ``admissible``, ``won``, ``score`` or ``done``.
        stock: What the stock engine told.
        fast: What the fast engine told.
    """

    game: str
    step: int
    command: str
    what: str
    stock: str
    fast: str


@dataclass(frozen=True, slots=True)
class Compared:
    """How many answers of a game were compared, and what differed in them."""

    answers: int
    differences: list[Difference]


def differential(scale: Scale, console: Console) -> Measure:
    """Play the games on both engines, and compare every answer."""
    sets = ["household", *(["alfworld"] if games.has_alfworld() else [])]
    jobs = [(game, scale.compared_steps) for env in sets for game in games.paths(env, scale.compared_games)]
    answers, found = 0, list[Difference]()
    for one in each(compared, jobs, console, "differential", processes=len(os.sched_getaffinity(0))):
        answers += one.answers
        found += one.differences
        for difference in one.differences[:_SHOWN]:
            console.print(_words(difference), style="red", markup=False, highlight=False, soft_wrap=True)
    return Measure(
        name="differential",
        value=len(found),
        unit="differences",
        n=len(jobs),
        note="n: games; observation, admissible commands, won, score and done after every command and reset",
        detail={
            "steps_compared": answers,
            "games": {env: sum(1 for _ in games.paths(env, scale.compared_games)) for env in sets},
            "random_commands_per_game": scale.compared_steps,
            "first_differences": [asdict(difference) for difference in found[:_SHOWN]],
        },
        goals=(Goal("value", "<=", 0),),
    )


def compared(job: tuple[Path, int]) -> Compared:
    """Play a game with so many random commands on both engines."""
    game, steps = job
    return compare(game, steps, StockEngine(), FastEngine())


def compare(game: Path, steps: int, stock: Engine, fast: Engine) -> Compared:
    """Play a game on two engines: random and wrong commands, a reset, the walkthrough, and random ones again.

    Args:
        game: The game's file.
        steps: Random commands in all.
        stock: Who is believed, and whose admissible commands are drawn from.
        fast: Who is compared.
    """
    draw, differences = random.Random(games.name(game)), list[Difference]()
    stock.load(game)
    fast.load(game)
    plan = [None, *["random"] * (steps // 2), None, *games.walkthrough(game), *["random"] * (steps - steps // 2)]
    told: list[Any] = []
    for number, planned in enumerate(plan):
        if planned is None:
            command, answers = "(reset)", [(engine.reset(), 0, False) for engine in (stock, fast)]
        else:
            command = games.drawn(draw, told[0][0]["admissible_commands"]) if planned == "random" else planned
            answers = [engine.step(command) for engine in (stock, fast)]
        told = answers
        right, other = (dict(_said(*answer)) for answer in answers)
        differences += [
            Difference(games.name(game), number, command, what, right[what], other[what])
            for what in right
            if right[what] != other[what]
        ]
    return Compared(len(plan), differences)


def _said(state: Any, score: int, done: bool) -> Iterator[tuple[str, str]]:
    yield "observation", state["feedback"]
    yield "admissible", "\n".join(state["admissible_commands"])
    yield "won", repr(state["won"])
    yield "score", repr(score)
    yield "done", repr(done)


def _words(found: Difference) -> str:
    return (
        f"{found.game}, step {found.step}, {found.command!r}: {found.what} differs\n"
        f"  stock: {found.stock!r}\n  fast:  {found.fast!r}"
    )
