"""The engine's sentences and goals (all forms seen on the real games)."""

from __future__ import annotations

import pytest

from memarbiter.writing.household.task import Recipe, UnknownGoal, parse_goal
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


@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        (
            "You are in the middle of a room. Looking quickly around you, you see a bed 1, a drawer 2, and a safe 1.",
            [PlacesListed(("bed 1", "drawer 2", "safe 1"))],
        ),
        ("You are in the middle of a room. Looking quickly around you, you see nothing.", [PlacesListed(())]),
        (
            "You arrive at countertop 1. On the countertop 1, you see a apple 3, a apple 2, and a butterknife 1.",
            [Arrived("countertop 1"), Seen("countertop 1", ("apple 3", "apple 2", "butterknife 1"))],
        ),
        ("You arrive at shelf 1. On the shelf 1, you see nothing.", [Arrived("shelf 1"), Seen("shelf 1", ())]),
        ("You arrive at safe 1. The safe 1 is closed.", [Arrived("safe 1"), Closed("safe 1")]),
        (
            "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1, and a pan 2.",
            [Seen("fridge 1", ("egg 1", "pan 2"), "open")],
        ),
        ("You close the fridge 1.", [Closed("fridge 1")]),
        ("You pick up the mug 1 from the desk 2.", [Taken("mug 1", "desk 2")]),
        ("You move the spoon 1 to the sinkbasin 1.", [Put("spoon 1", "sinkbasin 1")]),
        ("You heat the egg 1 using the microwave 1.", [Treated("egg 1", "hot")]),
        ("You cool the egg 1 using the fridge 1.", [Treated("egg 1", "cool")]),
        ("You clean the butterknife 1 using the sinkbasin 1.", [Treated("butterknife 1", "clean")]),
        ("You turn on the desklamp 1.", [Switched("desklamp 1", on=True)]),
        ("You turn off the desklamp 1.", [Switched("desklamp 1", on=False)]),
        ("You are carrying: a mug 1.", [Carrying("mug 1")]),
        ("You are not carrying anything.", [Carrying(None)]),
        ("You are facing the drawer 3, and drawer 2. Next to it, you see nothing.", [Facing(("drawer 3", "drawer 2"))]),
        ("You are in the middle of a room. Looking quickly around you, you see nothing. ", [PlacesListed(())]),
        ("Nothing happens.", []),
        ("There's nothing special about mug 1.", []),
        ("You sliced the apple 1 with the knife 1.", []),
        ("This is a normal pan 1. In it, you see nothing.", []),
        ("This is a cold apple 1.", []),
    ],
)
def test_sentences(sentence: str, statements: list[Statement]) -> None:
    assert read(sentence) == statements


def test_names_that_look_alike_are_told_apart() -> None:
    found = entities("a knife 1, a butterknife 1, a sink 1, a sinkbasin 1, a spoon 1, the toiletpaperhanger 12")
    assert found == ("knife 1", "butterknife 1", "sink 1", "sinkbasin 1", "spoon 1", "toiletpaperhanger 12")
    assert kind("toiletpaperhanger 12") == "toiletpaperhanger"
    assert entities("step 3: mug 10, mug 1") == ("mug 10", "mug 1")


@pytest.mark.parametrize(
    ("goal", "recipe"),
    [
        ("put a mug in desk.", Recipe("mug", destination="desk")),
        ("put some spraybottle on toilet.", Recipe("spraybottle", destination="toilet")),
        ("put a clean lettuce in fridge.", Recipe("lettuce", becomes="clean", destination="fridge")),
        ("put a hot apple in fridge.", Recipe("apple", becomes="hot", destination="fridge")),
        ("put a cool tomato in countertop.", Recipe("tomato", becomes="cool", destination="countertop")),
        ("clean some plate and put it in countertop.", Recipe("plate", becomes="clean", destination="countertop")),
        ("heat some egg and put it in garbagecan.", Recipe("egg", becomes="hot", destination="garbagecan")),
        ("cool some pot and put it in shelf.", Recipe("pot", becomes="cool", destination="shelf")),
        ("look at bowl under the desklamp.", Recipe("bowl", lamp="desklamp")),
        ("examine the book with the floorlamp.", Recipe("book", lamp="floorlamp")),
        ("put two soapbar in cabinet.", Recipe("soapbar", count=2, destination="cabinet")),
        ("find two cd and put them in safe.", Recipe("cd", count=2, destination="safe")),
        ("Put  a Mug in desk", Recipe("mug", destination="desk")),
    ],
)
def test_goals(goal: str, recipe: Recipe) -> None:
    assert parse_goal(goal) == recipe


def test_an_unknown_goal_is_named() -> None:
    with pytest.raises(UnknownGoal, match="juggle three eggs"):
        parse_goal("juggle three eggs.")
