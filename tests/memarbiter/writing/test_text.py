"""The sentence forms of the game's text (what textworld 1.7 says in ALFWorld's games)."""

from __future__ import annotations

import pytest

from memarbiter.writing.household.text import (
    Arrived,
    Carrying,
    Closed,
    Facing,
    PlacesListed,
    Put,
    Seen,
    Statement,
    Switched,
    Taken,
    Treated,
    entities,
    kind,
    read,
)

HELP = "\nAvailable commands:\n  look:                look around your current location\n  go to (receptacle):  move"


@pytest.mark.parametrize(
    ("observation", "statements"),
    [
        (
            "You are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 2, and a desk 1.",
            [PlacesListed(("bed 1", "desk 2", "desk 1"))],
        ),
        ("You are in the middle of a room. Looking quickly around you, you see nothing.", [PlacesListed(())]),
        (
            "You arrive at desk 1. On the desk 1, you see a apple 3, a apple 2, and a knife 1.",
            [Arrived("desk 1"), Seen("desk 1", ("apple 3", "apple 2", "knife 1"))],
        ),
        ("You arrive at desk 1. On the desk 1, you see nothing.", [Arrived("desk 1"), Seen("desk 1", ())]),
        ("On the bed 1, you see a pillow 2, and a pillow 1.", [Seen("bed 1", ("pillow 2", "pillow 1"))]),
        ("You arrive at fridge 1. The fridge 1 is closed.", [Arrived("fridge 1"), Closed("fridge 1")]),
        (
            "You arrive at fridge 1. The fridge 1 is open. In it, you see a egg 1.",
            [Arrived("fridge 1"), Seen("fridge 1", ("egg 1",), "open")],
        ),
        (
            "You open the drawer 2. The drawer 2 is open. In it, you see nothing.",
            [Seen("drawer 2", (), "open")],
        ),
        ("You close the drawer 2.", [Closed("drawer 2")]),
        ("You pick up the mug 1 from the desk 1.", [Taken("mug 1", "desk 1")]),
        ("You move the mug 1 to the shelf 12.", [Put("mug 1", "shelf 12")]),
        ("You heat the mug 1 using the microwave 1.", [Treated("mug 1", "hot")]),
        ("You cool the mug 1 using the fridge 1.", [Treated("mug 1", "cool")]),
        ("You clean the mug 1 using the sinkbasin 2.", [Treated("mug 1", "clean")]),
        ("You turn on the desklamp 1.", [Switched("desklamp 1", True)]),
        ("You turn off the desklamp 1.", [Switched("desklamp 1", False)]),
        ("You are carrying: a apple 1.", [Carrying("apple 1")]),
        ("You are not carrying anything.", [Carrying(None)]),
        (
            "You are facing the drawer 3, and drawer 2. Next to it, you see nothing.",
            [Facing(("drawer 3", "drawer 2"))],
        ),
        ("You sliced the apple 1 with the knife 1.", []),
        ("There's nothing special about mug 1.", []),
        ("This is a normal pan 1.", []),
        ("This is a cold mug 1.", []),
        (HELP, []),
        ("Nothing happens.", []),
        ("", []),
    ],
)
def test_what_a_sentence_states(observation: str, statements: list[Statement]) -> None:
    assert read(observation) == statements


def test_statements_stand_in_the_order_of_the_text() -> None:
    text = "You close the drawer 1. You arrive at desk 1. You turn on the desklamp 1."
    assert read(text) == [Closed("drawer 1"), Arrived("desk 1"), Switched("desklamp 1", True)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a butterknife 1, and a knife 2", ("butterknife 1", "knife 2")),
        ("a sink 1, and a sinkbasin 1", ("sink 1", "sinkbasin 1")),
        ("a spoon 10, and a spoon 1, a spoon 10", ("spoon 10", "spoon 1")),
        ("at step 3 and in steps 4, 5 a Mug 1", ("mug 1",)),
        ("nothing", ()),
    ],
)
def test_names_that_look_alike_are_kept_apart(text: str, names: tuple[str, ...]) -> None:
    assert entities(text) == names
    assert [kind(name) for name in names] == [name.split()[0] for name in names]


@pytest.mark.parametrize("text", ["on the desk 1, you see a pen 1.", "Where is the mug 1? The fridge 1 was closed."])
def test_what_the_game_does_not_say_states_nothing(text: str) -> None:
    assert read(text) == []
