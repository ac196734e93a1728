"""The parts of a prompt that has the frame of ``experiments/prompts/user.j2``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memarbiter.chat import ModelCall

_GOAL = re.compile(r"^Task: (.*)$", re.MULTILINE)
_MEMORY = re.compile(r"<memory>\n(.*?)\n?</memory>", re.DOTALL)
_OBSERVATION = re.compile(r"<observation>\n(.*?)\n?</observation>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the first user message says."""

    goal: str
    memory: str
    observation: str


def parts(call: ModelCall) -> Prompt:
    """Take a call's first user message apart.

    Raises:
        ValueError: If it lacks its task, memory or observation part.
    """
    text = next((message.content for message in call.messages if message.role == "user"), "")
    return Prompt(
        _part(_GOAL, text, "a 'Task:' line"),
        _part(_MEMORY, text, "a <memory> block"),
        _part(_OBSERVATION, text, "an <observation> block"),
    )


def _part(pattern: re.Pattern[str], text: str, what: str) -> str:
    if not (found := pattern.search(text)):
        raise ValueError(f"the prompt lacks {what}; the reader reads the frame of experiments/prompts/user.j2")
    return found[1]
