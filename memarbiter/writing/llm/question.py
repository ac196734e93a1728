"""One kind of question to a model: its prompt within a token limit, and its answer as checked JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from pydantic import BaseModel

from memarbiter import tokens
from memarbiter.chat import ChatModel, Message, ModelCall, Outcome, Purpose
from memarbiter.context import Evidence
from memarbiter.quoting import neutralise, one_line
from memarbiter.writing.llm import example
from memarbiter.writing.llm.schema import find, json_schema

PROMPTS = Path(__file__).parent / "prompts"

#: Of the room that is left, the part for the memory's items where the history needs room as well.
_ITEMS_SHARE = 0.6
#: Of all tokens, the most for the observation, and for goal and state.
_OBSERVATION_SHARE, _HEAD_SHARE = 0.3, 0.1


@dataclass(frozen=True, slots=True)
class Material:
    """What a question tells the model; the oldest history and the first items give way when room is short."""

    task_id: str
    goal: str
    evidence: Evidence
    state: str = ""
    items: Sequence[str] = ()
    history: Sequence[str] = ()


class Question:
    """A kind of question.

    Args:
        model: Who is asked.
        purpose: What the answer is for; names the system prompt's template.
        shape: The record that the answer has to be; its fields are those of the answer's object.
        input_tokens: Most o200k_base tokens of the prompt, all messages together.
        repairs: Further questions after an answer that cannot be read.

    Raises:
        ValueError: If the instructions alone leave no room within ``input_tokens``, or ``repairs`` is negative.
    """

    def __init__(
        self, model: ChatModel, purpose: Purpose, shape: type[BaseModel], input_tokens: int, repairs: int
    ) -> None:
        self._model = model
        self._purpose = purpose
        self._shape = shape
        self._limit = input_tokens
        self._repairs = repairs
        self._system = _template(f"{purpose}_system.j2").render(example=_example()).strip()
        needed = 2 * tokens.count(self._system)
        if input_tokens < needed:
            raise ValueError(
                f"input_tokens must be at least {needed} to hold instructions and evidence, not {input_tokens}"
            )
        if repairs < 0:
            raise ValueError(f"repairs must be 0 or more, not {repairs}")

    async def ask(self, material: Material) -> tuple[dict[str, Any], list[str]]:
        """The answer's object (empty if none could be read) and what was wrong, each with a name before a colon."""
        schema = json_schema(self._shape)
        messages, problems = self.messages(material), list[str]()
        for attempt in range(1, self._repairs + 2):
            call = ModelCall(messages, material.task_id, material.evidence.step, attempt, self._purpose, schema)
            reply = await self._model.reply(call)
            found, remarks = find(reply.text, list(self._shape.model_fields))
            problems += remarks
            if found:
                return found, problems
            problem = "no JSON object" if reply.outcome is Outcome.ANSWERED else str(reply.outcome)
            problems.append(f"unusable answer: {problem}")
            if reply.outcome is Outcome.CONTEXT_OVERFLOW:
                break
            again = _template("repair.j2").render(problem=problem)
            messages = [*messages[:-1], Message("user", f"{self.messages(material)[-1].content}\n\n{again}")]
        return {}, problems

    def messages(self, material: Material) -> list[Message]:
        """The two messages of the question, within the limit."""
        room = self._limit - tokens.count(self._system)
        bare = Material(
            material.task_id,
            tokens.truncate(one_line(neutralise(material.goal)), int(self._limit * _HEAD_SHARE)),
            Evidence(
                material.evidence.step,
                material.evidence.action and tokens.truncate(one_line(neutralise(material.evidence.action)), 100),
                tokens.truncate(neutralise(material.evidence.observation), int(self._limit * _OBSERVATION_SHARE)),
                material.evidence.failed,
            ),
            tokens.truncate(neutralise(material.state), int(self._limit * _HEAD_SHARE)),
        )
        left = room - tokens.count(_user(bare, [], []))
        share = _ITEMS_SHARE if material.history else 1.0
        items = newest_that_fit(material.items, int(left * share))
        history = newest_that_fit(material.history, left - _size(items))
        while tokens.count(user := _user(bare, items, history)) > room and (items or history):
            # Counted together, lines can take a little more than counted alone.
            history, items = (history[1:], items) if history else ([], items[1:])
        return [Message("system", self._system), Message("user", user)]


def newest_that_fit(lines: Sequence[str], room: int) -> list[str]:
    """The last lines, as data, as many as ``room`` tokens hold; one that is too long alone is left out."""
    kept: list[str] = []
    for line in reversed(lines):
        quoted = one_line(neutralise(line))
        size = tokens.count(quoted) + 1
        if size > room:
            break
        room -= size
        kept.append(quoted)
    return kept[::-1]


def prompts_sha256_parts() -> list[Path]:
    """The template files, in a fixed order."""
    return sorted(PROMPTS.glob("*.j2"))


def _size(lines: Sequence[str]) -> int:
    return sum(tokens.count(line) + 1 for line in lines)


def _user(material: Material, items: Sequence[str], history: Sequence[str]) -> str:
    evidence = material.evidence
    text = _template("user.j2").render(
        goal=material.goal,
        state=material.state,
        items="\n".join(items),
        history="\n".join(history),
        step=evidence.step,
        action=evidence.action,
        failed=evidence.failed,
        observation=evidence.observation,
    )
    return text.strip()


def _example() -> dict[str, str]:
    return {
        "action": example.ACTION,
        "observation": example.OBSERVATION,
        "state_json": example.STATE_JSON,
        "writes_json": example.WRITES_JSON,
        "both_json": example.BOTH_JSON,
    }


@cache
def _template(name: str) -> jinja2.Template:
    # The prompts are plain text: escaping for HTML would change what the model reads.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROMPTS), undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True
    )
    return environment.get_template(name)
