"""The decision context that a model's state makes, and what parser and writer read at each step."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from playing import EPISODE, FIND, HELD, MOVE, REFUSED, block, memory, separate, told, well
from scripted import GOAL, ROOM, Answer, Script, state

from memarbiter.context import Evidence
from memarbiter.protocol import Task
from memarbiter.writing.llm.merged import LLMFormation
from memarbiter.writing.llm.parser import LLMStateParser


def test_a_step_without_a_usable_state_keeps_the_last_one() -> None:
    answers = [json.dumps({"state": HELD}), "no", "no", json.dumps({"state": state(ahead=["Take zebra 9."])})]

    async def parse() -> list[Any]:
        parser = LLMStateParser(Script(answers))
        parser.begin(Task("t", "put a mug in shelf.", ROOM))
        steps = [
            Evidence(0, None, ROOM),
            Evidence(1, "open desk 1", REFUSED, True),
            Evidence(2, "look at shelf 1", "A."),
        ]
        return [await parser.parse(step) for step in steps]

    first, second, third = asyncio.run(parse())
    for parsed in (second, third):
        context = parsed.context
        assert (context.subgoal, context.stage, context.progress) == (MOVE, 1, 0.5)
        assert (context.topics, context.needs) == (first.context.topics, first.context.needs)
    assert second.context.evidence.step == 1
    assert second.context.entities == {"desk 1"}
    assert second.problems == ("parse: unusable answer: no JSON object",) * 2
    assert [parsed.context.steps_since_failure for parsed in (first, second, third)] == [None, 0, 1]
    assert third.context.entities == {"shelf 1"}
    assert third.problems == (
        "parse: never occurred: zebra 9",
        "parse: state without a subgoal: the last one is kept",
    )


def test_before_any_usable_state_the_goal_is_the_subgoal() -> None:
    async def parse() -> Any:
        parser = LLMStateParser(Script(["no", "no"]))
        parser.begin(Task("t", GOAL, ROOM))
        return await parser.parse(Evidence(0, None, ROOM))

    context = asyncio.run(parse()).context
    assert (context.subgoal, context.stage, context.progress, context.needs) == (GOAL, 0, 0.0, ())
    assert {"mug", "shelf"} <= context.topics


def test_a_state_is_put_into_the_episodes_words() -> None:
    told_state = state(
        ["Look around."],
        ["Take the mug 1.", "Take zebra 9.", MOVE],
        topics=["Mugs", "take", "", "zebra", "unicorn"],
        entities=["the Mug 1", "zebra 9", ""],
        needs=[{"topic": "mugs", "found": False}, {"topic": "mug", "found": True}, {"topic": "zebra", "found": False}],
    )

    async def parse() -> Any:
        parser = LLMStateParser(Script([json.dumps({"state": told_state})]))
        parser.begin(Task("t", GOAL, ROOM))
        return await parser.parse(Evidence(1, "go to desk 1", EPISODE[0][1]))

    parsed = asyncio.run(parse())
    context = parsed.context
    assert (context.subgoal, context.stage, context.progress) == ("Take the mug 1.", 1, 1 / 3)
    assert context.topics == {"mug", "take"}
    assert context.entities == {"desk 1", "mug 1", "pen 1"}
    assert [(need.topic, need.unresolved) for need in context.needs] == [("mug", False)]
    assert parsed.problems == ("parse: never occurred: zebra 9",)


def test_when_all_is_done_the_last_subgoal_stands() -> None:
    context = asyncio.run(_last_context([json.dumps({"state": state([FIND, MOVE], [])})]))
    assert (context.subgoal, context.stage, context.progress) == (MOVE, 2, 1.0)


async def _last_context(answers: list[Answer]) -> Any:
    parser = LLMStateParser(Script(answers))
    parser.begin(Task("t", GOAL, ROOM))
    return (await parser.parse(Evidence(0, None, ROOM))).context


def test_the_parser_reads_the_trajectory_and_its_last_state() -> None:
    model = Script(well)
    told(memory(separate(model)))
    parses = [call for call in model.calls if call.purpose == "parse"]
    assert [len(block(call, "history")) for call in parses] == list(range(6))
    assert block(parses[2], "history") == [f"Step 0: {ROOM}", f"Step 1: go to desk 1 -> {EPISODE[0][1]}"]
    assert block(parses[2], "evidence") == ["Step 2. Action: go to desk 1", f"Refused by the game: {REFUSED}"]
    assert [block(call, "state") for call in parses[:4:3]] == [[], [f"Open: {FIND} {MOVE}"]]
    assert block(parses[5], "state") == [f"Completed: {FIND}", f"Open: {MOVE}"]
    assert not any(block(call, "items") for call in parses)


def test_the_writer_reads_the_parsed_context_and_the_items_with_their_ids() -> None:
    model = Script(well)
    told(memory(separate(model)))
    writes = [call for call in model.calls if call.purpose == "write"]
    assert block(writes[0], "items") == []
    assert block(writes[1], "state") == [
        f"Subgoal: {FIND}",
        "Progress: 0%",
        "Entities: desk 1, mug 1, pen 1",
        "Needs: mug (found)",
    ]
    assert f"[goal-1] Task: {GOAL}" in block(writes[1], "items")
    assert "[reference-2] The desk 1 holds mug 1, pen 1. (step 1)" in block(writes[2], "items")
    assert not any(block(call, "history") for call in writes)


def test_the_merged_question_reads_both() -> None:
    model = Script(well)
    told(memory(LLMFormation(model)))
    third = model.calls[2]
    assert block(third, "history") == [f"Step 0: {ROOM}", f"Step 1: go to desk 1 -> {EPISODE[0][1]}"]
    assert "[reference-2] The desk 1 holds mug 1, pen 1. (step 1)" in block(third, "items")
    assert block(third, "state") == [f"Open: {FIND} {MOVE}"]
