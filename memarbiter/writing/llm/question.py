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

_PROMPTS = Path(__file__).parent / "prompts"

#: Tokens that must be left beside the instructions, for the evidence and something to read it with.
_LEAST_ROOM = 400
#: Of that room, the most for goal, action and state each, and for the observation; the rest is the frame's, the
#: memory's and the history's.
_SHORT_SHARE, _OBSERVATION_SHARE = 0.1, 0.4
#: Of what is left then, the part for the memory's items where the history needs room as well.
_ITEMS_SHARE = 0.6
#: Of that, the most for one line, but not less than these tokens: a long one may not push out all others.
_LINE_SHARE, _LEAST_LINE = 0.25, 80
#: Room for the mark of a cut.
_MARK_TOKENS = 2


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
        ValueError: If ``input_tokens`` leaves too little room beside the instructions, or ``repairs`` is negative.
    """

    def __init__(
        self, model: ChatModel, purpose: Purpose, shape: type[BaseModel], input_tokens: int, repairs: int
    ) -> None:
        self._model = model
        self._purpose = purpose
        self._fields = list(shape.model_fields)
        self._schema = json_schema(shape)
        self._repairs = repairs
        self._system = _template(f"{purpose}_system.j2").render(example=_example()).strip()
        needed = tokens.count(self._system) + _LEAST_ROOM
        if input_tokens < needed:
            raise ValueError(
                f"input_tokens must be at least {needed} to hold instructions and evidence of a {purpose} question, "
                f"not {input_tokens}"
            )
        if repairs < 0:
            raise ValueError(f"repairs must be 0 or more, not {repairs}")
        self._room = input_tokens - tokens.count(self._system)

    async def ask(self, material: Material) -> tuple[dict[str, Any], list[str]]:
        """The answer's object (empty if none could be read) and what was wrong, each with a name before a colon."""
        messages, problems = self.messages(material), list[str]()
        for attempt in range(1, self._repairs + 2):
            call = ModelCall(messages, material.task_id, material.evidence.step, attempt, self._purpose, self._schema)
            reply = await self._model.reply(call)
            found, remarks = find(reply.text, self._fields)
            problems += remarks
            if found:
                return found, problems
            problem = "no JSON object" if reply.outcome is Outcome.ANSWERED else str(reply.outcome)
            problems.append(f"unusable answer: {problem}")
            if reply.outcome is Outcome.CONTEXT_OVERFLOW:
                break
            messages = self.messages(material, _template("repair.j2").render(problem=problem))
        return {}, problems

    def messages(self, material: Material, note: str = "") -> list[Message]:
        """The two messages of the question, within the limit; a note stands after the evidence."""
        bare = self._cut(material)
        left = self._room - tokens.count(_user(bare, note=note))
        items = newest_that_fit(material.items, int(left * (_ITEMS_SHARE if material.history else 1.0)))
        history = newest_that_fit(material.history, left - _size(items))
        while tokens.count(user := _user(bare, items, history, note)) > self._room and (items or history):
            # Counted together, lines can take a little more than counted alone.
            history, items = (history[1:], items) if history else ([], items[1:])
        return [Message("system", self._system), Message("user", user)]

    def _cut(self, material: Material) -> Material:
        """Goal, evidence and state as data, shortened where they are too long."""
        short, long = int(self._room * _SHORT_SHARE), int(self._room * _OBSERVATION_SHARE)
        evidence = material.evidence
        told = Evidence(
            evidence.step,
            None if evidence.action is None else shortened(one_line(neutralise(evidence.action)), short),
            shortened(neutralise(evidence.observation), long),
            evidence.failed,
        )
        goal = shortened(one_line(neutralise(material.goal)), short)
        return Material(material.task_id, goal, told, shortened(neutralise(material.state), short))


def newest_that_fit(lines: Sequence[str], room: int) -> list[str]:
    """The last lines, as data, as many as ``room`` tokens hold; a line that would take much of it is shortened."""
    kept: list[str] = []
    longest = max(int(room * _LINE_SHARE), _LEAST_LINE)
    for line in reversed(lines):
        quoted = shortened(one_line(neutralise(line)), longest)
        room -= tokens.count(quoted) + 1
        if room < 0:
            break
        kept.append(quoted)
    return kept[::-1]


def shortened(text: str, limit: int) -> str:
    """The text if it has at most ``limit`` tokens, else its beginning with a mark where it was cut."""
    if tokens.count(text) <= limit:
        return text
    return f"{tokens.truncate(text, max(limit - _MARK_TOKENS, 0)).rstrip()} ..."


def _size(lines: Sequence[str]) -> int:
    return sum(tokens.count(line) + 1 for line in lines)


def _user(material: Material, items: Sequence[str] = (), history: Sequence[str] = (), note: str = "") -> str:
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
        note=note,
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
        loader=jinja2.FileSystemLoader(_PROMPTS), undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True
    )
    return environment.get_template(name)
