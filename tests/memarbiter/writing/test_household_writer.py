"""The rule-based parser and writer."""

from __future__ import annotations

import asyncio

import pytest
from helpers import REJECTED, ROOM, Script

from memarbiter.context import DecisionContext, Evidence
from memarbiter.items import Bank, CandidateWrite, Status
from memarbiter.protocol import Task
from memarbiter.writing.household.parser import HouseholdStateParser
from memarbiter.writing.household.task import UnknownGoal
from memarbiter.writing.household.writer import HouseholdWriter

CLEAN = [
    ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."),
    ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
    ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
    ("clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1."),
    ("move mug 1 to sinkbasin 1", "You move the mug 1 to the sinkbasin 1."),
]


def read_all(goal: str, script: Script) -> list[tuple[DecisionContext, list[CandidateWrite]]]:
    """Context and candidates after the first observation and after each step."""

    async def play() -> list[tuple[DecisionContext, list[CandidateWrite]]]:
        parser, writer = HouseholdStateParser(), HouseholdWriter()
        for part in (parser, writer):
            part.begin(Task("t", goal, ROOM))
        told = []
        evidence = [Evidence(0, None, ROOM)]
        evidence += [Evidence(n, action, answer, answer == REJECTED) for n, (action, answer) in enumerate(script, 1)]
        for one in evidence:
            context = await parser.parse(one)
            told.append((context, await writer.write(context)))
        return told

    return asyncio.run(play())


def of(candidates: list[CandidateWrite], bank: Bank) -> list[CandidateWrite]:
    return [one for one in candidates if one.bank is bank]


def test_the_plan_advances_with_what_was_done_and_goes_back_with_it() -> None:
    contexts = [context for context, _ in read_all("put a clean mug in shelf.", CLEAN)]
    assert [context.stage for context in contexts] == [0, 0, 1, 1, 2, 0]
    assert [context.progress for context in contexts][:3] == [0, 0, 1 / 3]
    assert contexts[0].subgoal == "Find the mug and take it."
    assert contexts[3].subgoal == "Clean the mug with a sinkbasin."
    assert contexts[4].subgoal == "Move the mug to a shelf."


def test_needs_are_unresolved_until_a_place_is_known() -> None:
    contexts = [context for context, _ in read_all("put a clean mug in shelf.", CLEAN)]
    assert [(need.topic, need.unresolved) for need in contexts[0].needs] == [("mug", True)]
    assert [(need.topic, need.unresolved) for need in contexts[1].needs] == [("mug", False)]
    assert [(need.topic, need.unresolved) for need in contexts[2].needs] == [("sinkbasin", False)]


def test_failures_are_counted_from_the_last_one() -> None:
    script = [("open bed 1", REJECTED), ("look", "You are facing the bed 1. Next to it, you see nothing.")]
    contexts = [context for context, _ in read_all("put a mug in shelf.", script)]
    assert [context.steps_since_failure for context in contexts] == [None, 0, 1]


def test_two_things_are_two_rounds_of_the_plan() -> None:
    script = [
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a pen 2, and a pen 1."),
        ("take pen 1 from desk 1", "You pick up the pen 1 from the desk 1."),
        ("move pen 1 to shelf 1", "You move the pen 1 to the shelf 1."),
        ("take pen 2 from desk 1", "You pick up the pen 2 from the desk 1."),
        ("move pen 2 to shelf 1", "You move the pen 2 to the shelf 1."),
    ]
    contexts = [context for context, _ in read_all("put two pen in shelf.", script)]
    assert [context.stage for context in contexts] == [0, 0, 1, 2, 3, 4]
    assert contexts[-1].progress == 1.0


def test_the_first_observation_gives_goal_plan_constraints_state_and_search_space() -> None:
    _, first = read_all("put a clean mug in shelf.", [])[0]
    assert [one.text for one in of(first, Bank.GOAL)] == [
        "Task: put a clean mug in shelf.",
        "Now: Find the mug and take it.",
        "Later: Clean the mug with a sinkbasin.",
        "Later: Move the mug to a shelf.",
    ]
    assert {one.key for one in of(first, Bank.CONSTRAINT)} == {"hands", "place", "treatment"}
    assert len(of(first, Bank.TASK_STATE)) == 1
    (unsearched,) = of(first, Bank.REFERENCE)
    assert unsearched.members[:2] == ("bed 1", "desk 1")
    assert not of(first, Bank.EPISODIC)


def test_a_stage_that_is_done_completes_its_goal_and_its_constraint() -> None:
    told = read_all("put a clean mug in shelf.", CLEAN)
    goals = {one.key: one.status for one in of(told[2][1], Bank.GOAL)}
    assert goals == {"stage 0": Status.COMPLETED, "stage 1": Status.ACTIVE, "stage 2": Status.ACTIVE}
    (treatment,) = of(told[4][1], Bank.CONSTRAINT)
    assert (treatment.key, treatment.status) == ("treatment", Status.COMPLETED)
    # Put down in the wrong place, it is still clean.
    assert not of(told[5][1], Bank.CONSTRAINT)
    assert "mug 1 (clean) put in sinkbasin 1" in of(told[5][1], Bank.TASK_STATE)[0].text


def test_every_step_is_an_event_and_a_snapshot() -> None:
    for number, (_, candidates) in enumerate(read_all("put a clean mug in shelf.", CLEAN)[1:], start=1):
        (event,), (state,) = of(candidates, Bank.EPISODIC), of(candidates, Bank.TASK_STATE)
        assert event.step == state.step == number
        assert event.subject == CLEAN[number - 1][0]


def test_a_refused_command_gives_an_event_and_nothing_about_the_world() -> None:
    _, candidates = read_all("put a mug in shelf.", [("go to drawer 3", REJECTED)])[1]
    assert {one.bank for one in candidates} == {Bank.EPISODIC, Bank.TASK_STATE}
    (event,) = of(candidates, Bank.EPISODIC)
    assert (event.failed, event.value) == (True, "failed")


def test_a_shared_location_is_a_constraint_while_the_agent_is_there() -> None:
    script = [
        ("go to drawer 3", "You arrive at drawer 3. The drawer 3 is closed."),
        ("examine drawer 2", "The drawer 2 is closed."),
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing."),
    ]
    told = read_all("put a mug in shelf.", script)
    shared = [[one for one in of(candidates, Bank.CONSTRAINT) if "shared" in one.key] for _, candidates in told]
    assert [[one.status for one in step] for step in shared] == [[], [], [Status.ACTIVE], [Status.INVALID]]
    assert set(shared[2][0].entities) == {"drawer 2", "drawer 3"}


def test_taking_and_putting_revise_the_places_they_touch() -> None:
    told = read_all("put a clean mug in shelf.", CLEAN)
    contents = [{one.subject: one.members for one in of(candidates, Bank.REFERENCE)} for _, candidates in told]
    assert contents[1]["desk 1"] == ("mug 1", "pen 1")
    assert contents[2]["desk 1"] == ("pen 1",)
    assert contents[5]["sinkbasin 1"] == ("mug 1",)


def test_an_unknown_goal_is_an_error_at_the_start() -> None:
    for part in (HouseholdStateParser(), HouseholdWriter()):
        with pytest.raises(UnknownGoal):
            part.begin(Task("t", "write a poem.", ROOM))
