"""The floor plans that ship with the ``alfworld`` package, as rooms to put things into.

A floor plan's files give the kinds of thing in it, the points one can stand on, and, for most receptacles
("places"), their coordinates and the pose from which they are reached. Kinds of place that a plan has but
gives no pose for (burners, coffee machine, towel rails ...) are put up at a free wall, and some cabinets and
drawers that do not open are added, because real kitchens and bedrooms have them. A house depends on its
number only, never on the seed.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random

import alfworld.gen.constants as constants
import numpy as np

Location = tuple[int, int, int, int]
"""Where the agent stands: x and z in steps of 0.25 m, rotation in quarter turns, camera tilt in degrees."""

TILT = 30
"""Camera tilt, in degrees, where nothing else is known."""

UNSEEN = (10, 219, 308, 424)
"""ALFRED's floor plans for the unseen split: kitchen, living room, bedroom, bathroom."""
SEEN = tuple(number for numbers in constants.SCENE_TYPE.values() for number in numbers if number not in UNSEEN)

LAMPS = ("DeskLamp", "FloorLamp")
FIXTURES: dict[str, tuple[str, ...]] = {
    "DeskLamp": ("Desk", "SideTable", "Dresser", "Shelf"),
    # The goal asks for a lamp that is "in" a place, so a floor lamp belongs to what it stands beside.
    "FloorLamp": ("SideTable", "ArmChair", "Sofa", "Dresser", "Ottoman", "Bed"),
    "HousePlant": ("CounterTop", "DiningTable", "SideTable", "CoffeeTable", "Dresser", "TVStand", "Shelf"),
}
"""Things one cannot take, and the kinds of place they stand on: the first of them that the house has."""

_STEP = constants.AGENT_STEP_SIZE
_AHEAD = ((0, 1), (1, 0), (0, -1), (-1, 0))  # one step in each of the four rotations, as (x, z)

# Kinds the layouts give no pose for: how many there are at each stand, where it is not just one.
_GROUPS: dict[str, tuple[int, ...]] = {"StoveBurner": (2, 2), "HandTowelHolder": (1, 1)}
# The coffee machine stands on a surface and is reached from the same point as that.
_STANDS_ON: dict[str, tuple[str, ...]] = {"CoffeeMachine": ("CounterTop", "DiningTable", "SideTable")}
# Cabinets and drawers that do not open, per kind of room, in groups that share a stand.
_FIXED_FRONTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "Kitchen": ("Cabinet", (1, 1, 1)),
    "Bedroom": ("Drawer", (2, 1)),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A receptacle. Its id carries kind and coordinates in metres: ``Drawer|-02.07|+00.74|+00.73``."""

    id: str
    kind: str
    location: Location
    openable: bool

    @property
    def position(self) -> tuple[float, float, float]:
        """x, y (height) and z in metres."""
        x, y, z = self.id.split("|")[1:4]
        return float(x), float(y), float(z)


@dataclass(frozen=True, slots=True)
class House:
    """One floor plan: its places (sorted by id), what can be taken, what cannot, and where one can stand."""

    number: int
    room: str
    places: tuple[Place, ...]
    things: tuple[str, ...]
    fixtures: tuple[str, ...]
    floor: tuple[tuple[int, int], ...]

    def holders(self, thing: str) -> tuple[Place, ...]:
        """The places that may hold a kind of thing, by ALFRED's own table."""
        return tuple(place for place in self.places if can_hold(place.kind, thing))

    def stand(self, fixture: str) -> tuple[Place, ...]:
        """The places a fixture may stand on; empty if the house has none."""
        kinds = {place.kind for place in self.places}
        first = next((kind for kind in FIXTURES[fixture] if kind in kinds), None)
        return tuple(place for place in self.places if place.kind == first)


def can_hold(place: str, thing: str) -> bool:
    """True if a kind of place may hold a kind of thing."""
    return thing in constants.VAL_RECEPTACLE_OBJECTS.get(place, ())


