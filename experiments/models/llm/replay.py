"""Plays a run again from the calls that it stored, byte for byte and without a server."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.models.llm import answer, ledger
from experiments.models.llm.faults import ModelStop
from memarbiter.chat import ModelCall, ModelReply, Outcome

_SHOWN_LINES = 40


class ReplayMismatch(ModelStop):
    """The run asks what the recorded one did not ask: prompts or settings have changed."""


class Replay:
    """A :class:`~memarbiter.chat.ChatModel` that answers as another run was answered.

    All models of an episode replay the same calls, one after the other.

    Args:
        source: Folder of the run whose ``calls/`` answer.
    """

    def __init__(self, source: str) -> None:
        self._source = Path(source).expanduser()

    async def reply(self, call: ModelCall) -> ModelReply:
        """The recorded answer to this call.

        Raises:
            ReplayMismatch: If the next recorded call is another one; the message shows the difference.
        """
        book = ledger.current()
        if book is None:
            raise ReplayMismatch("a replay answers within an episode only")
        if book.tape is None:
            path = ledger.calls_path(self._source, book.task_id)
            if not path.is_file():
                raise ReplayMismatch(f"{path} is not there: the run in {self._source} did not finish this task")
            book.tape = ledger.read_calls(path)
        recorded = next(book.tape, None)
        where = f"task {book.task_id}, {call.purpose} call of step {call.step}, attempt {call.attempt}"
        if recorded is None:
            raise ReplayMismatch(f"{where}: the recorded run ({self._source}) made no further call")
        if difference := _difference(recorded, call):
            raise ReplayMismatch(f"{where}: {self._source} asked something else there:\n{difference}")
        book.enter(recorded)
        return _reply(recorded)


def _reply(recorded: ledger.StoredCall) -> ModelReply:
    failures = tuple(recorded.failures)
    if recorded.response is None:
        return ModelReply("", outcome=Outcome(recorded.outcome), failures=failures)
    return replace(answer.read(recorded.response), failures=failures)


def _difference(recorded: ledger.StoredCall, call: ModelCall) -> str:
    """What differs between the recorded call and this one, as lines; empty if nothing does."""
    before = (recorded.purpose, recorded.step, recorded.attempt)
    now = (call.purpose, call.step, call.attempt)
    if before != now:
        return f"{before[0]} call of step {before[1]}, attempt {before[2]}"
    asked, asks = recorded.request["messages"], [{"role": m.role, "content": m.content} for m in call.messages]
    if asked == asks:
        return ""
    lines = list(difflib.unified_diff(_lines(asked), _lines(asks), "recorded", "now", lineterm="", n=1))
    return "\n".join(lines[:_SHOWN_LINES]) or "the same lines, with other line breaks"


def _lines(messages: list[dict[str, Any]]) -> list[str]:
    return [line for message in messages for line in (f"[{message['role']}]", *message["content"].splitlines())]
