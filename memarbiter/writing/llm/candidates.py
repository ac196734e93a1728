"""From a model's writes to candidate writes: what is not well formed or never occurred is told and left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memarbiter import tokens
from memarbiter.context import DecisionContext
from memarbiter.items import Bank, CandidateWrite, MemoryItem, Status
from memarbiter.quoting import neutralise, one_line
from memarbiter.writing.llm import example
from memarbiter.writing.llm.grounding import Episode
from memarbiter.writing.llm.schema import WriteAnswer, checked

_MOST_WRITES = 16
_MOST_TOKENS = 120
_MOST_SCOPES = 8
_CONTENTS = "contents"


def task_write(goal: str, step: int) -> CandidateWrite:
    """The goal itself, which no model is needed to know."""
    text = f"Task: {goal}"
    return CandidateWrite(Bank.GOAL, "task", text, text, "open", step, "goal")


def candidates(
    writes: Any, context: DecisionContext, known: Sequence[MemoryItem], episode: Episode
) -> tuple[list[CandidateWrite], list[str]]:
    """The usable candidates, and what was wrong with the others, each with a name before a colon.

    Args:
        writes: The ``writes`` of a model's answer, as they came.
        context: The decision context of the step.
        known: Items that can be revised.
        episode: What has occurred so far.
    """
    if not isinstance(writes, list):
        return [], ["no list of writes: " + type(writes).__name__]
    items = {item.id: item for item in known}
    made, problems = list[CandidateWrite](), list[str]()
    if len(writes) > _MOST_WRITES:
        problems.append(f"too many writes: {len(writes) - _MOST_WRITES} left out")
    for value in writes[:_MOST_WRITES]:
        write, wrong = checked(WriteAnswer, value)
        if write is None:
            problems.append(f"malformed write: {wrong}")
            continue
        if problem := _problem(write, items, episode):
            problems.append(problem)
            continue
        item = items.get(write.item or "") if write.operation == "update" else None
        if write.operation == "update" and item is None:
            problems.append(f"unknown id: {one_line(str(write.item))[:40]}, taken as an addition")
        made.append(_candidate(write, item, context, episode))
    return made, problems


def _problem(write: WriteAnswer, items: Mapping[str, MemoryItem], episode: Episode) -> str:
    """Why a write cannot be used; empty if it can."""
    if not _clean(write.text):
        return f"{write.operation} without text: {one_line(str(write.item or write.subject))[:40]}"
    said = " ; ".join((write.text, write.subject, write.value, *write.entities))
    if tokens.count(said) > 2 * _MOST_TOKENS or tokens.count(_clean(write.text)) > _MOST_TOKENS:
        return f"too long: {_clean(write.subject)[:40]}"
    if stranger := episode.stranger(said, example.KINDS):
        return f"never occurred: {stranger}"
    return ""


def _candidate(
    write: WriteAnswer, item: MemoryItem | None, context: DecisionContext, episode: Episode
) -> CandidateWrite:
    evidence = context.evidence
    # An item keeps the role that it was given first.
    bank = item.content.bank if item else Bank(write.bank)
    subject, value, text = _clean(write.subject), _clean(write.value), _clean(write.text)
    place = subject.lower()
    lists = bank is Bank.REFERENCE and _clean(write.aspect).lower() == _CONTENTS and episode.entities(place) == (place,)
    members = tuple(name for name in episode.entities(value) if name != place) if lists else ()
    named = dict.fromkeys((*episode.entities(f"{text} {subject} {value}"), *_known(write.entities, episode)))
    wanted = {need.topic for need in context.needs}
    return CandidateWrite(
        bank=bank,
        key=item.content.key if item else _key(write, bank, evidence.step),
        text=f"{place}: {{members}}" if lists else text,
        subject=f"{subject}: {value}" if bank is Bank.GOAL and value else subject or text,
        value=value or text,
        step=evidence.step,
        source="outcome" if bank is Bank.EPISODIC else "observation" if evidence.action else "goal",
        entities=(place,) if lists else tuple(named),
        members=members,
        exclusive=lists,
        cues=tuple(name for name in members if name.split(" ", 1)[0] in wanted),
        scope=tuple(dict.fromkeys(filter(None, (_clean(topic).lower() for topic in write.scope[:_MOST_SCOPES])))),
        status=Status(write.status),
        failed=evidence.failed,
    )


def _key(write: WriteAnswer, bank: Bank, step: int) -> str:
    """What a new item is about: subject and aspect, of which there is one value; events and snapshots are their own."""
    if bank is Bank.TASK_STATE:
        return f"snapshot {step}"
    if bank is Bank.EPISODIC:
        return _clean(write.text).lower()
    return f"{_clean(write.subject)} | {_clean(write.aspect)}".lower()


def _known(names: Sequence[str], episode: Episode) -> list[str]:
    return [name for name in (_clean(name).lower() for name in names) if episode.entities(name) == (name,)]


def _clean(text: str) -> str:
    """Text of a model as one line of plain data; it lists no members."""
    return one_line(neutralise(text)).replace("{members}", "members")
