"""Which tasks a split has and what their rooms hold; nothing is played here."""

from __future__ import annotations

from collections import Counter

import alfworld.gen.constants as constants
import pytest

from experiments.envs.base import TaskSetError
from experiments.envs.household.houses import SEEN, UNSEEN, can_hold, house
from experiments.envs.household.planning import SPLITS, TREATMENTS, TYPES, TaskPlan, plan
from experiments.envs.household.problem import goal_sentence
from experiments.envs.household.scene import Scene, draw


@pytest.fixture(scope="module")
def scenes() -> list[tuple[TaskPlan, Scene]]:
    return [(task, draw(task, attempt=0)) for task in plan(seed=42)]


def test_the_full_split_has_the_types_of_the_real_one() -> None:
    tasks = plan(seed=42)
    assert len(tasks) == 134
    assert sorted(Counter(task.type for task in tasks).values()) == sorted([24, 18, 31, 23, 21, 17])
    assert Counter(task.type for task in tasks) == TYPES
    assert {task.house for task in tasks} == set(UNSEEN)


@pytest.mark.parametrize("split", sorted(SPLITS))
def test_ids_are_unique_and_goals_do_not_repeat_within_a_type(split: str) -> None:
    tasks = plan(7, split)
    assert len({task.trial for task in tasks}) == len(tasks)
    assert len({(task.type, task.house, task.goal) for task in tasks}) == len(tasks)


def test_the_train_split_keeps_off_the_unseen_floor_plans() -> None:
    tasks = plan(42, "train")
    assert len(tasks) == 268
    assert Counter(task.type for task in tasks) == {type: 2 * count for type, count in TYPES.items()}
    assert {task.house for task in tasks} <= set(SEEN)
    assert not set(SEEN) & set(UNSEEN)


def test_a_selection_spreads_over_the_types_and_is_part_of_the_whole() -> None:
    assert set(Counter(task.type for task in plan(42, tasks=12)).values()) == {2}
    assert set(plan(42, tasks=5)) < set(plan(42, tasks=50)) < set(plan(42))


@pytest.mark.parametrize("tasks", [0, -1, 135])
def test_an_impossible_selection_is_refused(tasks: int) -> None:
    with pytest.raises(TaskSetError, match=r"1\.\.134"):
        plan(42, tasks=tasks)


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(TaskSetError, match="train, valid_unseen"):
        plan(42, "valid_seen")


def test_every_room_that_treats_a_target_has_what_it_takes() -> None:
    for task in plan(42) + plan(42, "train"):
        if task.type in TREATMENTS:
            treatment = TREATMENTS[task.type]
            assert treatment.appliance in {place.kind for place in house(task.house).places}
            assert task.goal.target in constants.VAL_ACTION_OBJECTS[treatment.able]


def test_every_floor_plan_makes_a_house() -> None:
    for number in UNSEEN + SEEN:
        home = house(number)
        assert len({place.id for place in home.places}) == len(home.places)
        assert home.places
        assert home.things


def test_kitchens_have_the_places_that_layouts_leave_out() -> None:
    kinds = Counter(place.kind for place in house(10).places)
    assert kinds["StoveBurner"] == 4
    assert kinds["CoffeeMachine"] == kinds["Toaster"] == kinds["SinkBasin"] == 1
    coffee = next(place for place in house(10).places if place.kind == "CoffeeMachine")
    assert {place.kind for place in house(10).places if place.location == coffee.location} == {
        "CoffeeMachine",
        "CounterTop",
    }


def test_no_target_starts_at_its_destination_or_where_it_is_treated(scenes: list[tuple[TaskPlan, Scene]]) -> None:
    for task, scene in scenes:
        barred = {task.goal.destination}
        barred |= {TREATMENTS[task.type].appliance} if task.type in TREATMENTS else set()
        targets = [thing for thing in scene.things if thing.kind == task.goal.target]
        assert len(targets) >= (2 if task.type == "pick_two_obj_and_place" else 1)
        assert not barred & {place.kind for thing in targets for place in thing.places}


def test_things_are_where_they_may_be_and_the_agent_stands_apart(scenes: list[tuple[TaskPlan, Scene]]) -> None:
    for _, scene in scenes:
        assert len({thing.id for thing in scene.things}) == len(scene.things)
        assert scene.start not in {place.location for place in scene.house.places}
        for thing in scene.things:
            if thing.kind in scene.house.things:
                assert all(can_hold(place.kind, thing.kind) for place in thing.places)


def test_as_many_targets_are_behind_doors_as_in_the_real_games(scenes: list[tuple[TaskPlan, Scene]]) -> None:
    """In the real 134 games 14.7 % of the targets that are in a place are in a closed one."""
    hidden = [
        all(place.openable for place in thing.places)
        for task, scene in scenes
        for thing in scene.things
        if thing.kind == task.goal.target
    ]
    assert 0.09 <= sum(hidden) / len(hidden) <= 0.20


def test_both_wordings_of_a_goal_occur() -> None:
    looks = [goal_sentence(task) for task in plan(42) if task.type == "look_at_obj_in_light"]
    assert {sentence.split()[0] for sentence in looks} == {"look", "examine"}
    assert {sentence.split()[-1] for sentence in looks} == {"desklamp", "floorlamp"}


def test_another_seed_gives_other_tasks_and_rooms() -> None:
    assert {task.goal for task in plan(1)} != {task.goal for task in plan(2)}
    first = plan(1)[0]
    assert draw(first, attempt=0) != draw(first, attempt=1)
