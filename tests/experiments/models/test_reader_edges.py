"""The reader on notes that are rare: slips, tight budgets and a list that has come to its end."""

from __future__ import annotations

import asyncio

import pytest

from experiments.agent import render
from experiments.models.reader import Reader
from memarbiter.chat import Message, ModelCall

REJECTED = "Nothing happens."


def ask(*messages: Message) -> str:
    """The reader's command for these messages."""
    text = asyncio.run(Reader().reply(ModelCall(messages, "t", 9))).text
    return text.splitlines()[-1].removeprefix("Action: ")


def decide(*notes: str, goal: str = "put a mug in desk.") -> str:
    """The command after a refused command, with these lines in memory."""
    return ask(*render(goal, REJECTED, "\n".join(notes)))


def test_a_list_that_has_come_to_its_end_names_no_place() -> None:
    # The step in brackets is no place of the list.
    assert decide("- Not searched yet: nothing (step 5)") == "look"


def test_a_closed_place_whose_contents_are_known_is_opened() -> None:
    # MemArbiter writes such a line after a place that was looked into has been closed.
    here = "- Step 6: you are at drawer 3 since step 2, holding nothing."
    assert decide(here, "- drawer 3 (closed): mug 1 (step 5)") == "open drawer 3"


@pytest.mark.parametrize(
    ("notes", "refused"),
    [
        (["- shelf 2: mug 1"], "take mug 1 from shelf 2"),
        (["- Not searched yet: drawer 3"], "go to drawer 3"),
    ],
)
def test_what_was_refused_just_now_is_not_repeated_under_a_short_snapshot(notes: list[str], refused: str) -> None:
    # The ambient form of the task state does not say since when the agent has been there.
    assert decide("- Step 6: at shelf 2, holding nothing", f"- Step 6: {refused} (failed)", *notes) != refused


def test_two_things_in_different_places_are_brought_together() -> None:
    notes = [
        "- Step 9: you are at shelf 2 since step 8, holding nothing; mug 1 put in shelf 1, mug 2 put in shelf 2.",
        "- shelf 1: mug 1 (step 5)",
        "- shelf 2: mug 2 (step 9)",
        "- Not searched yet: nothing",
    ]
    assert decide(*notes, goal="put two mug in shelf.") in {"take mug 2 from shelf 2", "go to shelf 1"}
