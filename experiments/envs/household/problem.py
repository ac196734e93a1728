"""A scene as the files ALFWorld's engine reads: the PDDL problem, the goal sentence and the task's record."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from random import Random
from typing import Any

import alfworld.gen.constants as constants
from alfworld.gen.goal_library import gdict

from experiments.envs.household.houses import LAMPS, Location, can_hold
from experiments.envs.household.planning import TaskPlan
from experiments.envs.household.scene import Scene, Thing

_ESCAPES = str.maketrans({"|": "_bar_", "-": "_minus_", "+": "_plus_", ".": "_dot_"})
_ABILITIES = ("Cleanable", "Heatable", "Coolable", "Sliceable")


def escape(id: str) -> str:
    """An ALFRED id as a PDDL name, in ALFWorld's escaping."""
    return id.translate(_ESCAPES)


def game(task: TaskPlan, scene: Scene, walkthrough: list[str]) -> dict[str, Any]:
    """The content of ``game.tw-pddl``."""
    data = files("alfworld").joinpath("data")
    grammar = data.joinpath("alfred.twl2").read_text(encoding="utf-8")
    return {
        "pddl_domain": data.joinpath("alfred.pddl").read_text(encoding="utf-8"),
        "grammar": grammar.replace("UNKNOWN GOAL", goal_sentence(task)),
        "pddl_problem": problem(task, scene),
        "solvable": True,
        "walkthrough": walkthrough,
    }


def trajectory(task: TaskPlan) -> dict[str, Any]:
    """The content of ``traj_data.json``: what the task is about, in ALFRED's words."""
    return {
        "task_id": task.trial,
        "task_type": task.type,
        "pddl_params": {
            "mrecep_target": "",
            "object_sliced": False,
            "object_target": task.goal.target,
            "parent_target": task.goal.destination,
            "toggle_target": task.goal.lamp,
        },
        "scene": {"floor_plan": f"FloorPlan{task.house}", "scene_num": task.house},
    }


def goal_sentence(task: TaskPlan) -> str:
    """The task in words: one of the two templates ALFWorld has for the type, drawn by the task's key."""
    template: str = Random(f"{task.key}/wording").choice(gdict[task.type]["templates"])
    return template.format(**{slot: name.lower() for slot, name in _slots(task).items()})


def problem(task: TaskPlan, scene: Scene) -> str:
    """The PDDL problem. The goal text comes from ALFWorld's goal library and closes the problem's bracket."""
    facts = "\n".join(f"    ({fact})" for fact in sorted(set(_facts(task, scene))))
    goal = gdict[task.type]["pddl"].format(**_slots(task)).replace("#", "-").strip()
    return (
        f"(define (problem {escape(task.trial)})\n(:domain alfred)\n"
        f"(:objects\n{_declarations(scene)}\n)\n(:init\n{facts}\n)\n{goal}\n"
    )


def _slots(task: TaskPlan) -> dict[str, str]:
    return {"obj": task.goal.target, "recep": task.goal.destination, "toggle": task.goal.lamp}


def _declarations(scene: Scene) -> str:
    places = {place.kind for place in scene.house.places}
    # The domain names the appliances and the knives, so their types stand in every problem.
    place_types = places | {"SinkBasin", "Microwave", "Fridge"}
    thing_types = {thing.kind for thing in scene.things} | {"Knife", "ButterKnife"}
    groups: dict[str, Iterable[str]] = {
        "agent": ["agent1"],
        "rtype": [f"{kind}Type" for kind in sorted(place_types)],
        "otype": [f"{kind}Type" for kind in sorted(thing_types)],
        "object": [escape(thing.id) for thing in scene.things],
        "receptacle": [escape(place.id) for place in scene.house.places],
        "location": sorted({_at(place.location) for place in scene.house.places} | {_at(scene.start)}),
    }
    return "\n".join(f"    {name} - {sort}" for sort, names in groups.items() for name in names)


def _facts(task: TaskPlan, scene: Scene) -> Iterable[str]:
    yield f"atLocation agent1 {_at(scene.start)}"
    kinds = {thing.kind for thing in scene.things}
    for place in scene.house.places:
        name = escape(place.id)
        yield f"receptacleType {name} {place.kind}Type"
        yield f"receptacleAtLocation {name} {_at(place.location)}"
        if place.openable:
            yield f"openable {name}"
        yield from (f"canContain {place.kind}Type {kind}Type" for kind in kinds if can_hold(place.kind, kind))
    for thing in scene.things:
        yield from _thing_facts(thing, pickupable=thing.kind in scene.house.things)
        # As in ALFRED, a target that starts in the fridge is cold already.
        if thing.kind == task.goal.target and _cold(thing):
            yield f"isCool {escape(thing.id)}"


def _thing_facts(thing: Thing, pickupable: bool) -> Iterable[str]:
    name = escape(thing.id)
    yield f"objectType {name} {thing.kind}Type"
    yield f"objectAtLocation {name} {_at(thing.places[0].location)}"
    yield from (f"inReceptacle {name} {escape(place.id)}" for place in thing.places)
    if pickupable:
        yield f"pickupable {name}"
    if thing.kind in constants.MOVABLE_RECEPTACLES_SET:
        yield f"isReceptacleObject {name}"
    if thing.kind in LAMPS:
        yield f"toggleable {name}"
    for able in _ABILITIES:
        if thing.kind in constants.VAL_ACTION_OBJECTS[able]:
            yield f"{able.lower()} {name}"


def _cold(thing: Thing) -> bool:
    return thing.places[0].kind == "Fridge" and thing.kind in constants.VAL_ACTION_OBJECTS["Coolable"]


def _at(location: Location) -> str:
    return escape("loc|" + "|".join(map(str, location)))
