"""Draws what lies where at the start of a game.

The numbers here were set so that the figures of :mod:`experiments.envs.household.measure` come out near
those of ALFWorld's own unseen games; docs/household.md compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from experiments.envs.household.houses import TILT, House, Location, Place, house, identify
from experiments.envs.household.planning import TaskPlan, barred_kinds

# How likely a place is chosen for a thing it may hold, by kind; 1 where not named. The fridge and the burners
# weigh much because few kinds of thing may go there.
_ROOM = {
    "CounterTop": 5.5,
    "DiningTable": 5.5,
    "CoffeeTable": 5.0,
    "Desk": 5.0,
    "Bed": 5.0,
    "Dresser": 6.0,
    "SideTable": 3.0,
    "ArmChair": 3.0,
    "Sofa": 2.0,
    "Fridge": 10.0,
    "StoveBurner": 8.0,
    "SinkBasin": 3.5,
    "CoffeeMachine": 2.5,
    "Microwave": 2.0,
    "Safe": 4.0,
    "GarbageCan": 3.0,
    "Cabinet": 2.0,
    "Drawer": 1.8,
    "Toilet": 2.0,
    "Shelf": 1.2,
}
_COPIES = (0.43, 0.32, 0.25)  # one, two or three of a kind
_TARGET_COPIES = (0.41, 0.28, 0.20, 0.11)  # one to four; a task about two has at least two
_BEHIND_DOORS = 0.55  # a target is less often behind a door than other things, by this factor
_LISTED_TWICE = 0.9  # of two open places reached from one point, how often both show a thing lying in one


@dataclass(frozen=True, slots=True)
class Thing:
    """An object and the places that show it: the one it was put into, then any it is listed in as well."""

    id: str
    kind: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """The start of a game: a house, the things in it (sorted by id) and where the agent stands."""

    house: House
    things: tuple[Thing, ...]
    start: Location


def draw(task: TaskPlan, attempt: int) -> Scene:
    """The start of a task's game; another attempt gives another one.

    No target starts in a place of the destination's kind, or where it would be treated, so the goal is never
    met at the start, and a task about two always has two to find.
    """
    home = house(task.house)
    rng = Random(f"{task.key}/{attempt}")
    barred = barred_kinds(task.type, task.goal)
    scene: dict[str, Thing] = {}
    for kind in home.things:
        target = kind == task.goal.target
        holders = [place for place in home.holders(kind) if not (target and place.kind in barred)]
        for _ in range(_copies(rng, target, fewest=2 if task.type == "pick_two_obj_and_place" else 1)):
            place = rng.choices(holders, [_weight(place, target) for place in holders])[0]
            shown = [place, *(other for other in _neighbours(place, holders) if rng.random() < _LISTED_TWICE)]
            id = _new_id(rng, kind, place, scene)
            scene[id] = Thing(id, kind, tuple(shown))
    for kind in home.fixtures:
        place = rng.choice(home.stand(kind))
        id = _new_id(rng, kind, place, scene)
        scene[id] = Thing(id, kind, (place,))
    return Scene(home, tuple(scene[id] for id in sorted(scene)), _start(rng, home))


def _copies(rng: Random, target: bool, fewest: int) -> int:
    if not target:
        return rng.choices(range(1, len(_COPIES) + 1), _COPIES)[0]
    return rng.choices(range(fewest, len(_TARGET_COPIES) + 1), _TARGET_COPIES[fewest - 1 :])[0]


def _weight(place: Place, target: bool) -> float:
    return _ROOM.get(place.kind, 1.0) * (_BEHIND_DOORS if target and place.openable else 1.0)


def _neighbours(place: Place, holders: list[Place]) -> list[Place]:
    """Open places that could hold the same thing and are reached from the same point."""
    return [
        other
        for other in holders
        if other != place and other.location == place.location and not (place.openable or other.openable)
    ]


def _new_id(rng: Random, kind: str, place: Place, taken: dict[str, Thing]) -> str:
    """An id with coordinates close to the place's middle."""
    x, y, z = place.position
    while (id := identify(kind, x + rng.uniform(-0.3, 0.3), y + 0.05, z + rng.uniform(-0.3, 0.3))) in taken:
        pass
    return id


def _start(rng: Random, home: House) -> Location:
    """A point from which no place is in reach, so the game opens with the list of all places."""
    taken = {place.location for place in home.places}
    poses = [(x, z, rotation, TILT) for x, z in home.floor for rotation in range(4)]
    return rng.choice([pose for pose in poses if pose not in taken])
