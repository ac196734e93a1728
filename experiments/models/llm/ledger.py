"""Every request and reply of one episode, in order, kept while it is played.

A call is written as soon as it is answered, since it may have been paid for, so an episode that is lost leaves its
calls behind. ``calls/<task>.jsonl`` belongs to a finished episode; ``calls/<task>.lost-<n>.jsonl`` to one that was not
finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from experiments.records import MemoryCall
from memarbiter.chat import ModelCall, ModelReply

_PARTIAL = ".partial.jsonl"


class StoredCall(BaseModel):
    """One line of a ``calls`` file: one call with all its attempts.

    ``request`` is the body as it was sent, ``response`` the body that came back (None if none came). ``seconds`` is
    the time until then, with all waits; ``reused`` tells that a stored reply answered in the server's place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_id: str
    step: int
    attempt: int
    purpose: str
    request: dict[str, Any]
    response: dict[str, Any] | None
    outcome: str
    prompt_tokens: int | None
    completion_tokens: int | None
    own_prompt_tokens: int
    failures: list[str]
    seconds: float
    reused: bool = False


class Ledger:
    """The calls of one episode.

    Args:
        task_id: The task that is played.
        folder: The run's folder; None keeps the calls in memory only.
    """

    def __init__(self, task_id: str, folder: Path | None = None) -> None:
        self.task_id = task_id
        self.calls: list[StoredCall] = []
        self._folder = folder
        self._stream: IO[str] | None = None
        self._told = 0
        self.tape: Iterator[StoredCall] | None = None  # What a replay has not played yet.

    def enter(self, call: StoredCall) -> None:
        """Add a call; it is on disk when this returns."""
        self.calls.append(call)
        if self._folder is None:
            return
        if self._stream is None:
            path = _path(self._folder, self.task_id, _PARTIAL)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("w", encoding="utf-8", newline="\n")
        self._stream.write(call.model_dump_json() + "\n")
        self._stream.flush()

    def memory_calls(self) -> list[MemoryCall]:
        """The calls since the last time this was asked, without those for an action."""
        new, self._told = self.calls[self._told :], len(self.calls)
        shared = ("purpose", "step", "attempt", *_USE)
        return [MemoryCall(**{name: getattr(call, name) for name in shared}) for call in new if call.purpose != "act"]

    def seconds(self) -> dict[str, float]:
        """Time spent on answers, by purpose, for an episode's timing."""
        spent: dict[str, float] = {}
        for call in self.calls:
            spent[f"{call.purpose} calls"] = spent.get(f"{call.purpose} calls", 0.0) + call.seconds
        return spent

    def finish(self) -> None:
        """The episode is complete: its calls get their final name."""
        if self._stream and self._folder:
            self._close()
            _path(self._folder, self.task_id, _PARTIAL).replace(calls_path(self._folder, self.task_id))

    def lose(self) -> None:
        """The episode is lost: its calls are kept under another name."""
        if self._stream and self._folder:
            self._close()
            set_aside(_path(self._folder, self.task_id, _PARTIAL))

    def _close(self) -> None:
        assert self._stream
        self._stream.close()
        self._stream = None

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """Make this the ledger of all calls that the block makes, in its own task only."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_USE = ("outcome", "prompt_tokens", "completion_tokens", "own_prompt_tokens", "failures")

_current: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


def current() -> Ledger | None:
    """The ledger of the episode that is being played here; None outside of episodes."""
    return _current.get()


def stored(
    call: ModelCall,
    reply: ModelReply,
    request: dict[str, Any],
    response: dict[str, Any] | None,
    outcome: str = "",
    **more: Any,
) -> StoredCall:
    """The line of a call; ``outcome`` is the reply's, or the name of the exception that came instead."""
    ledger = current()
    return StoredCall(
        task_id=ledger.task_id if ledger else call.task_id,
        step=call.step,
        attempt=call.attempt,
        purpose=call.purpose,
        request=request,
        response=response,
        outcome=outcome or str(reply.outcome),
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        failures=list(reply.failures),
        **more,
    )


def calls_path(folder: Path, task_id: str) -> Path:
    """Where the calls of a finished episode lie in a run's folder."""
    return _path(folder, task_id, ".jsonl")


def read_calls(path: Path) -> Iterator[StoredCall]:
    """The calls in a file, in their order.

    Raises:
        ValueError: If a line is damaged; it is named. A last line that was cut off is left out.
    """
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield StoredCall.model_validate_json(line)
            except ValidationError as error:
                if not line.endswith("\n"):
                    return
                raise ValueError(f"{path}, line {number}: not a stored call ({error.errors()[0]['msg']})") from error


def set_aside(path: Path) -> None:
    """Name the calls of an episode that was not finished as lost."""
    task = path.name.removesuffix(_PARTIAL)
    number = 1
    while (kept := path.with_name(f"{task}.lost-{number}.jsonl")).exists():
        number += 1
    path.replace(kept)


def partial_files(folder: Path) -> list[Path]:
    """Calls of episodes that were being played when a process ended."""
    return sorted((folder / "calls").glob(f"*{_PARTIAL}"))


def _path(folder: Path, task_id: str, ending: str) -> Path:
    return folder / "calls" / f"{task_id}{ending}"
