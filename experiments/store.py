"""The folder of one run: what is in it is complete, and belongs to one condition played in one way.

- ``manifest.json``: everything that can change a result (:class:`experiments.records.Manifest`).
- ``episodes/<task id>.jsonl``: one finished episode, complete or absent.
- ``calls/<task id>.jsonl``: every request to a model's server and its reply (:mod:`experiments.models.llm.ledger`).
- ``errors/<task id>.txt``: the traceback of an infrastructure error.
- ``status.json``: how far the run is (:class:`experiments.records.Status`).

Files appear whole: they are written under another name, flushed to disk, and then renamed.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from experiments.episode import Episode
from experiments.models.llm.ledger import partial_files, set_aside
from experiments.records import Condition, EpisodeHeader, EpisodeResult, Manifest, Status, StepRecord

MAY_DIFFER = ("config.out", "config.jobs", "config.env.task_set.root", "code.commit", "code.dirty", "task_types")
"""Parts of a manifest that may change while a run is continued.

The games themselves are compared by their hash and the code by its own, so neither the folder that holds the games
nor the commit matters.
"""

MAY_DIFFER_ANYWHERE = (
    "base_url",
    "api_key_env",
    "attempt_timeout_s",
    "call_timeout_s",
    "probe_timeout_s",
    "max_concurrency",
    "reuse",
    "server",
    "rate",
)
"""Parts of the names of settings that concern how a model is reached, not what it answers; what the probe finds out
about its server is compared instead.
"""

Record = TypeVar("Record", bound=BaseModel)

_TEMPORARY = ".part"
_SHOWN_DIFFERENCES = 12
_SHOWN_CHARACTERS = 80


class StoreError(Exception):
    """The run's folder cannot be used: the message names the file, what was found and the cure."""


class RunStore:
    """The folder of one run, held by one process at a time while it is open (``with RunStore(...) as store``).

    Args:
        folder: The run's folder; made if absent.
        manifest: What is to be played. A folder that holds anything else is refused.

    Raises:
        StoreError: On entry, if another process holds the folder, or it was made with other settings.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder {self.folder} cannot be made ({error.strerror}); choose another out="
            ) from error
        self._lock = _locked(self.folder)
        try:
            self._claim()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def completed(self) -> dict[str, EpisodeResult]:
        """Finished tasks with their results. Torn files are removed: their tasks are played again.

        Raises:
            StoreError: If a file is damaged in a way that a cut cannot explain, or belongs to another run.
        """
        results = {task: self._result_of(task) for task in self.manifest.tasks}
        return {task: result for task, result in results.items() if result is not None}

    def claim_servers(self, servers: Mapping[str, dict[str, Any]]) -> None:
        """Add what the probe found out about the models' servers to the manifest.

        Raises:
            StoreError: If the run was begun with other servers, in a way that can change results.
        """
        if not servers:
            return
        path = self.folder / "manifest.json"
        found = Manifest.model_validate_json(path.read_bytes(), strict=True)
        wanted = found.model_copy(update={"servers": dict(servers)})
        if found.servers is not None:
            _refuse_other(path, wanted)
        _write(path, wanted.model_dump_json(indent=1) + "\n")

    def write_status(self, status: Status) -> None:
        """Replace ``status.json``."""
        _write(self.folder / "status.json", status.model_dump_json(indent=1) + "\n")

    def write_error(self, task: str, trace: str) -> Path:
        """Keep the traceback of an infrastructure error; returns its file."""
        path = self.folder / "errors" / f"{task}.txt"
        _write(path, trace)
        return path

    def _claim(self) -> None:
        path = self.folder / "manifest.json"
        episodes = self.folder / "episodes"
        if path.is_file():
            # Whether the servers are the same is known only when there is something left to play.
            _refuse_other(path, self.manifest, without=("servers",))
        elif any(episodes.glob("*.jsonl")):
            raise StoreError(f"{self.folder} holds episodes but no manifest.json; restore it, or choose another out=")
        else:
            _write(path, self.manifest.model_dump_json(indent=1) + "\n")
        for calls in partial_files(self.folder):
            set_aside(calls)
        # What an earlier process left behind when it was stopped; the errors' tasks are about to be tried again.
        for leftover in (*self.folder.rglob(f"*{_TEMPORARY}"), *self.folder.glob("errors/*.txt")):
            leftover.unlink(missing_ok=True)

    def _result_of(self, task: str) -> EpisodeResult | None:
        path = episode_path(self.folder, task)
        if not path.is_file():
            return None
        ends = read_ends(path)
        if ends is None:
            path.unlink()
            return None
        header, result = ends
        if (header.task_id, header.condition) != (task, self.manifest.condition):
            raise StoreError(
                f"{path}, line 1: this is task {header.task_id} of {_words(header.condition)}; it belongs to another "
                "run, move it away"
            )
        return result


def episode_path(folder: Path, task: str) -> Path:
    """Where the episode of a task lies in a run's folder."""
    return folder / "episodes" / f"{task}.jsonl"


