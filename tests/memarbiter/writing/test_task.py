"""Every goal form of the real games (12 forms over the 134 unseen tasks)."""

from __future__ import annotations

import pytest

from memarbiter.writing.household.task import Recipe, UnknownGoal, parse_goal

FORMS = [
    ("put a mug in desk.", Recipe("mug", destination="desk")),
    ("put some soapbottle on toilet.", Recipe("soapbottle", destination="toilet")),
    ("put a clean cloth in countertop.", Recipe("cloth", becomes="clean", destination="countertop")),
    ("put a hot mug in cabinet.", Recipe("mug", becomes="hot", destination="cabinet")),
    ("put a cool tomato in microwave.", Recipe("tomato", becomes="cool", destination="microwave")),
    ("clean some butterknife and put it in drawer.", Recipe("butterknife", becomes="clean", destination="drawer")),
    ("heat some egg and put it in garbagecan.", Recipe("egg", becomes="hot", destination="garbagecan")),
    ("cool some pan and put it in stoveburner.", Recipe("pan", becomes="cool", destination="stoveburner")),
    ("put two soapbar in garbagecan.", Recipe("soapbar", count=2, destination="garbagecan")),
    ("find two pillow and put them in sofa.", Recipe("pillow", count=2, destination="sofa")),
    ("look at bowl under the desklamp.", Recipe("bowl", lamp="desklamp")),
    ("examine the alarmclock with the floorlamp.", Recipe("alarmclock", lamp="floorlamp")),
]


@pytest.mark.parametrize(("goal", "recipe"), FORMS)
def test_goal_forms(goal: str, recipe: Recipe) -> None:
    assert parse_goal(goal) == recipe


@pytest.mark.parametrize(("goal", "recipe"), FORMS)
def test_case_blanks_and_the_full_stop_do_not_matter(goal: str, recipe: Recipe) -> None:
    assert parse_goal(f"  {goal.rstrip('.').upper().replace(' ', '  ')} ") == recipe


@pytest.mark.parametrize("goal", ["", "put a mug.", "put the mug in desk.", "put three mug in desk.", "win the game."])
def test_another_goal_is_refused_by_name(goal: str) -> None:
    with pytest.raises(UnknownGoal, match="ALFWorld's forms") as caught:
        parse_goal(goal)
    assert repr(goal) in str(caught.value)
