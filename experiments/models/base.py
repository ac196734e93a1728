"""The chat-model protocol: what an action model is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to the action model.

    ``task_id``, ``step`` (1 = first command) and ``attempt`` (1 = first try at this step) only identify the
    call: replay and seeded slips are keyed by them. The decision must follow from ``messages`` alone.
    """

    messages: Sequence[Message]
    task_id: str
    step: int
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer; token counts are None where the model reports none (never a made-up zero)."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ChatModel(Protocol):
    """An action model ``pi_theta`` (paper section 2.1)."""

    async def reply(self, call: ModelCall) -> ModelReply:
        """Answer one call."""
