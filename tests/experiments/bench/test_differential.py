"""The comparison of two engines finds what one of them says wrongly, and says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.bench.differential import Difference, compare
from experiments.bench.games import name, walkthrough
from experiments.envs.engine import FastEngine
from experiments.envs.household import ensure


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = ensure(tmp_path_factory.mktemp("differential") / "set", seed=7, tasks=1, jobs=1)
    (path,) = root.rglob("game.tw-pddl")
    return path


class Liar:
    """An engine that changes what it says once, after so many commands and resets."""

    def __init__(self, when: int, lie: Callable[[Any, int, bool], tuple[Any, int, bool]]) -> None:
        self._engine, self._said, self._when, self._lie = FastEngine(), -1, when, lie

    def load(self, path: str | Path) -> None:
        self._engine.load(path)

    def reset(self) -> Any:
        return self._answer(self._engine.reset(), 0, False)[0]

    def step(self, command: str) -> tuple[Any, int, bool]:
        return self._answer(*self._engine.step(command))

    def _answer(self, state: Any, score: int, done: bool) -> tuple[Any, int, bool]:
        self._said += 1
        if self._said != self._when:
            return state, score, done
        return self._lie(self._engine.state.copy(), score, done)


def another_word(state: Any, score: int, done: bool) -> tuple[Any, int, bool]:
    state["feedback"] += " "
    return state, score, done


def one_command_less(state: Any, score: int, done: bool) -> tuple[Any, int, bool]:
    state["admissible_commands"] = state["admissible_commands"][1:]
    return state, score, done


def a_win(state: Any, score: int, done: bool) -> tuple[Any, int, bool]:
    state["won"] = not state["won"]
    return state, score, done


def a_point(state: Any, score: int, done: bool) -> tuple[Any, int, bool]:
    return state, 1 - score, done


def lied(game: Path, when: int, lie: Callable[[Any, int, bool], tuple[Any, int, bool]]) -> list[Difference]:
    return compare(game, 6, FastEngine(), Liar(when, lie)).differences


@pytest.mark.parametrize("when", [0, 2, 4, 5, 9])
@pytest.mark.parametrize(
    ("lie", "what"),
    [(another_word, "observation"), (one_command_less, "admissible"), (a_win, "won")],
)
def test_a_planted_difference_is_found_where_it_is(
    game: Path, when: int, lie: Callable[[Any, int, bool], tuple[Any, int, bool]], what: str
) -> None:
    (found,) = lied(game, when, lie)
    assert (found.game, found.step, found.what) == (name(game), when, what)
    assert found.stock != found.fast
    assert (found.command == "(reset)") == (when in (0, 4))


def test_a_wrong_score_is_found(game: Path) -> None:
    (found,) = lied(game, 2, a_point)
    assert (found.what, found.stock, found.fast) == ("score", "0", "1")


def test_engines_that_agree_differ_nowhere_and_every_answer_is_compared(game: Path) -> None:
    found = compare(game, 6, FastEngine(), FastEngine())
    # Six random commands, the walkthrough, and two resets.
    assert (found.answers, found.differences) == (6 + len(walkthrough(game)) + 2, [])
