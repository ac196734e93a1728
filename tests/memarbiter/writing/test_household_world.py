"""What a sequence of statements says about the room."""

from __future__ import annotations

from memarbiter.writing.household.text import Delivered, Seen, read
from memarbiter.writing.household.world import World


def told(*observations: str) -> World:
    world = World()
    for step, observation in enumerate(observations):
        world.tell(read(observation), step)
    return world


ARRIVE = "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."


def test_places_are_unsearched_until_they_are_looked_into() -> None:
    room = "Looking quickly around you, you see a desk 1, a safe 1, and a shelf 1."
    world = told(room, ARRIVE, "You arrive at safe 1. The safe 1 is closed.")
    assert world.unsearched() == ["safe 1", "shelf 1"]
    world.tell(read("You open the safe 1. The safe 1 is open. In it, you see nothing."), 3)
    assert world.unsearched() == ["shelf 1"]


def test_a_thing_is_held_then_put_and_the_newest_sighting_wins() -> None:
    world = told(ARRIVE, "You pick up the mug 1 from the desk 1.")
    assert (world.held, world.where("mug 1"), world.places["desk 1"].things) == ("mug 1", None, ["pen 1"])
    world.tell(read("You arrive at shelf 1. On the shelf 1, you see a mug 1."), 2)
    assert world.where("mug 1") is None  # It is in the hand, whatever still lists it.
    world.tell(read("You move the mug 1 to the shelf 1."), 3)
    assert (world.held, world.where("mug 1"), world.put_in["mug 1"]) == (None, "shelf 1", "shelf 1")
    world.tell(read(ARRIVE), 4)
    assert world.where("mug 1") == "desk 1"
    world.tell(read("You pick up the mug 1 from the desk 1."), 5)
    assert "mug 1" not in world.put_in


def test_a_place_seen_again_replaces_what_was_known_of_it() -> None:
    world = told(ARRIVE, "You arrive at desk 1. On the desk 1, you see a cup 1.")
    assert world.where("mug 1") is None
    assert world.where("cup 1") == "desk 1"


def test_acting_on_a_place_without_going_there_shows_that_it_is_near() -> None:
    world = told("You arrive at drawer 3. The drawer 3 is closed.", "The drawer 2 is closed.")
    assert world.near == {"drawer 3", "drawer 2"}
    world.tell(read("You arrive at desk 1. On the desk 1, you see nothing."), 2)
    assert world.near == {"desk 1"}


def test_notes_about_places_elsewhere_do_not_bring_them_near() -> None:
    world = told(ARRIVE)
    world.tell([Seen("shelf 1", ("cup 1",)), Delivered("pen 2", "safe 1")], 1, remote=True)
    assert world.near == {"desk 1"}
    assert (world.where("cup 1"), world.put_in["pen 2"]) == ("shelf 1", "safe 1")


def test_heating_ends_being_cool_and_the_other_way_round() -> None:
    world = told("You cool the egg 1 using the fridge 1.", "You clean the egg 1 using the sinkbasin 1.")
    assert world.properties["egg 1"] == {"cool", "clean"}
    world.tell(read("You heat the egg 1 using the microwave 1."), 2)
    assert world.properties["egg 1"] == {"hot", "clean"}
