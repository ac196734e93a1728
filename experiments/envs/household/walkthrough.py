"""Constructs the commands that solve a game, from what its scene holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from types import SimpleNamespace

from alfworld.agents.utils.misc import Demangler

from experiments.envs.household.houses import Place
from experiments.envs.household.planning import TREATMENTS, TaskPlan
from experiments.envs.household.problem import escape
from experiments.envs.household.scene import Scene, Thing


class _Walk:
    """Commands in the making; knows where it stands and what it has opened, so nothing is said twice."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self._name = name
        self._at: tuple[int, ...] = ()
        self._opened: set[str] = set()
        self.commands: list[str] = []

    def go(self, place: Place) -> None:
        if place.location != self._at:
            self.commands.append(f"go to {self._name(place.id)}")
            self._at = place.location

    def reach_into(self, place: Place) -> None:
        self.go(place)
        if place.openable and place.id not in self._opened:
            self.commands.append(f"open {self._name(place.id)}")
            self._opened.add(place.id)

    def take(self, thing: Thing) -> None:
        self.reach_into(thing.places[0])
        self.commands.append(f"take {self._name(thing.id)} from {self._name(thing.places[0].id)}")

    def treat(self, thing: Thing, verb: str, appliance: Place) -> None:
        self.go(appliance)
        self.commands.append(f"{verb} {self._name(thing.id)} with {self._name(appliance.id)}")

    def move(self, thing: Thing, place: Place) -> None:
        self.reach_into(place)
        self.commands.append(f"move {self._name(thing.id)} to {self._name(place.id)}")

    def use(self, lamp: Thing) -> None:
        self.go(lamp.places[0])
        self.commands.append(f"use {self._name(lamp.id)}")


def walkthrough(task: TaskPlan, scene: Scene) -> list[str]:
    """A shortest solution of the form: fetch the target, have it treated, bring it to its end."""
    name = _names(scene)
    walks = [_follow(recipe, name) for recipe in _recipes(task, scene)]
    return min(walks, key=len)


Recipe = Callable[[_Walk], None]


def _follow(recipe: Recipe, name: Callable[[str], str]) -> list[str]:
    walk = _Walk(name)
    recipe(walk)
    return walk.commands


def _recipes(task: TaskPlan, scene: Scene) -> Iterator[Recipe]:
    """Every way to solve the task that differs in the things and places used."""
    targets = [thing for thing in scene.things if thing.kind == task.goal.target]
    ends = _of_kind(scene, task.goal.destination)
    if task.goal.lamp:
        lamps = [thing for thing in scene.things if thing.kind == task.goal.lamp]
        return (_look(target, lamp) for target, lamp in product(targets, lamps))
    if task.type in TREATMENTS:
        verb, appliances = TREATMENTS[task.type].verb, _of_kind(scene, TREATMENTS[task.type].appliance)
        return (_treated(*choice, verb) for choice in product(targets, appliances, ends))
    if task.type == "pick_two_obj_and_place":
        return (_bring(pair, end) for pair, end in product(permutations(targets, 2), ends))
    return (_bring((target,), end) for target, end in product(targets, ends))


def _look(target: Thing, lamp: Thing) -> Recipe:
    def recipe(walk: _Walk) -> None:
        walk.take(target)
        walk.use(lamp)

    return recipe


def _treated(target: Thing, appliance: Place, end: Place, verb: str) -> Recipe:
    def recipe(walk: _Walk) -> None:
        walk.take(target)
        walk.treat(target, verb, appliance)
        walk.move(target, end)

    return recipe


def _bring(targets: Iterable[Thing], end: Place) -> Recipe:
    def recipe(walk: _Walk) -> None:
        for target in targets:
            walk.take(target)
            walk.move(target, end)

    return recipe


def _of_kind(scene: Scene, kind: str) -> list[Place]:
    return [place for place in scene.house.places if place.kind == kind]


def _names(scene: Scene) -> Callable[[str], str]:
    """Id -> the name the engine gives it ("drawer 3"), by ALFWorld's own numbering."""
    ids = [thing.id for thing in scene.things] + [place.id for place in scene.house.places]
    known = {id: escape(id).lower() for id in ids}
    demangler = Demangler(game_infos={name: SimpleNamespace(id=name) for name in known.values()})
    return lambda id: str(demangler.demangle_alfred_name(known[id]))
