"""From a model's writes to candidate writes: what is not well formed or never occurred is told and left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from memarbiter import tokens
from memarbiter.context import DecisionContext, topics_of
from memarbiter.items import Bank, CandidateWrite, MemoryItem, Status
from memarbiter.quoting import neutralise, one_line
from memarbiter.writing.llm import example
from memarbiter.writing.llm.contents import CONTENTS, by_place, listed, with_members
from memarbiter.writing.llm.grounding import Episode
from memarbiter.writing.llm.question import shortened
from memarbiter.writing.llm.schema import WriteAnswer, checked

_MOST_WRITES = 16
#: Most tokens of an item's text, which is never cut, and of what its ambient form is made from, which is.
_TEXT_TOKENS, _CUE_TOKENS = 200, 40
_MOST_SCOPES = 8
_TASK = "task"


def task_write(goal: str, step: int) -> CandidateWrite:
    """The goal itself, which no model is needed to know."""
    text = f"Task: {goal}"
    return CandidateWrite(Bank.GOAL, _TASK, text, text, "open", step, "goal")


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
        write = _clean(write)
        if problem := _problem(write, items, episode):
            problems.append(problem)
            continue
        write = by_place(write, [*(item.content for item in items.values()), *made], episode)
        candidate = _candidate(write, context, episode)
        item, remark = _revised(write, candidate, items)
        made.append(replace(candidate, key=item.content.key) if item else candidate)
        problems += [remark] if remark else []
    return _one_snapshot(made, problems), problems


def _clean(write: WriteAnswer) -> WriteAnswer:
    """The write with its texts as one line of plain data each."""

    def clean(text: str) -> str:
        # Only the list of a place's contents may ask for members.
        return one_line(neutralise(text)).replace("{members}", "members")

    texts = {name: clean(getattr(write, name)) for name in ("subject", "aspect", "value", "text")}
    lists = {name: [clean(one) for one in getattr(write, name)] for name in ("entities", "scope")}
    # The prompt shows an id in brackets.
    return write.model_copy(update={**texts, **lists, "item": write.item and clean(write.item).strip("[] ")})


def _problem(write: WriteAnswer, items: Mapping[str, MemoryItem], episode: Episode) -> str:
    """Why a write cannot be used; empty if it can."""
    if not write.text:
        return f"{write.operation} without text: {(write.item or write.subject)[:40]}"
    if tokens.count(write.text) > _TEXT_TOKENS or tokens.count(write.value) > _TEXT_TOKENS:
        return f"too long: {write.subject[:40]}"
    if write.bank == Bank.TASK_STATE and write.status != Status.ACTIVE:
        return f"a snapshot that does not hold: {write.subject[:40]}"
    item = items.get(write.item or "") if write.operation == "update" else None
    if item and item.content.key == _TASK:
        return f"the task itself cannot be revised: {item.id}"
    if stranger := episode.stranger(f"{write.text} ; {write.subject} ; {write.value}", example.KINDS):
        return f"never occurred: {stranger}"
    return ""


def _candidate(write: WriteAnswer, context: DecisionContext, episode: Episode) -> CandidateWrite:
    """The write as a new item."""
    evidence, bank, status = context.evidence, Bank(write.bank), Status(write.status)
    about = episode.term(write.subject) or write.subject.lower()
    named = dict.fromkeys(episode.entities(" ; ".join((write.text, write.subject, write.value, *write.entities))))
    candidate = CandidateWrite(
        bank=bank,
        key=_key(write, about, evidence.step),
        text=write.text,
        subject=shortened(write.subject or write.text, _CUE_TOKENS),
        value=shortened(write.value or write.text, _CUE_TOKENS),
        step=evidence.step,
        source="outcome" if bank is Bank.EPISODIC else "goal" if evidence.action is None else "observation",
        entities=tuple(named),
        scope=_scope(write.scope, episode),
        status=status,
        failed=evidence.failed,
    )
    if bank is Bank.GOAL:
        # A stage is told in one short sentence already: its ambient form has nothing to leave out.
        return replace(candidate, subject=shortened(write.text, _CUE_TOKENS))
    if bank is Bank.EPISODIC:
        # An event serves the subgoal under which it happened.
        verb = (evidence.action or "").split()[:1]
        return replace(candidate, scope=tuple(dict.fromkeys((*candidate.scope, *verb, *sorted(context.topics)))))
    return _listing(candidate, write, about, context, episode) if bank is Bank.REFERENCE else candidate


def _listing(
    candidate: CandidateWrite, write: WriteAnswer, about: str, context: DecisionContext, episode: Episode
) -> CandidateWrite:
    """A fact that lists things gets them as members: they can be told shortly, and leave it one by one."""
    things = listed(write.value, episode)
    if things is None:
        return candidate
    members = tuple(thing for thing in things if thing != about)
    sought = topics_of(context.goal) | {need.topic for need in context.needs}
    if write.aspect.lower() == CONTENTS and episode.entities(about) == (about,):
        wanted = sought | context.topics
        return replace(
            candidate,
            text=with_members(write.text, about, members, episode),
            subject=about,
            entities=(about,),
            members=members,
            exclusive=candidate.status is Status.ACTIVE,
            cues=tuple(name for name in members if wanted & topics_of(name)),
        )
    if len(members) < 2:
        return candidate
    return replace(
        candidate,
        text=with_members(write.text, about, members, episode),
        members=members,
        cues=members,
        # A list of places matters as long as something has to be found in one of them.
        scope=tuple(dict.fromkeys((*candidate.scope, *sorted(sought)))),
    )


def _revised(
    write: WriteAnswer, candidate: CandidateWrite, items: Mapping[str, MemoryItem]
) -> tuple[MemoryItem | None, str]:
    """The item that a write gives a new version, if any, and why it is not the one that was named."""
    if write.operation == "add":
        return None, ""
    item = items.get(write.item or "")
    if item is None:
        return None, f"unknown id: {str(write.item)[:40]}, taken as an addition"
    old = item.content
    if old.bank is not candidate.bank:
        return None, f"id of another bank: {item.id}, taken as an addition"
    if old.bank is Bank.EPISODIC and candidate.status is Status.ACTIVE and old.key != candidate.key:
        return None, f"events are not rewritten: {item.id}, taken as an addition"
    if (old.exclusive or candidate.exclusive) and old.key != candidate.key:
        return None, f"id of another place: {item.id}, taken as an addition"
    return item, ""


def _one_snapshot(made: Sequence[CandidateWrite], problems: list[str]) -> list[CandidateWrite]:
    """The candidates with all that is said of the present situation in one: a later snapshot replaces an earlier."""
    snapshots = [one for one in made if one.bank is Bank.TASK_STATE]
    if not snapshots:
        return list(made)
    if len(snapshots) > 1:
        problems.append(f"snapshots joined: {len(snapshots)}")
    first, text = snapshots[0], " ".join(dict.fromkeys(one.text for one in snapshots))
    joined = replace(
        first,
        text=text if text.lower().startswith("step ") else f"Step {first.step}: {text}",
        value="; ".join(dict.fromkeys(one.value for one in snapshots)),
        entities=tuple(dict.fromkeys(name for one in snapshots for name in one.entities)),
    )
    return [joined, *(one for one in made if one.bank is not Bank.TASK_STATE)]


def _key(write: WriteAnswer, about: str, step: int) -> str:
    """What a new item is about: subject and aspect, of which there is one value; events and snapshots are their own."""
    if write.bank == Bank.TASK_STATE:
        return f"snapshot {step}"
    if write.bank == Bank.EPISODIC:
        return write.text.lower()
    return f"{write.bank}: {about} | {write.aspect.lower()}"


def _scope(names: Sequence[str], episode: Episode) -> tuple[str, ...]:
    """Topics that an item is for: terms of the episode, and single words, as a verb need not have occurred before."""
    told = [name.lower() for name in names[:_MOST_SCOPES] if not episode.stranger(name, example.KINDS)]
    topics = chain.from_iterable([term] if (term := episode.term(name)) else name.split() for name in told)
    return tuple(dict.fromkeys(topics))[:_MOST_SCOPES]