def write_episode(folder: Path, episode: Episode) -> None:
    """Write a finished episode into a run's folder. The process that holds the folder need not be this one."""
    records = (episode.header, *episode.steps, episode.result)
    text = "".join(record.model_dump_json() + "\n" for record in records)
    _write(episode_path(folder, episode.header.task_id), text)


def read_ends(path: Path) -> tuple[EpisodeHeader, EpisodeResult] | None:
    """First and last record of an episode's file, of which every line is checked; None if the file was cut off.

    Raises:
        StoreError: If a whole line is damaged or out of place, which a cut cannot explain; it is named.
    """
    *lines, tail = path.read_bytes().split(b"\n")
    if _parsed(tail, EpisodeResult):
        # Cut right before its last line break: nothing is lost.
        lines.append(tail)
        tail = b""
    records: list[BaseModel] = []
    for number, line in enumerate(lines, start=1):
        kind: type[BaseModel] = EpisodeHeader if number == 1 else StepRecord
        record = _parsed(line, kind) or (_parsed(line, EpisodeResult) if number == len(lines) else None)
        if record is None or not _in_place(record, number):
            raise StoreError(
                f"{path}, line {number}: damaged, or not the {kind.__name__} that belongs there; delete the file and "
                "run the same command again: the task is then played anew"
            )
        records.append(record)
    match records:
        case [EpisodeHeader() as header, *_, EpisodeResult() as result] if not tail:
            return header, result
    return None


def _in_place(record: BaseModel, number: int) -> bool:
    """Whether a step, or the number of steps in the result, is what the line's number says."""
    match record:
        case StepRecord(step=step):
            return step == number - 1
        case EpisodeResult(steps=steps):
            return steps == number - 2
    return True


def _parsed(line: bytes, kind: type[Record]) -> Record | None:
    try:
        return kind.model_validate_json(line, strict=True)
    except ValidationError:
        return None


def _locked(folder: Path) -> IO[bytes]:
    """An open file that locks the folder until it is closed, or the process ends in whatever way."""
    # Appending, as a file that another process has locked must not be emptied. The file stays: whoever deletes it
    # could delete one that another process has just locked.
    lock = (folder / ".lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise StoreError(
            f"{folder} is being written by another run; wait for its end, or choose another out="
        ) from error
    return lock


def _refuse_other(path: Path, wanted: Manifest, without: Sequence[str] = ()) -> None:
    try:
        found = Manifest.model_validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        raise StoreError(
            f"{path} is damaged ({error.errors()[0]['msg']}); restore it, or choose another out="
        ) from error
    before, after = flat(found.model_dump()), flat(wanted.model_dump())
    keys = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
    differing = [key for key in keys if not _free(key, (*MAY_DIFFER, *without))]
    if not differing:
        return
    shown = [
        f"  {key}: {_short(before.get(key))} -> {_short(after.get(key))}" for key in differing[:_SHOWN_DIFFERENCES]
    ]
    more = len(differing) - len(shown)
    raise StoreError(
        f"{path.parent} was made with other settings and cannot be continued with these (there -> now):\n"
        + "\n".join([*shown, *([f"  and {more} more"] if more else [])])
        + "\nUse the settings it was made with, choose another out=, or delete the folder."
    )


def _free(key: str, allowed: Sequence[str]) -> bool:
    if key.startswith("config.") and not set(key.split(".")).isdisjoint(MAY_DIFFER_ANYWHERE):
        return True
    return any(key == part or key.startswith(f"{part}.") for part in allowed)


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    found: dict[str, Any] = {}
    for key, inner in settings.items():
        found |= flat(inner, f"{prefix}{key}.") if isinstance(inner, Mapping) else {f"{prefix}{key}": inner}
    return found


def _short(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, list):
        return f"{len(value)} entries"
    text = str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def _words(condition: Condition) -> str:
    return ", ".join(f"{key} {value}" for key, value in condition.model_dump().items())


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, also if the machine stops."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=_TEMPORARY)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
            os.fchmod(stream.fileno(), 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
