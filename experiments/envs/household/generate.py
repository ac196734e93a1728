"""Writes a split of games to a folder, each proved solvable by playing it."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.progress import track

from experiments.envs.base import TaskSetError
from experiments.envs.engine import FastEngine, play
from experiments.envs.household.planning import TaskPlan, plan
from experiments.envs.household.problem import game, trajectory
from experiments.envs.household.scene import draw
from experiments.envs.household.walkthrough import walkthrough

VERSION = 1
"""Raised whenever the same seed no longer gives the same bytes."""

RECORD = "household.json"
ATTEMPTS = 20


class Request(BaseModel):
    """What decides the bytes of a set (rules and floor plans come with the package)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    generator_version: int
    alfworld_version: str
    seed: int
    split: str
    tasks: int


class Record(Request):
    """``household.json``: the request and the hash over all files of the set."""

    sha256: str


def request(seed: int = 42, split: str = "valid_unseen", tasks: int | None = None) -> Request:
    """The request for a split, or for ``tasks`` of its tasks."""
    return Request(
        generator_version=VERSION,
        alfworld_version=version("alfworld"),
        seed=seed,
        split=split,
        tasks=len(plan(seed, split, tasks)),
    )


def ensure(root: Path, seed: int = 42, split: str = "valid_unseen", tasks: int | None = None, jobs: int = 2) -> Path:
    """Generate the set under ``root`` if it is absent, check it if it is there; returns ``root``.

    Args:
        root: Folder that holds, or will hold, ``json_2.1.1/<split>/...`` and ``household.json``.
        seed: Everything drawn depends on it.
        split: ``valid_unseen`` (134 tasks) or ``train`` (268 tasks on the other floor plans).
        tasks: How many tasks, spread over the types; all by default.
        jobs: Processes that prove the games solvable; the result does not depend on it.

    Raises:
        TaskSetError: The folder holds something else, or files that were changed since.
    """
    wanted = request(seed, split, tasks)
    if not is_complete(root, wanted):
        _generate(root, wanted, jobs)
    return root


def is_complete(root: Path, wanted: Request) -> bool:
    """True if ``root`` holds exactly the requested set, False if it is absent or empty.

    Raises:
        TaskSetError: The folder holds something else, or files that were changed since.
    """
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return False
    path = root / RECORD
    cure = f"Choose another folder, or delete {root} and generate it again."
    try:
        record = Record.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise TaskSetError(f"{path}: not the record of a household set ({error}). {cure}") from error
    found = Request(**record.model_dump(exclude={"sha256"}))
    if found != wanted:
        raise TaskSetError(f"{path}: the set there is {_words(found)}; asked for is {_words(wanted)}. {cure}")
    digest = hash_games(root)
    if digest != record.sha256:
        raise TaskSetError(f"{root}: the games hash to {digest}, {RECORD} says {record.sha256}. {cure}")
    return True


def hash_games(root: Path) -> str:
    """sha256 over name and content of every file under ``json_2.1.1``, in the order of their names."""
    digest = hashlib.sha256()
    files = (path for path in root.glob("json_2.1.1/**/*") if path.is_file())
    for name in sorted(path.relative_to(root).as_posix() for path in files):
        content = (root / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def write_game(folder: Path, task: TaskPlan) -> None:
    """Write one task's game into its folder below ``folder``, drawn again until its walkthrough wins it.

    Raises:
        TaskSetError: None of the first :data:`ATTEMPTS` scenes could be won so.
    """
    target = folder / task.folder
    target.mkdir(parents=True)
    _write_json(target / "traj_data.json", trajectory(task))
    path = target / "game.tw-pddl"
    for attempt in range(ATTEMPTS):
        scene = draw(task, attempt)
        commands = walkthrough(task, scene)
        _write_json(path, game(task, scene, commands))
        if _wins(path, commands):
            return
    raise TaskSetError(
        f"{task.folder}: no attempt out of {ATTEMPTS} gave a game its walkthrough wins; "
        "the installed alfworld may have changed its rules: install the version named in pyproject.toml."
    )


def _wins(path: Path, commands: Iterable[str]) -> bool:
    engine = _engine()
    engine.load(path)
    return not play(engine, ()) and play(engine, commands)


@cache
def _engine() -> FastEngine:
    return FastEngine()  # one per process


def _generate(root: Path, wanted: Request, jobs: int) -> None:
    tasks = plan(wanted.seed, wanted.split, wanted.tasks)
    root.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=root.parent, prefix=f".{root.name}."))
    try:
        with _mapper(jobs) as run:
            done = run(partial(write_game, draft / "json_2.1.1" / wanted.split), tasks)
            for _ in track(done, description="Proving the household games", total=len(tasks)):
                pass
        _write_json(draft / RECORD, Record(**wanted.model_dump(), sha256=hash_games(draft)).model_dump())
        _publish(draft, root, wanted)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, root: Path, wanted: Request) -> None:
    draft.chmod(0o755)
    try:
        os.replace(draft, root)
    except OSError:
        if not is_complete(root, wanted):  # another process may have made the same set meanwhile
            raise


@contextmanager
def _mapper(jobs: int) -> Iterator[Callable[..., Iterable[None]]]:
    """``map``, here or over processes; in the order of its input either way."""
    if jobs < 2:
        yield map
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool.map


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _words(asked: Request) -> str:
    return ", ".join(f"{name} {value}" for name, value in asked.model_dump().items())
