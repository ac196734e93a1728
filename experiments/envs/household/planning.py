"""What the tasks of a split are: type, goal and floor plan, before anything is placed in a room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, zip_longest
from random import Random
from typing import TypeVar

import alfworld.gen.constants as constants

from experiments.envs.base import TaskSetError
from experiments.envs.household.houses import LAMPS, SEEN, UNSEEN, House, house

_Card = TypeVar("_Card")

TYPES: dict[str, int] = {
    "pick_and_place_simple": 24,
    "look_at_obj_in_light": 18,
    "pick_clean_then_place_in_recep": 31,
    "pick_heat_then_place_in_recep": 23,
    "pick_cool_then_place_in_recep": 21,
    "pick_two_obj_and_place": 17,
}
"""The task types of ALFWorld's unseen split and how many of its 134 tasks each has."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """What a task type does to its target: the command's verb, ALFRED's word for it, and who does it."""

    verb: str
    able: str
    appliance: str


TREATMENTS: dict[str, Treatment] = {
    "pick_clean_then_place_in_recep": Treatment("clean", "Cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": Treatment("heat", "Heatable", "Microwave"),
    "pick_cool_then_place_in_recep": Treatment("cool", "Coolable", "Fridge"),
}

# How much earlier a goal that ends behind a door comes than another, so that about as many destinations are
# closed at the start as in the real games.
_DOOR_WEIGHT = 2.5


@dataclass(frozen=True, slots=True)
class Split:
    """The floor plans of a split and how many times the counts of :data:`TYPES` it has."""

    houses: tuple[int, ...]
    times: int


SPLITS = {"valid_unseen": Split(UNSEEN, 1), "train": Split(SEEN, 2)}


@dataclass(frozen=True, slots=True)
class Goal:
    """What a task is about: a kind of thing, and the kind of place it goes to or the lamp to see it by."""

    target: str
    destination: str = ""
    lamp: str = ""


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task to be made. Everything drawn for it is seeded by ``key``, so no task depends on another."""

    trial: str
    type: str
    goal: Goal
    house: int
    key: str

    @property
    def folder(self) -> str:
        """The game's folder inside its split, in ALFWorld's form."""
        end = self.goal.destination or self.goal.lamp
        return f"{self.type}-{self.goal.target}-None-{end}-{self.house}/{self.trial}"


def plan(seed: int, split: str = "valid_unseen", tasks: int | None = None) -> tuple[TaskPlan, ...]:
    """The tasks of a split, or ``tasks`` of them spread over the types; a task is the same in any selection.

    Raises:
        TaskSetError: The split is unknown, or has fewer tasks than asked for.
    """
    if split not in SPLITS:
        raise TaskSetError(f"household: unknown split {split!r}; choose one of {', '.join(sorted(SPLITS))}.")
    dealt = _deal(seed, split)
    if tasks is not None and not 1 <= tasks <= len(dealt):
        raise TaskSetError(f"household: tasks={tasks} is not in 1..{len(dealt)}, the size of split {split!r}.")
    return tuple(sorted(dealt[:tasks], key=lambda task: task.folder))


def goals(type: str, home: House) -> list[Goal]:
    """Every goal of a task type that a house allows and that can be unmet at the start."""
    if home.room not in constants.GOALS_VALID[type]:
        return []
    if type == "look_at_obj_in_light":
        return [Goal(thing, lamp=lamp) for thing in home.things for lamp in LAMPS if lamp in home.fixtures]
    pairs = [Goal(thing, end) for thing in home.things for end in _kinds(home, thing)]
    if type in TREATMENTS:
        treatment = TREATMENTS[type]
        if treatment.appliance not in {place.kind for place in home.places}:
            return []
        able = constants.VAL_ACTION_OBJECTS[treatment.able]
        pairs = [goal for goal in pairs if goal.target in able and goal.destination != treatment.appliance]
    return [goal for goal in pairs if set(_kinds(home, goal.target)) - barred_kinds(type, goal)]


def barred_kinds(type: str, goal: Goal) -> set[str]:
    """Kinds of place no target starts in: its destination, and the one that would treat it."""
    appliance = TREATMENTS[type].appliance if type in TREATMENTS else ""
    return {goal.destination, appliance}


def _kinds(home: House, thing: str) -> list[str]:
    return sorted({place.kind for place in home.holders(thing)})


def _deal(seed: int, split: str) -> list[TaskPlan]:
    """All tasks of a split, the types in turn."""
    by_type = []
    first = 0
    for type, count in TYPES.items():
        drawn = _draw(type, count * SPLITS[split].times, seed, split)
        trials = [f"trial_household_{seed}_{first + index:03d}" for index in range(len(drawn))]
        first += len(drawn)
        by_type.append(
            [
                TaskPlan(trial, type, goal, number, key=f"household/{seed}/{split}/{trial}")
                for trial, (number, goal) in zip(trials, drawn, strict=True)
            ]
        )
    return _in_turn(by_type)


def _draw(type: str, count: int, seed: int, split: str) -> list[tuple[int, Goal]]:
    """(house number, goal) of every task of one type, the houses in turn; none repeats before all are used."""
    rng = Random(f"household/{seed}/{split}/{type}")
    homes = [house(number) for number in SPLITS[split].houses]
    rng.shuffle(homes)
    decks = [[(home.number, goal) for goal in _shuffled(goals(type, home), home, rng)] for home in homes]
    return list(islice(cycle(_in_turn(decks)), count))


def _in_turn(decks: Iterable[Sequence[_Card]]) -> list[_Card]:
    """One from each deck, then the next from each that has one left, and so on."""
    return [card for row in zip_longest(*decks) for card in row if card is not None]


def _shuffled(deck: list[Goal], home: House, rng: Random) -> list[Goal]:
    """A random order in which goals that end behind a door tend to come early."""
    doors = {place.kind for place in home.places if place.openable}
    weights = [_DOOR_WEIGHT if goal.destination in doors else 1.0 for goal in deck]
    ranks = [rng.random() ** (1 / weight) for weight in weights]  # weighted sampling without replacement
    return [goal for _, goal in sorted(zip(ranks, deck, strict=True), key=lambda pair: -pair[0])]
