"""Where things are: facts that list what a place holds (M3)."""

from __future__ import annotations

from typing import Any

import pytest
from scripted import contents, entry, snapshot
from told_episode import Told, at_desk

from memarbiter import tokens
from memarbiter.items import Band


@pytest.fixture
def told() -> Told:
    return at_desk()


def moved(told: Told, *last: Any) -> None:
    """Mug 1 is taken from desk 1 and put on shelf 2; then desk 1 is seen to be empty but for the pen."""
    told.tell("take mug 1 from desk 1", "You pick up the mug 1.", contents("desk 1", "pen 1"), snapshot("with mug 1"))
    told.tell("go to shelf 2", "On the shelf 2, you see nothing.", contents("shelf 2"))
    told.tell("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2.", *last)
    told.tell("go to desk 1", "On the desk 1, you see nothing.", contents("desk 1"))


def places(told: Told, thing: str) -> list[str]:
    return [line for line in told.lines("reference") if thing in line]


def located(place: str, **changes: Any) -> dict[str, Any]:
    text = f"The mug 1 is on {place}."
    return entry(subject="mug 1", aspect="location", value=place, text=text, **changes)


@pytest.mark.parametrize("last", [contents("shelf 2", "mug 1"), located("shelf 2")], ids=["contents", "location"])
def test_M3_a_thing_that_moved_has_one_current_place_with_its_step(told: Told, last: Any) -> None:
    moved(told, last)
    assert told.problems == []
    (line,) = places(told, "mug 1")
    assert "shelf 2" in line
    assert line.endswith(("mug 1 (step 4)", "mug 1. (step 4)"))
    assert told.lines("reference", Band.AMBIENT) == ["desk 1: nothing (step 5)", "shelf 2: mug 1 (step 4)"]


def test_M3_a_place_that_was_not_corrected_loses_the_thing_to_the_new_one(told: Told) -> None:
    told.tell("take mug 1 from desk 1", "You pick up the mug 1.")
    told.tell("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2.", located("shelf 2"))
    assert told.lines("reference") == ["The desk 1 holds pen 1. (step 1)", "shelf 2: mug 1 (step 3)"]


def test_M3_a_fact_that_no_longer_holds_claims_nothing(told: Told) -> None:
    old = contents("desk 1", "mug 1", "pen 1", operation="update", item="reference-1", status="superseded")
    told.tell("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2.", contents("shelf 2", "mug 1"), old)
    assert told.lines("reference") == ["The shelf 2 holds mug 1. (step 2)"]


def test_M3_a_thing_put_to_others_joins_them(told: Told) -> None:
    told.tell("go to shelf 2", "You see a cup 1.", contents("shelf 2", "cup 1"))
    told.tell("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2.", located("the shelf 2"))
    assert told.lines("reference") == ["The desk 1 holds pen 1. (step 1)", "The shelf 2 holds cup 1, mug 1. (step 3)"]


def test_contents_are_kept_by_place_whatever_id_they_are_given(told: Told) -> None:
    told.tell("go to desk 2", "You see a cup 1.", contents("desk 2", "cup 1", operation="update", item="reference-1"))
    assert told.problems == ["id of another place: reference-1, taken as an addition"]
    assert told.lines("reference") == ["The desk 1 holds mug 1, pen 1. (step 1)", "The desk 2 holds cup 1. (step 2)"]


@pytest.mark.parametrize(
    ("value", "text", "focal"),
    [
        ("mug 1, pen 1", "Desk 1 is open and holds a mug 1 and the pen 1.", "Desk 1 is open and holds mug 1, pen 1."),
        ("a mug 1, and a pen 1", "On desk 1: mug 1, pen 1", "On desk 1: mug 1, pen 1"),
        ("mug 1 (hot), pen 1 (blue)", "The desk 1 has mug 1; pen 1.", "The desk 1 has mug 1, pen 1."),
        ("mug 1, pen 1", "It holds mug 1 and pen 1.", "desk 1: mug 1, pen 1"),
        ("mug 1, pen 1", "The desk 1 holds mug 1.", "desk 1: mug 1, pen 1"),
        ("pen 1", "The desk 1 holds pen 1; mug 1 was taken from it.", "desk 1: pen 1"),
        ("mug 1", "The desk 1 holds mug 1 and mug 1.", "desk 1: mug 1"),
        ("nothing", "The desk 1 is empty.", "The desk 1 is empty."),
        ("Empty.", "Mug 1 was taken from desk 1.", "desk 1: nothing"),
        ("closed", "The desk 1 is closed.", "The desk 1 is closed."),
        ("unknown", "The desk 1 has not been searched.", "The desk 1 has not been searched."),
        ("", "The desk 1 is locked.", "The desk 1 is locked."),
    ],
)
def test_contents_are_told_in_the_models_words_where_these_list_them(
    told: Told, value: str, text: str, focal: str
) -> None:
    told.tell("look", "You see it.", entry(aspect="contents", value=value, text=text))
    assert told.lines("reference") == [f"{focal} (step 2)"]


def test_contents_keep_what_is_wanted_in_their_ambient_form(told: Told) -> None:
    assert told.lines("reference", Band.AMBIENT) == ["desk 1: mug 1; 1 more (step 1)"]


def test_the_list_of_places_keeps_them_all_and_is_short_in_its_ambient_form() -> None:
    told = Told()
    names = [f"drawer {number}" for number in range(1, 31)]
    listing = ", ".join(names)
    room = entry(subject="room", aspect="places", value=listing, text=f"The room has {listing}.", entities=names)
    told.tell("look", f"You see a {listing}.", room)
    assert told.problems == []
    assert told.lines("reference") == [f"The room has {listing}. (step 1)"]
    assert {"mug", "shelf"} <= set(told.items("reference")[0].content.scope)
    (ambient,) = told.lines("reference", Band.AMBIENT)
    assert ambient == "room: drawer " + ", ".join(str(number) for number in range(1, 31))
    assert tokens.count(ambient) < tokens.count(listing)