def identify(kind: str, x: float, y: float, z: float) -> str:
    """ALFRED's id of a thing or place; a basin is named after the fixture it belongs to."""
    fixture = kind.removesuffix("Basin")
    suffix = "" if fixture == kind else f"|{kind}"
    return f"{fixture}|{x:+06.2f}|{y:+06.2f}|{z:+06.2f}{suffix}"


@cache
def house(number: int) -> House:
    """The house of a floor plan number (1-30 kitchens, 201-230, 301-330, 401-430)."""
    room = next(name for name, numbers in constants.SCENE_TYPE.items() if number in numbers)
    kinds = set(json.loads(_layout(number, "objects.json")))
    points = np.load(io.BytesIO(_layout(number, "layout.npy")))
    floor = tuple(sorted({(round(x / _STEP), round(z / _STEP)) for x, z in points.tolist()}))
    listed = [_listed(id, pose) for id, pose in json.loads(_layout(number, "openable.json")).items()]
    unlisted = _unlisted(number, _wanted(room, kinds, {place.kind for place in listed}), listed, floor)
    places = tuple(sorted([*listed, *unlisted], key=lambda place: place.id))
    things = {thing for place in places for thing in constants.VAL_RECEPTACLE_OBJECTS[place.kind]}
    fixtures = [kind for kind, stands in FIXTURES.items() if kind in kinds and {p.kind for p in places} & set(stands)]
    return House(number, room, places, tuple(sorted(things & kinds)), tuple(fixtures), floor)


def _layout(number: int, part: str) -> bytes:
    return files("alfworld").joinpath("gen", "layouts", f"FloorPlan{number}-{part}").read_bytes()


def _listed(id: str, pose: tuple[float, float, float, float]) -> Place:
    x, z, rotation, tilt = pose
    parts = id.split("|")
    kind = parts[-1] if parts[-1].endswith("Basin") else parts[0]
    location = (round(x / _STEP), round(z / _STEP), round(rotation / 90) % 4, round(tilt))
    return Place(id, kind, location, openable=kind in constants.OPENABLE_CLASS_SET)


def _wanted(room: str, kinds: set[str], listed: set[str]) -> list[tuple[str, int]]:
    """Places the layout gives no pose for, as (kind, how many share one stand)."""
    missing = (kinds & set(constants.VAL_RECEPTACLE_OBJECTS)) - listed - constants.MOVABLE_RECEPTACLES_SET
    wanted = [(kind, size) for kind in sorted(missing) for size in _GROUPS.get(kind, (1,))]
    fixed, sizes = _FIXED_FRONTS.get(room, ("", ()))
    return wanted + [(fixed, size) for size in sizes if fixed in listed]


def _unlisted(
    number: int, wanted: list[tuple[str, int]], listed: list[Place], floor: tuple[tuple[int, int], ...]
) -> list[Place]:
    """The wanted places, each group at a wall that no other place is reached from."""
    taken = {place.location[:3] for place in listed}
    walls = [pose for pose in _walls(floor) if pose not in taken]
    Random(f"household/house/{number}").shuffle(walls)
    places: list[Place] = []
    for kind, size in wanted:
        surfaces = [place for under in _STANDS_ON.get(kind, ()) for place in listed if place.kind == under]
        location = surfaces[0].location if surfaces else (*walls.pop(), TILT)
        places += [_ahead(kind, location, index) for index in range(size)]
    return places


def _walls(floor: tuple[tuple[int, int], ...]) -> list[tuple[int, int, int]]:
    """Poses (x, z, rotation) at the edge of the floor, looking away from it."""
    inside = set(floor)
    return [
        (x, z, rotation) for x, z in floor for rotation, (dx, dz) in enumerate(_AHEAD) if (x + dx, z + dz) not in inside
    ]


def _ahead(kind: str, location: Location, index: int) -> Place:
    """A place in front of a location, the ``index``-th from the front; it cannot be opened."""
    x, z, rotation, _ = location
    dx, dz = _AHEAD[rotation]
    reach = 0.45 + 0.24 * index
    id = identify(kind, x * _STEP + dx * reach, 0.90, z * _STEP + dz * reach)
    return Place(id, kind, location, openable=False)
