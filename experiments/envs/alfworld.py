"""ALFWorld's games as a task set: every game of a split once, checked before the first one is played."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from experiments.envs.base import Engine, Opening, Outcome, TaskInfo, TaskSetError
from experiments.envs.engine import FastEngine
from experiments.envs.stock import StockEngine
from memarbiter.writing.household.text import REJECTED

SPLITS = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
"""Playable games of each split, as published."""

PAPER_SPLITS = {"eval_in_distribution": "valid_seen", "eval_out_of_distribution": "valid_unseen"}
"""ALFWorld's configuration names for the test splits."""

ENGINES: Mapping[str, Callable[[], Engine]] = {"fast": FastEngine, "stock": StockEngine}
"""Who plays the games: ours, or textworld's own class, which says the same and takes longer."""

_GAME = "game.tw-pddl"
_TRAJECTORY = "traj_data.json"
_DOWNLOAD = (
    "get the games with `pip install alfworld && alfworld-download` and set ALFWORLD_DATA to the folder that "
    "holds json_2.1.1 (by default ~/.cache/alfworld)"
)
_OLD_TEMPLATE = 'template :: "put {o} in/on {r}"'
_NEW_TEMPLATE = 'template :: "move {o} to {r}"'
_GOAL = "Your task is to: "


class AlfworldTaskSet:
    """The games under ``root/json_2.1.1/<split>``. Nothing is ever written there.

    Args:
        root: ALFWorld's data folder; ``~`` is understood.
        split: ``train``, ``valid_seen``, ``valid_unseen``, or ALFWorld's other names for the last two.
        expected: How many games there must be; by default the published number.
        engine: Who plays them, a name in :data:`ENGINES`.

    Raises:
        TaskSetError: If the split or the engine is unknown. All else is checked by :meth:`tasks`.
    """

    def __init__(
        self, root: str | Path, split: str = "valid_unseen", expected: int | None = None, engine: str = "fast"
    ) -> None:
        name = PAPER_SPLITS.get(split, split)
        if name not in SPLITS:
            raise TaskSetError(f"unknown split '{split}'; there are {', '.join([*SPLITS, *PAPER_SPLITS])}")
        if engine not in ENGINES:
            raise TaskSetError(f"unknown engine '{engine}'; there are {', '.join(ENGINES)}")
        self._engine = ENGINES[engine]
        self._folder = Path(root).expanduser() / "json_2.1.1" / name
        self._expected = SPLITS[name] if expected is None else expected

    def tasks(self) -> Sequence[TaskInfo]:
        """All tasks, sorted by id; every game is read and checked on the first call.

        Raises:
            TaskSetError: If there are no games, not as many as there must be, or unusable ones.
        """
        return self._checked

    def make(self) -> AlfworldEnvironment:
        """An environment for these games. One per process."""
        return AlfworldEnvironment({task.id: self._games[task.id] for task in self.tasks()}, self._engine())

    @cached_property
    def _games(self) -> Mapping[str, Path]:
        # ALFWorld leaves out tasks with movable receptacles and sliced objects.
        trials = (path.parent for path in self._folder.glob(f"*/*/{_TRAJECTORY}"))
        played = (trial for trial in trials if "movable" not in str(trial) and "Sliced" not in str(trial))
        return {f"{trial.parent.name}__{trial.name}": trial / _GAME for trial in sorted(played)}

    @cached_property
    def _checked(self) -> Sequence[TaskInfo]:
        if not self._games:
            raise TaskSetError(f"{self._folder} holds 0 games, {self._expected} are needed: {_DOWNLOAD}")
        if missing := [path for path in self._games.values() if not path.is_file()]:
            raise TaskSetError(
                f"{self._folder}: {len(missing)} of {len(self._games)} folders have no {_GAME}, the first is "
                f"{missing[0].parent}: {_DOWNLOAD}"
            )
        # Each game before their number: that a folder is of an old release says more than that it is small.
        checked = sorted((_check(name, path) for name, path in self._games.items()), key=lambda task: task.id)
        if len(checked) != self._expected:
            raise TaskSetError(f"{self._folder} holds {len(checked)} games, {self._expected} are needed: {_DOWNLOAD}")
        return tuple(checked)


class AlfworldEnvironment:
    """Plays the games on ALFWorld's text engine, without expert and without a step limit of its own.

    The game of the latest task stays loaded: beginning the same task again only resets it.
    """

    def __init__(self, games: Mapping[str, Path], engine: Engine) -> None:
        self._games = games
        self._engine = engine
        self._loaded: str | None = None
        self._admissible: tuple[str, ...] = ()

    def begin(self, task_id: str) -> Opening:
        """Start the named task from its beginning.

        Raises:
            KeyError: If the set has no such task.
        """
        if task_id != self._loaded:
            self._loaded = None
            self._engine.load(self._games[task_id])
            self._loaded = task_id
        state = self._engine.reset()
        text, _, goal = state.feedback.partition(_GOAL)
        scene = [part for part in text.split("\n\n") if part.strip() and not part.startswith("-=")]
        self._admissible = tuple(state["admissible_commands"])
        return Opening("\n\n".join(scene).strip(), goal.strip(), self._admissible)

    def step(self, command: str) -> Outcome:
        """Send one command; success is read from the engine's state alone."""
        was_admissible = command in self._admissible
        state, _, _ = self._engine.step(command)
        self._admissible = tuple(state["admissible_commands"])
        return Outcome(
            observation=state.feedback,
            won=bool(state["won"]),
            failed=state.feedback == REJECTED,
            was_admissible=was_admissible,
            admissible=self._admissible,
        )


def household_task_set(
    root: str | Path,
    seed: int = 42,
    split: str = "valid_unseen",
    tasks: int | None = None,
    engine: str = "fast",
) -> AlfworldTaskSet:
    """The ``household`` games under ``root``, which are generated first where they are absent.

    Raises:
        TaskSetError: If the folder holds something else.
    """
    # Imported here: who plays ALFWorld's own games has no need of the generator.
    from experiments.envs.household import ensure
    from experiments.envs.household.planning import plan

    folder = ensure(Path(root).expanduser(), seed, split, tasks)
    return AlfworldTaskSet(folder, split, expected=len(plan(seed, split, tasks)), engine=engine)


def _check(task_id: str, path: Path) -> TaskInfo:
    content = path.read_bytes()
    try:
        game = json.loads(content)
        grammar, solvable = game["grammar"], game["solvable"]
        kind = json.loads((path.parent / _TRAJECTORY).read_bytes())["task_type"]
    except (ValueError, KeyError, TypeError) as error:
        raise TaskSetError(f"{path} or its {_TRAJECTORY} is damaged ({error!r}): {_DOWNLOAD}") from error
    if _OLD_TEMPLATE in grammar or _NEW_TEMPLATE not in grammar:
        raise TaskSetError(
            f"{path} is of an old release, in which objects are placed with another command; agents cannot play "
            "such games. Fetch release 2.1.2 or later with `alfworld-download -f`"
        )
    if not solvable:
        raise TaskSetError(f"{path} is marked as not solvable; every planned task must be: {_DOWNLOAD}")
    return TaskInfo(task_id, kind, hashlib.sha256(content).hexdigest())
