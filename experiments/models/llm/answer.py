"""What a server's chat completion says: thought and answer apart, and a name for every kind of answer.

Works on the plain JSON, since servers leave out, rename or null every part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.thoughts import split
from memarbiter.chat import ModelReply, Outcome

#: Where servers put a thought that they have cut out of the content themselves; older ones use the first name.
_THOUGHT_FIELDS = ("reasoning_content", "reasoning")


def read(completion: Mapping[str, Any]) -> ModelReply:
    """The reply in a chat completion.

    An answer that is cut at the token limit keeps its text. Without a text, a refusal counts before a thought, and a
    thought before emptiness.
    """
    counts = _usage(completion)
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return ModelReply("", *counts, outcome=Outcome.NO_CHOICE)
    message = choices[0].get("message")
    message = message if isinstance(message, Mapping) else {}
    thoughts, text = split(_text(message.get("content")))
    thinking = "\n".join(filter(None, [*(_text(message.get(name)) for name in _THOUGHT_FIELDS), *thoughts]))
    finish = choices[0].get("finish_reason")
    if text.strip():
        outcome = Outcome.CUT if finish == "length" else Outcome.ANSWERED
        return ModelReply(text, *counts, outcome=outcome, thinking=thinking)
    if message.get("refusal") or finish == "content_filter":
        return ModelReply("", *counts, outcome=Outcome.REFUSED, thinking=thinking)
    outcome = Outcome.THOUGHT_ONLY if thinking.strip() else Outcome.EMPTY
    return ModelReply("", *counts, outcome=outcome, thinking=thinking)


def _text(content: Any) -> str:
    """Content as text; some servers send it as a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(completion: Mapping[str, Any]) -> tuple[int | None, int | None]:
    usage = completion.get("usage")
    found = usage if isinstance(usage, Mapping) else {}
    counts = [found.get(name) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completed = (count if type(count) is int else None for count in counts)
    return prompt, completed
