"""Candidate writes from the game's sentences (paper section 3.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from memarbiter.context import Evidence
from memarbiter.items import Bank, CandidateWrite, Status
from memarbiter.protocol import Task
from memarbiter.writing.household.parser import HouseholdStateParser
from memarbiter.writing.household.writer import HouseholdWriter

ROOM = "You are in the middle of a room. Looking quickly around you, you see a desk 1, a drawer 1, and a shelf 1."
DESK = ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1.")
TAKE = ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1.")
CLEAN = ("clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1.")
CLOSED = ("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed.")
REFUSED = ("go to drawer 3", "Nothing happens.")


def written(script: Sequence[tuple[str, str]], goal: str = "put a mug in shelf.") -> list[CandidateWrite]:
    """The candidates of the last step of the script."""

    async def run() -> list[CandidateWrite]:
        parser, writer, task = HouseholdStateParser(), HouseholdWriter(), Task("t", goal, ROOM)
        parser.begin(task)
        writer.begin(task)
        found = await writer.write((await parser.parse(Evidence(0, None, ROOM))).context, ())
        for step, (action, answer) in enumerate(script, start=1):
            evidence = Evidence(step, action, answer, answer == "Nothing happens.")
            found = await writer.write((await parser.parse(evidence)).context, ())
        return list(found.candidates)

    return asyncio.run(run())


def texts(candidates: Sequence[CandidateWrite], bank: Bank) -> list[str]:
    return [one.text.replace("{members}", ", ".join(one.members)) for one in candidates if one.bank is bank]


def test_the_first_observation_gives_goal_restrictions_state_and_search_space() -> None:
    found = written([])
    assert texts(found, Bank.GOAL) == [
        "Task: put a mug in shelf.",
        "Now: Find the mug and take it.",
        "Later: Move the mug to a shelf.",
    ]
    assert texts(found, Bank.CONSTRAINT) == [
        "You can hold only one thing at a time.",
        "The mug must end up in or on a shelf; no other place counts.",
    ]
    assert texts(found, Bank.TASK_STATE) == ["Step 0: you are in the middle of the room, holding nothing."]
    assert texts(found, Bank.REFERENCE) == ["Not searched yet: desk 1, drawer 1, shelf 1"]
    assert texts(found, Bank.EPISODIC) == []


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("put two mug in shelf.", "Two different mugs must end up in the same shelf."),
        ("look at mug under the desklamp.", "The mug must be in your hand when the desklamp is turned on."),
        ("put a clean mug in shelf.", "The mug must be clean before it is delivered; a sinkbasin makes it so."),
        ("heat some mug and put it in shelf.", "The mug must be hot before it is delivered; a microwave makes it so."),
    ],
)
def test_what_the_goal_demands_is_a_constraint(goal: str, said: str) -> None:
    assert said in texts(written([], goal), Bank.CONSTRAINT)


def test_an_arrival_gives_state_event_contents_and_a_shorter_search_space() -> None:
    found = written([DESK])
    assert texts(found, Bank.TASK_STATE) == ["Step 1: you are at desk 1 since step 1, holding nothing."]
    assert texts(found, Bank.EPISODIC) == [f"go to desk 1 -> {DESK[1]}"]
    assert texts(found, Bank.REFERENCE) == ["desk 1: mug 1, pen 1", "Not searched yet: drawer 1, shelf 1"]
    contents = next(one for one in found if one.key == "contents of desk 1")
    assert (contents.exclusive, contents.cues, contents.entities) == (True, ("mug 1",), ("desk 1",))


def test_a_closed_place_is_a_rule_and_no_fact() -> None:
    found = written([CLOSED])
    assert any("must be opened" in text for text in texts(found, Bank.CONSTRAINT))
    assert texts(found, Bank.REFERENCE) == []


def test_a_failed_command_gives_an_event_and_a_snapshot_only() -> None:
    found = written([DESK, REFUSED])
    assert [one.bank for one in found] == [Bank.TASK_STATE, Bank.EPISODIC]
    assert (found[1].failed, found[1].value, found[1].entities) == (True, "failed", ("drawer 3",))


def test_subgoals_are_rewritten_when_the_stage_changes_and_only_then() -> None:
    assert texts(written([DESK]), Bank.GOAL) == []
    taken = [one for one in written([DESK, TAKE]) if one.bank is Bank.GOAL]
    assert [(one.status, one.text) for one in taken] == [
        (Status.COMPLETED, "Later: Find the mug and take it."),
        (Status.ACTIVE, "Now: Move the mug to a shelf."),
    ]


def test_the_treatment_is_completed_by_treating() -> None:
    goal = "put a clean mug in shelf."

    def status(*script: tuple[str, str]) -> list[Status]:
        return [one.status for one in written(script, goal) if one.key == "treatment"]

    assert status() == [Status.ACTIVE]
    assert status(DESK, TAKE) == []
    assert status(DESK, TAKE, CLEAN) == [Status.COMPLETED]
    assert "holding mug 1 (clean)" in texts(written([DESK, TAKE, CLEAN], goal), Bank.TASK_STATE)[0]


def test_another_mug_still_needs_its_treatment() -> None:
    other = ("take mug 2 from desk 1", "You pick up the mug 2 from the desk 1.")
    put = ("move mug 1 to desk 1", "You move the mug 1 to the desk 1.")
    found = written([DESK, TAKE, CLEAN, put, other], "put a clean mug in shelf.")
    assert [one.status for one in found if one.key == "treatment"] == [Status.ACTIVE]


def test_a_delivery_stands_in_the_snapshot() -> None:
    put = ("move mug 1 to shelf 1", "You move the mug 1 to the shelf 1.")
    assert texts(written([DESK, TAKE, put]), Bank.TASK_STATE)[0].endswith("holding nothing; mug 1 put in shelf 1.")


def test_a_shared_location_is_a_rule_until_the_agent_leaves() -> None:
    beside = ("examine shelf 1", "On the shelf 1, you see nothing.")
    rule = next(one for one in written([DESK, beside]) if one.key.startswith("shared"))
    assert (rule.entities, rule.status) == (("desk 1", "shelf 1"), Status.ACTIVE)
    left = next(one for one in written([DESK, beside, CLOSED]) if one.key.startswith("shared"))
    assert (left.key, left.status) == (rule.key, Status.INVALID)


def test_a_refused_journey_proves_no_shared_location() -> None:
    assert not [one for one in written([DESK, ("go to shelf 1", "Nothing happens.")]) if one.key.startswith("shared")]


@pytest.mark.parametrize("script", [[], [DESK], [DESK, TAKE], [CLOSED], [REFUSED]])
def test_every_candidate_is_complete(script: list[tuple[str, str]]) -> None:
    for one in written(script):
        assert one.text
        assert one.subject
        assert one.value
        assert one.key
        assert one.step == len(script)
        assert one.source in {"goal", "observation", "outcome"}
