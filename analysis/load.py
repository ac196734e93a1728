"""Read the runs of a folder, strictly: what is damaged, torn or does not belong there is an error.

Every line is checked against the schema of :mod:`experiments.records`. Of a step only what the metrics
need is kept, so that some thousand episodes fit into memory at once.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from analysis.names import method_key, method_rank
from experiments.records import (
    SCHEMA_VERSION,
    Condition,
    EpisodeHeader,
    EpisodeResult,
    Manifest,
    MemoryRecord,
    Status,
    StepRecord,
    Usage,
)
from memarbiter.chat import Outcome

RERUN = "run the same command again: the task is then played anew"

Record = TypeVar("Record", bound=BaseModel)


class LoadError(Exception):
    """The runs cannot be used as they are: the message names the file, what was found and the cure."""


class Event(NamedTuple):
    """Something that a part of the memory did, without the item it was done to.

    ``kind`` is ``write`` (an update policy), ``problem`` (part of a model's answer that could not be used), ``gate``
    (a change of band) or ``shed`` (a reduction for lack of budget); ``change`` is the policy, or ``before -> after``.
    """

    kind: str
    bank: str
    change: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """One command, as far as the metrics need it. ``memory_digest`` stands for the memory block's text."""

    observation: str
    action: str
    failed: bool
    won: bool
    memory_tokens: int
    episodic_tokens: int
    memory_digest: bytes


@dataclass(frozen=True, slots=True)
class Episode:
    """One complete episode; ``events`` counts what the memory did in it."""

    header: EpisodeHeader
    steps: tuple[Step, ...]
    result: EpisodeResult
    events: Mapping[Event, int]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What became of the planned tasks. ``errors`` are infrastructure errors, ``missing`` was never finished."""

    planned: int
    finished: int
    errors: int
    missing: int

    @property
    def complete(self) -> bool:
        """True if every planned task was played to its end; only then is there a headline number."""
        return 0 < self.planned == self.finished

    @property
    def state(self) -> str:
        """``complete``, ``incomplete k/n`` or ``no data``."""
        if self.finished == 0:
            return "no data"
        return "complete" if self.complete else f"incomplete {self.finished}/{self.planned}"


class Setting(NamedTuple):
    """What the runs of one comparison share: task set, action model and seed."""

    env: str
    model: str
    seed: int


@dataclass(frozen=True)
class Run:
    """One condition: its manifest, its status, and its complete episodes by task id, in the plan's order."""

    folder: Path
    manifest: Manifest
    status: Status
    episodes: Mapping[str, Episode]

    @property
    def condition(self) -> Condition:
        """Method, budget, model, task set and seed."""
        return self.manifest.condition

    @property
    def setting(self) -> Setting:
        """The comparison this run belongs to."""
        return Setting(self.condition.env, self.condition.model, self.condition.seed)

    @property
    def method(self) -> str:
        """What its rows go by: the method, and who writes for it where that is not the rules."""
        return method_key(self.condition.method, self.condition.writing)

    @property
    def overflows(self) -> int:
        """Episodes that ended because their prompt did not fit the model's window."""
        return sum(episode.result.end_reason == "context_overflow" for episode in self.episodes.values())

    @property
    def errors(self) -> Mapping[str, str]:
        """Infrastructure errors by task id, of tasks that have not been finished since."""
        return {task: text for task, text in self.status.errors.items() if task not in self.episodes}

    @property
    def coverage(self) -> Coverage:
        """Planned, finished, errors, missing; they always add up."""
        planned, finished, errors = len(self.manifest.tasks), len(self.episodes), len(self.errors)
        return Coverage(planned, finished, errors, planned - finished - errors)


def load_runs(folder: Path) -> list[Run]:
    """All runs under ``folder`` at any depth, ordered by setting, budget (none last) and method.

    Raises:
        LoadError: If the folder holds no run, two runs of one condition, or a file that is damaged,
            incomplete or not part of the plan.
    """
    if not folder.is_dir():
        raise LoadError(f"{folder} is not a folder; name the folder that the runs were written to")
    runs = [load_run(manifest.parent) for manifest in sorted(folder.rglob("manifest.json"))]
    if not runs:
        raise LoadError(f"{folder} holds no run (no manifest.json); play one with python -m experiments.run")
    by_key: dict[tuple[Setting, str, int | None], Run] = {}
    for run in runs:
        twin = by_key.setdefault((run.setting, run.method, run.condition.budget), run)
        if twin is not run:
            raise LoadError(
                f"{twin.folder} and {run.folder} hold the same condition ({_words(run.condition)}); "
                "move one of them out of the runs folder"
            )
    return sorted(runs, key=_order)


def load_run(folder: Path) -> Run:
    """The run in ``folder``.

    Raises:
        LoadError: If a file is missing, damaged, incomplete or contradicts the manifest.
    """
    manifest = _read_json(folder / "manifest.json", Manifest)
    status = _read_json(folder / "status.json", Status)
    _check_plan(folder, manifest, status)
    files = {path.stem: path for path in (folder / "episodes").glob("*.jsonl")}
    for task in sorted(files.keys() - set(manifest.tasks)):
        raise LoadError(f"{files[task]}: task '{task}' is not in the plan of manifest.json; move the file away")
    episodes = {task: load_episode(files[task]) for task in manifest.tasks if task in files}
    for task, episode in episodes.items():
        _check_belongs(files[task], episode, task, manifest)
    return Run(folder, manifest, status, episodes)


def load_episode(path: Path) -> Episode:
    """The complete episode in ``path``: one header, one line per command, one result.

    Raises:
        LoadError: If a line is damaged (named by its number), or the result line is missing or torn.
    """
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    if _kind(lines[-1]) != "result":
        raise LoadError(f"{path}, line {len(lines)}: the episode is incomplete (no result line); {RERUN}")
    if len(lines) < 2:
        raise LoadError(f"{path}, line 1: the header is missing; delete the file and {RERUN}")
    header = _parse(path, 1, lines[0], EpisodeHeader)
    result = _parse(path, len(lines), lines[-1], EpisodeResult)
    steps: list[Step] = []
    events: Counter[Event] = Counter()
    for number, line in enumerate(lines[1:-1], start=2):
        record = _parse(path, number, line, StepRecord)
        if record.step != number - 1:
            raise LoadError(f"{path}, line {number}: step {number - 1} expected, found step {record.step}")
        steps.append(_light(record))
        events.update(_events(path, number, record.memory))
    _check_sums(path, steps, result)
    return Episode(header, tuple(steps), result, events)


def _order(run: Run) -> tuple[object, ...]:
    budget = run.condition.budget
    return (*run.setting, budget is None, budget or 0, method_rank(run.method))


def _words(condition: Condition) -> str:
    return ", ".join(f"{key} {value}" for key, value in condition.model_dump().items())


def _read_json(path: Path, record: type[Record]) -> Record:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise LoadError(f"{path} is missing; run the same command again") from None
    try:
        return record.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise LoadError(f"{path} is damaged: {_first(error)}; restore it or {RERUN}") from None


def _parse(path: Path, number: int, line: bytes, record: type[Record]) -> Record:
    try:
        return record.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise LoadError(f"{path}, line {number}: damaged: {_first(error)}; delete the file and {RERUN}") from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _kind(line: bytes) -> object:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value.get("kind") if isinstance(value, dict) else None


def _light(record: StepRecord) -> Step:
    return Step(
        observation=sys.intern(record.observation),
        action=sys.intern(record.command),
        failed=record.failed,
        won=record.won,
        memory_tokens=record.memory.tokens,
        episodic_tokens=record.memory.bank_tokens.get("episodic", 0),
        memory_digest=hashlib.blake2b(record.memory.text.encode(), digest_size=16).digest(),
    )


def _events(path: Path, number: int, memory: MemoryRecord) -> list[Event]:
    try:
        return [
            *(_written(bank, policy, reason) for bank, _, policy, reason in memory.writes),
            *(Event("gate", bank, f"{a} -> {b}", why) for bank, _, a, b, why in memory.transitions),
            *(Event("shed", bank, f"{a} -> {b}", why) for bank, _, a, b, why in memory.shed),
        ]
    except ValueError:
        raise LoadError(
            f"{path}, line {number}: damaged: a write needs 4 fields, a transition or shed item 5; "
            f"delete the file and {RERUN}"
        ) from None


def _written(bank: str, policy: str, reason: str) -> Event:
    # What belongs to no bank was skipped before any bank saw it; its reason may name details behind a colon.
    if (bank, policy) == ("-", "skip"):
        return Event("problem", bank, policy, reason.partition(": ")[0])
    return Event("write", bank, policy, reason)


def _check_plan(folder: Path, manifest: Manifest, status: Status) -> None:
    path, tasks = folder / "manifest.json", set(manifest.tasks)
    if manifest.schema_version != SCHEMA_VERSION:
        raise LoadError(f"{path}: schema version {manifest.schema_version}, this code reads {SCHEMA_VERSION}")
    if len(tasks) != len(manifest.tasks):
        twice = sorted(task for task, count in Counter(manifest.tasks).items() if count > 1)
        raise LoadError(f"{path}: task '{twice[0]}' is planned more than once; each task counts once")
    if manifest.task_types.keys() != tasks:
        raise LoadError(f"{path}: 'tasks' and 'task_types' name different tasks; play the run anew")
    if status.planned != len(tasks) or not status.errors.keys() <= tasks:
        raise LoadError(f"{folder / 'status.json'} does not fit manifest.json; run the same command again")


def _check_belongs(path: Path, episode: Episode, task: str, manifest: Manifest) -> None:
    header = episode.header
    expected: Sequence[tuple[str, object, object]] = (
        ("schema_version", header.schema_version, SCHEMA_VERSION),
        ("task_id", header.task_id, task),
        ("task_type", header.task_type, manifest.task_types[task]),
        ("condition", header.condition, manifest.condition),
    )
    for name, found, wanted in expected:
        if found != wanted:
            raise LoadError(f"{path}, line 1: {name} is {found!r}, the run has {wanted!r}; move the file away")
    if len(episode.steps) > manifest.step_limit:
        raise LoadError(f"{path}: {len(episode.steps)} steps, but the run's limit is {manifest.step_limit}")


def _check_sums(path: Path, steps: Sequence[Step], result: EpisodeResult) -> None:
    counted = {
        "steps": len(steps),
        "rejected_commands": sum(step.failed for step in steps),
        "won": any(step.won for step in steps),
    }
    for name, value in counted.items():
        if getattr(result, name) != value:
            raise LoadError(
                f"{path}: the result says {name} {getattr(result, name)}, its steps say {value}; "
                f"delete the file and {RERUN}"
            )
    if result.won != (result.end_reason == "won") or any(step.won for step in steps[:-1]):
        raise LoadError(f"{path}: an episode ends with its win, and for that reason; delete the file and {RERUN}")
    _check_usage(path, result)


def _check_usage(path: Path, result: EpisodeResult) -> None:
    if not result.usage:
        return  # played before calls were added up
    uneven = [purpose for purpose, use in result.usage.items() if sum(use.outcomes.values()) != use.calls]
    if uneven or result.usage.get("act", Usage()).calls != result.model_calls:
        raise LoadError(f"{path}: 'usage' and the calls of the episode do not add up; delete the file and {RERUN}")
    for name in sorted({name for use in result.usage.values() for name in use.outcomes} - set(Outcome)):
        raise LoadError(f"{path}: '{name}' is no known outcome of a call; read it with the code that wrote it")
