"""The one chat-model protocol: what a language model is asked, and what became of the question.

The action model of an agent and the model behind a writer or a state parser are asked in the same way, so one client,
one recorder and one set of tests serve all of them. Nothing here knows a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol

Purpose = Literal["act", "parse", "write", "parse_and_write", "probe"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a model.

    Attributes:
        messages: What the model reads; its answer must follow from this alone.
        task_id: Which task, for the log. A memory has its own, opaque name of it.
        step: Number of the command that is being decided (act, 1 = first), or of the evidence that is being read
            (all others, 0 = first observation).
        attempt: 1 for the first try, then one more for each repeated question.
        purpose: What the answer is for.
        schema: JSON schema that the answer has to follow; None for free text.
    """

    messages: Sequence[Message]
    task_id: str
    step: int
    attempt: int = 1
    purpose: Purpose = "act"
    schema: Mapping[str, Any] | None = None


class Outcome(StrEnum):
    """What a model answered, by name. All but ``ANSWERED`` and ``CUT`` come with an empty text.

    A server that cannot be reached is none of them: that is an exception, and the episode's end.
    """

    ANSWERED = "answered"
    CUT = "cut at the token limit"
    THOUGHT_ONLY = "thought without an answer"
    EMPTY = "empty"
    REFUSED = "refused"
    NO_CHOICE = "no choice"
    CONTEXT_OVERFLOW = "context overflow"


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer.

    Attributes:
        text: The answer without any thought.
        prompt_tokens: As the server counts them; None where it reports none (never a made-up zero).
        completion_tokens: The same for what the model wrote, thoughts included.
        outcome: What kind of answer this is.
        thinking: What the model thought before it answered; for the log only.
        failures: Attempts that failed before this answer came, each by name.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    outcome: Outcome = Outcome.ANSWERED
    thinking: str = ""
    failures: tuple[str, ...] = ()


class ChatModel(Protocol):
    """A language model, or something that answers in its place."""

    async def reply(self, call: ModelCall) -> ModelReply:
        """Answer one call."""
