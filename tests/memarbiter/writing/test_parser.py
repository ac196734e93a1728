"""Where the plan stands, and what it needs to know (paper section 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from memarbiter.context import DecisionContext, Evidence, Need
from memarbiter.protocol import Task
from memarbiter.writing.household.parser import HouseholdStateParser, plan
from memarbiter.writing.household.task import UnknownGoal, parse_goal

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a desk 1, a desklamp 1, a drawer 1, "
    "a fridge 1, a shelf 2, a shelf 1, and a sinkbasin 1."
)
REJECTED = "Nothing happens."


def parse(goal: str, answers: Sequence[str]) -> list[DecisionContext]:
    """The contexts after the first observation and after each answer."""

    async def run() -> list[DecisionContext]:
        parser = HouseholdStateParser()
        parser.begin(Task("t", goal, ROOM))
        contexts = [(await parser.parse(Evidence(0, None, ROOM))).context]
        for step, answer in enumerate(answers, start=1):
            contexts.append((await parser.parse(Evidence(step, "look", answer, answer == REJECTED))).context)
        return contexts

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("goal", "stages"),
    [
        ("put a mug in desk.", ["Find the mug and take it.", "Move the mug to a desk."]),
        (
            "cool some mug and put it in shelf.",
            ["Find the mug and take it.", "Cool the mug with a fridge.", "Move the mug to a shelf."],
        ),
        (
            "look at book under the desklamp.",
            ["Find the book and take it.", "Hold the book and use a desklamp at the lamp's place."],
        ),
        (
            "put two pen in drawer.",
            [
                "Find the first pen and take it.",
                "Move the first pen to a drawer.",
                "Find the second pen and take it.",
                "Move the second pen to a drawer.",
            ],
        ),
    ],
)
def test_the_plan_follows_from_the_goal(goal: str, stages: list[str]) -> None:
    assert [stage.text for stage in plan(parse_goal(goal))] == stages


def test_progress_through_a_treatment() -> None:
    contexts = parse(
        "put a clean mug in shelf.",
        [
            "You arrive at desk 1. On the desk 1, you see a mug 1.",
            "You pick up the mug 1 from the desk 1.",
            "You clean the mug 1 using the sinkbasin 1.",
            "You move the mug 1 to the shelf 1.",
        ],
    )
    assert [context.stage for context in contexts] == [0, 0, 1, 2, 3]
    assert [context.progress for context in contexts] == pytest.approx([0, 0, 1 / 3, 2 / 3, 1])
    assert contexts[2].subgoal == "Clean the mug with a sinkbasin."
    assert contexts[2].topics == {"mug", "clean", "sinkbasin"}


def test_progress_is_lost_with_the_thing() -> None:
    contexts = parse(
        "put a mug in shelf.",
        ["You pick up the mug 1 from the desk 1.", "You move the mug 1 to the drawer 1."],
    )
    assert [context.stage for context in contexts] == [0, 1, 0]


@pytest.mark.parametrize("thing", ["knife 1", "mugtree 1", "mu 1"])
def test_a_thing_of_another_kind_is_no_progress(thing: str) -> None:
    assert parse("put a mug in shelf.", [f"You pick up the {thing} from the desk 1."])[-1].stage == 0


def test_two_things_are_counted() -> None:
    contexts = parse(
        "put two pen in drawer.",
        [
            "You pick up the pen 1 from the desk 1.",
            "You move the pen 1 to the drawer 1.",
            "You pick up the pen 3 from the desk 1.",
            "You move the pen 3 to the drawer 1.",
        ],
    )
    assert [context.stage for context in contexts] == [0, 1, 2, 3, 4]
    assert contexts[3].subgoal == "Move the second pen to a drawer."


def test_two_things_in_different_places_are_not_both_delivered() -> None:
    # "Two" means both in the same receptacle: the goal is not met, and the plan must not be shown as completed.
    contexts = parse(
        "put two pen in shelf.",
        ["You move the pen 1 to the shelf 1.", "You move the pen 2 to the shelf 2."],
    )
    assert contexts[-1].progress < 1


def test_a_need_is_resolved_once_its_place_is_known() -> None:
    contexts = parse("put a mug in shelf.", ["You arrive at desk 1. On the desk 1, you see a pen 1.", "A mug!"])
    assert all(context.needs == (Need("mug", unresolved=True),) for context in contexts)
    seen = parse("put a mug in shelf.", ["You arrive at desk 1. On the desk 1, you see a mug 3."])[-1]
    assert seen.needs == (Need("mug", unresolved=False),)


def test_steps_since_the_last_failure() -> None:
    contexts = parse("put a mug in shelf.", ["A desk.", REJECTED, "A desk.", "A desk.", REJECTED])
    assert [context.steps_since_failure for context in contexts] == [None, None, 0, 1, 2, 0]


def test_entities_are_those_of_the_evidence_the_hand_and_the_place() -> None:
    contexts = parse("put a mug in shelf.", ["You pick up the pen 1 from the desk 1.", REJECTED])
    assert contexts[0].entities == set()
    assert contexts[1].entities == contexts[2].entities == {"pen 1", "desk 1"}


def test_beginning_again_forgets() -> None:
    async def run() -> DecisionContext:
        parser = HouseholdStateParser()
        parser.begin(Task("a", "put a mug in shelf.", ROOM))
        await parser.parse(Evidence(1, "take", "You pick up the mug 1 from the desk 1.", failed=True))
        parser.begin(Task("b", "put a mug in shelf.", ROOM))
        return (await parser.parse(Evidence(0, None, ROOM))).context

    assert asyncio.run(run()) == parse("put a mug in shelf.", [])[0]


def test_an_unknown_goal_is_refused() -> None:
    with pytest.raises(UnknownGoal):
        HouseholdStateParser().begin(Task("t", "win", ROOM))
