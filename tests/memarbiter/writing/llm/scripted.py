"""A model that answers from a script, and the answers' building blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from memarbiter.chat import ModelCall, ModelReply, Outcome

Answer = str | ModelReply | Exception

GOAL = "put a mug in shelf."
ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a desk 1, a desk 2, a shelf 1, and a shelf 2."
)


class Script:
    """Answers one call after the other from a list, or each call by a function; an exception is raised.

    Attributes:
        calls: What was asked, in its order.
    """

    def __init__(self, answers: Sequence[Answer] | Callable[[ModelCall], Answer]) -> None:
        self._answers = answers
        self.calls: list[ModelCall] = []

    async def reply(self, call: ModelCall) -> ModelReply:
        self.calls.append(call)
        answers = self._answers
        answer = answers(call) if callable(answers) else answers[len(self.calls) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, ModelReply) else ModelReply(answer)


def cut(text: str) -> ModelReply:
    """An answer that ended at the token limit."""
    return ModelReply(text, outcome=Outcome.CUT)


def entry(bank: str = "reference", **changes: Any) -> dict[str, Any]:
    """One write of an answer, with everything that a test does not care about filled in."""
    values = {
        "operation": "add",
        "item": None,
        "bank": bank,
        "subject": "desk 1",
        "aspect": "state",
        "value": "tidy",
        "text": "The desk 1 is tidy.",
        "entities": ["desk 1"],
        "scope": [],
        "status": "active",
    }
    return {**values, **changes}


def contents(place: str, *things: str, **changes: Any) -> dict[str, Any]:
    """A write that says what a place holds."""
    value = ", ".join(things) or "nothing"
    return entry(subject=place, aspect="contents", value=value, text=f"The {place} holds {value}.", **changes)


def event(action: str, outcome: str = "worked") -> dict[str, Any]:
    """A write that says what was done."""
    return entry("episodic", subject=action, aspect="outcome", value=outcome, text=f"{action}: it {outcome}.")


def snapshot(value: str, **changes: Any) -> dict[str, Any]:
    """A write that says what the situation is."""
    return entry("task_state", subject="agent", aspect="situation", value=value, text=f"You are {value}.", **changes)


def state(done: Sequence[str] = (), ahead: Sequence[str] = ("Find a mug.",), **changes: Any) -> dict[str, Any]:
    """The state of an answer."""
    values: dict[str, Any] = {
        "completed_subgoals": list(done),
        "open_subgoals": list(ahead),
        "topics": ["mug", "find"],
        "entities": [],
        "needs": [{"topic": "mug", "found": False}],
    }
    return {**values, **changes}


def parsing(**changes: Any) -> str:
    """An answer of the state parser."""
    return json.dumps({"state": state(**changes)})


def writing(*writes: Any) -> str:
    """An answer of the candidate writer."""
    return json.dumps({"writes": list(writes)})


def both(*writes: Any, **changes: Any) -> str:
    """An answer to the merged question."""
    return json.dumps({"state": state(**changes), "writes": list(writes)})
