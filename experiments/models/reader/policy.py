"""The reader's fixed recipe: what to do next, given what the prompt says.

``options`` lists commands in order of preference; the first one that is not known to have just failed is
taken. Places are searched in the order in which the text names them; there is no prior about where things are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.models.reader.notes import Told
from memarbiter.writing.household.task import APPLIANCES, VERBS, Recipe
from memarbiter.writing.household.text import kind
from memarbiter.writing.household.world import World

NOTHING_TO_GO_ON = "look"


def choose(told: Told, recipe: Recipe) -> str:
    """The next command."""
    world = told.world
    barred = {command for command, step in told.failed.items() if step >= world.changed}
    return next((option for option in options(told, recipe) if option not in barred), NOTHING_TO_GO_ON)


def options(told: Told, recipe: Recipe) -> Iterator[str]:
    """Commands worth trying, best first."""
    world = told.world
    if world.held and kind(world.held) == recipe.thing:
        yield from _finish(told, recipe, world.held)
    elif world.held:
        yield from _put_away(world, world.held)
    else:
        yield from _fetch(told, recipe)


def _finish(told: Told, recipe: Recipe, thing: str) -> Iterator[str]:
    world = told.world
    if recipe.becomes and recipe.becomes not in world.properties.get(thing, ()):
        for appliance in _nearest(world, world.of_kind(APPLIANCES[recipe.becomes])):
            yield from _at(world, appliance, f"{VERBS[recipe.becomes]} {thing} with {appliance}")
    elif recipe.lamp:
        for lamp in _known(world, recipe.lamp):
            yield from _inside(world, str(world.where(lamp)), f"use {lamp}")
    else:
        for destination in _destinations(world, recipe):
            yield from _inside(world, destination, f"move {thing} to {destination}")
    yield from _search(told)


def _put_away(world: World, thing: str) -> Iterator[str]:
    origin = [world.taken_from[thing]] if thing in world.taken_from else []
    for place in dict.fromkeys([*origin, *sorted(world.near), *world.places]):
        yield from _inside(world, place, f"move {thing} to {place}")


def _fetch(told: Told, recipe: Recipe) -> Iterator[str]:
    world = told.world
    for thing in _known(world, recipe.thing):
        place = str(world.where(thing))
        if place == _delivered_to(world, recipe) and _is_ready(world, recipe, thing):
            continue  # Delivered already; the task wants another one.
        take = f"take {thing} from {place}"
        yield from _inside(world, place, take)
        if told.failed.get(take, -1) > max(world.changed, world.hand_told):
            yield "inventory"  # Taking failed, and the text does not say what the hand holds.
    yield from _search(told)


def _search(told: Told) -> Iterator[str]:
    world = told.world
    unsearched = world.unsearched()
    for place in told.search_list if told.search_list is not None else unsearched:
        if place not in world.places or place in unsearched:
            yield from _inside(world, place, f"examine {place}")


def _known(world: World, wanted: str) -> list[str]:
    """Things of a kind whose place is known, the latest sighting first."""
    things = [thing for thing in world.seen_at if kind(thing) == wanted and world.where(thing)]
    return sorted(things, key=lambda thing: (-world.seen_at[thing][0], thing))


def _destinations(world: World, recipe: Recipe) -> list[str]:
    """Places of the destination's kind; the one that already has a delivered thing comes first."""
    used = _delivered_to(world, recipe)
    return sorted(_nearest(world, world.of_kind(recipe.destination)), key=lambda place: place != used)


def _delivered_to(world: World, recipe: Recipe) -> str | None:
    """The place of the destination's kind in which most things of the target's kind were put, if there is one."""
    used = Counter(
        place
        for thing, place in world.put_in.items()
        if kind(thing) == recipe.thing and kind(place) == recipe.destination
    )
    return used.most_common(1)[0][0] if used else None


def _is_ready(world: World, recipe: Recipe, thing: str) -> bool:
    """Whether the thing was put where it is, with the property that the task asks for."""
    treated = not recipe.becomes or recipe.becomes in world.properties.get(thing, ())
    return treated and world.put_in.get(thing) == world.where(thing)


def _nearest(world: World, places: list[str]) -> list[str]:
    """The places with those at the agent's location first, else in the order in which the text names them."""
    return sorted(places, key=lambda place: place not in world.near)


def _at(world: World, place: str, command: str) -> Iterator[str]:
    """Be at the place, then act. A place that shares the agent's location can only be examined."""
    if place in world.near:
        yield command
    else:
        yield f"go to {place}"
        yield f"examine {place}"


def _inside(world: World, place: str, command: str) -> Iterator[str]:
    """Be at the place with its door open, then act."""
    closed = place in world.places and world.places[place].closed
    yield from _at(world, place, f"open {place}" if closed else command)
