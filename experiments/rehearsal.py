"""Playing a condition with stand-ins for its models, while counting what the models would be asked.

The stand-ins are ``reader_slips`` for the action model, and the rules for parser and writer. The questions that an LLM
parser and writer would get are made from the rules' items and context, and the rules' candidates, written in the
answers' JSON, stand for the answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from experiments.models.llm import ledger
from experiments.models.llm.client import own_tokens
from experiments.records import StepRecord
from experiments.settings import Settings
from memarbiter import tokens
from memarbiter.chat import ChatModel, Message, ModelCall, ModelReply, Purpose
from memarbiter.context import DecisionContext, Evidence
from memarbiter.formation import Formation, Formed
from memarbiter.items import CandidateWrite, MemoryItem
from memarbiter.protocol import Task
from memarbiter.writing.llm.question import Material, Question
from memarbiter.writing.llm.schema import BothQuestion, StateQuestion, WriteQuestion
from memarbiter.writing.llm.writer import item_lines, state_lines

_SHAPES: dict[Purpose, type[BaseModel]] = {
    "parse": StateQuestion,
    "write": WriteQuestion,
    "parse_and_write": BothQuestion,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One call of a rehearsal: what it is for, and its tokens by our count."""

    purpose: str
    prompt: int
    completion: int


def rehearsed(settings: Settings, folder: Path) -> Settings:
    """The same condition with stand-ins for its models, to be played below ``folder``."""
    memory = dict(settings.method.memory)
    if "formation" in memory:
        memory["formation"] = _counted(memory["formation"])
    method = settings.method.model_copy(update={"memory": memory})
    reader = {"_target_": "experiments.models.reader.Reader"}
    slips = {"_target_": "experiments.models.slips.Slips", "model": reader, "rate": 0.1, "seed": settings.seed}
    condition = settings.condition
    out = folder / f"{condition.method}-{condition.budget}"
    return settings.model_copy(
        update={"model": slips, "model_label": "reader_slips", "method": method, "out": str(out)}
    )


def asked_in(folder: Path) -> Iterator[Asked]:
    """The calls of a rehearsal, as its episodes' files tell them."""
    for path in sorted(folder.glob("episodes/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:-1]:
            step = StepRecord.model_validate_json(line)
            for act in step.calls:
                yield Asked("act", act.own_prompt_tokens or 0, tokens.count(act.raw))
            for call in step.memory_calls:
                yield Asked(call.purpose, call.own_prompt_tokens or 0, call.completion_tokens or 0)


class Counted:
    """A :class:`~memarbiter.formation.Formation` by rules that enters into the ledger what a model would be asked.

    Args:
        rules: Who forms the memory.
        input_tokens: Limit of each question, by purpose.
    """

    def __init__(self, rules: Formation, input_tokens: dict[Purpose, int]) -> None:
        self._rules = rules
        self._questions = {
            purpose: Question(_NOBODY, purpose, _SHAPES[purpose], limit, repairs=0)
            for purpose, limit in input_tokens.items()
        }

    def begin(self, task: Task) -> None:
        """Start a new episode."""
        self._task = task
        self._history: list[str] = []
        self._last = ""
        self._rules.begin(task)

    async def form(self, evidence: Evidence, known: Sequence[MemoryItem]) -> Formed:
        """What the rules form; the questions are counted on the way."""
        formed = await self._rules.form(evidence, known)
        for purpose, question in self._questions.items():
            material = Material(
                self._task.id,
                self._task.goal,
                evidence,
                # A parser is shown the state that it found before; a writer the one that it has been given.
                state=state_lines(formed.context) if purpose == "write" else self._last,
                items=item_lines(known) if purpose != "parse" else (),
                history=tuple(self._history) if purpose != "write" else (),
            )
            _enter(purpose, evidence.step, question.messages(material), _answer(purpose, formed))
        self._last = state_lines(formed.context)
        self._history.append(f"Step {evidence.step}: {evidence.action} -> {evidence.observation}")
        return formed


class _Nobody:
    """Stands where a model is needed that nobody asks."""

    async def reply(self, call: ModelCall) -> ModelReply:
        raise AssertionError(f"a rehearsal asks no model, but was about to make a {call.purpose} call")


_NOBODY: ChatModel = _Nobody()


def _counted(formation: dict[str, Any]) -> dict[str, Any]:
    """The formation by rules, with the questions of the one that it stands for."""
    limits = {
        purpose: formation[part]["input_tokens"]
        for part, purpose in (("parser", "parse"), ("writer", "write"))
        if "input_tokens" in formation.get(part, {})
    }
    if "input_tokens" in formation:
        limits["parse_and_write"] = formation["input_tokens"]
    rules = {
        "_target_": "memarbiter.formation.ParseThenWrite",
        "parser": {"_target_": "memarbiter.writing.household.parser.HouseholdStateParser"},
        "writer": {"_target_": "memarbiter.writing.household.writer.HouseholdWriter"},
    }
    return {"_target_": "experiments.rehearsal.Counted", "rules": rules, "input_tokens": limits}


def _answer(purpose: Purpose, formed: Formed) -> str:
    state = _state(formed.context)
    writes = [_write(candidate) for candidate in formed.candidates]
    parts: dict[str, Any] = {"parse": {"state": state}, "write": {"writes": writes}}
    return json.dumps(parts.get(purpose, {"state": state, "writes": writes}))


def _state(context: DecisionContext) -> dict[str, Any]:
    return {
        "completed_subgoals": [context.subgoal] * context.stage,
        "open_subgoals": [context.subgoal],
        "topics": sorted(context.topics),
        "entities": sorted(context.entities),
        "needs": [{"topic": need.topic, "found": not need.unresolved} for need in context.needs],
    }


def _write(candidate: CandidateWrite) -> dict[str, Any]:
    text = candidate.text.replace("{members}", ", ".join(candidate.members))
    return {
        "operation": "add",
        "item": None,
        "bank": str(candidate.bank),
        "subject": candidate.subject,
        "aspect": candidate.key,
        "value": candidate.value,
        "text": text,
        "entities": list(candidate.entities),
        "scope": list(candidate.scope),
        "status": str(candidate.status),
    }


def _enter(purpose: Purpose, step: int, messages: Sequence[Message], answer: str) -> None:
    book = ledger.current()
    if book is None:
        return
    call = ModelCall(messages, book.task_id, step, purpose=purpose)
    reply = ModelReply(answer, completion_tokens=tokens.count(answer))
    own = own_tokens(messages)
    book.enter(ledger.stored(call, reply, {}, None, own_prompt_tokens=own, seconds=0.0))
