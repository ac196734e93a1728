"""What a sequence of observations says about the room."""

from __future__ import annotations

import pytest

from memarbiter.writing.household.text import Arrived, Carrying, Delivered, Facing, Seen, Sighted, read
from memarbiter.writing.household.world import World

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 1, a drawer 2, a drawer 1, "
    "and a shelf 1."
)


def told(*observations: str) -> World:
    """The room after its list of places and these observations, from step 1 on."""
    world = World()
    for step, observation in enumerate([ROOM, *observations]):
        world.tell(read(observation), step)
    return world


def test_the_list_of_places_is_the_search_space_in_its_order() -> None:
    assert told().unsearched() == ["bed 1", "desk 1", "drawer 2", "drawer 1", "shelf 1"]


def test_a_place_is_searched_when_its_contents_were_seen_and_not_before() -> None:
    world = told("You arrive at drawer 1. The drawer 1 is closed.")
    assert "drawer 1" in world.unsearched()
    assert world.places["drawer 1"].closed
    world.tell(read("You open the drawer 1. The drawer 1 is open. In it, you see nothing."), 2)
    assert "drawer 1" not in world.unsearched()
    assert not world.places["drawer 1"].closed
    assert world.places["drawer 1"].openable


def test_a_failed_command_says_nothing() -> None:
    assert told("Nothing happens.") == told()


def test_a_thing_goes_from_its_place_into_the_hand_and_to_its_new_place() -> None:
    world = told("You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1.")
    assert (world.where("mug 1"), world.held) == ("desk 1", None)
    world.tell(read("You pick up the mug 1 from the desk 1."), 2)
    assert (world.where("mug 1"), world.held, world.places["desk 1"].things) == (None, "mug 1", ["pen 1"])
    world.tell(read("You arrive at shelf 1. On the shelf 1, you see nothing."), 3)
    world.tell(read("You move the mug 1 to the shelf 1."), 4)
    assert (world.where("mug 1"), world.held, world.put_in) == ("shelf 1", None, {"mug 1": "shelf 1"})
    world.tell(read("You pick up the mug 1 from the shelf 1."), 5)
    assert world.put_in == {}
    assert world.taken_from["mug 1"] == "shelf 1"


def test_the_newest_sighting_of_a_thing_wins() -> None:
    world = told(
        "You arrive at desk 1. On the desk 1, you see a mug 1.",
        "You arrive at shelf 1. On the shelf 1, you see a mug 1.",
    )
    assert world.where("mug 1") == "shelf 1"
    world.tell(read("You arrive at shelf 1. On the shelf 1, you see nothing."), 3)
    assert world.where("mug 1") is None


def test_a_held_thing_is_in_no_place_whatever_still_lists_it() -> None:
    world = told("You pick up the mug 1 from the desk 1.", "You arrive at bed 1. On the bed 1, you see a mug 1.")
    assert (world.held, world.where("mug 1")) == ("mug 1", None)


def test_heat_and_cold_exclude_each_other_and_cleanness_stays() -> None:
    world = told("You clean the mug 1 using the sinkbasin 1.", "You heat the mug 1 using the microwave 1.")
    assert world.properties["mug 1"] == {"clean", "hot"}
    world.tell(read("You cool the mug 1 using the fridge 1."), 3)
    assert world.properties["mug 1"] == {"clean", "cool"}


def test_acting_on_a_place_without_going_there_shows_that_it_is_near() -> None:
    world = told("You arrive at drawer 1. The drawer 1 is closed.", "The drawer 2 is closed.")
    assert (world.here, world.near) == ("drawer 1", {"drawer 1", "drawer 2"})
    world.tell(read("You arrive at bed 1. On the bed 1, you see nothing."), 3)
    assert (world.here, world.near) == ("bed 1", {"bed 1"})


def test_look_names_what_is_near() -> None:
    world = told("You arrive at desk 1. On the desk 1, you see nothing.")
    world.tell([Facing(("shelf 1",))], 2)
    assert world.near == {"desk 1", "shelf 1"}


def test_arriving_where_one_is_changes_nothing() -> None:
    world = told("You arrive at desk 1. On the desk 1, you see nothing.", "The drawer 1 is closed.")
    world.tell([Arrived("desk 1")], 9)
    assert (world.arrived, world.changed, world.near) == (1, 1, {"desk 1", "drawer 1"})


def test_notes_about_places_elsewhere_do_not_move_the_agent() -> None:
    world = told("You arrive at desk 1. On the desk 1, you see nothing.")
    world.tell([Seen("bed 1", ("mug 1",))], 2, remote=True)
    assert world.near == {"desk 1"}
    assert world.where("mug 1") == "bed 1"


def test_what_notes_alone_can_say() -> None:
    world = told()
    world.tell([Sighted("mug 1", "desk 1"), Delivered("mug 2", "shelf 1"), Carrying("pen 1")], 4)
    assert (world.where("mug 1"), world.where("mug 2"), world.held) == ("desk 1", "shelf 1", "pen 1")
    assert world.put_in == {"mug 2": "shelf 1"}
    assert world.hand_told == 4
    assert "desk 1" in world.unsearched()  # One thing was sighted; nobody has looked into the place.


def test_kinds_that_look_alike_are_different_kinds() -> None:
    world = World()
    world.tell(read(ROOM.replace("a bed 1", "a sink 1, a sinkbasin 1")), 0)
    assert world.of_kind("sink") == ["sink 1"]
    assert world.of_kind("sinkbasin") == ["sinkbasin 1"]


@pytest.mark.parametrize("told_of", ["You move the mug 1 to the drawer 2.", "You pick up the mug 1 from the drawer 2."])
def test_acting_on_a_place_that_was_never_looked_into_does_not_search_it(told_of: str) -> None:
    # Places share a location in most games, so things can be moved into places that nobody has looked into.
    world = told("You arrive at drawer 1. The drawer 1 is open. In it, you see nothing.", told_of)
    assert "drawer 2" in world.unsearched()
