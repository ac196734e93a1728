"""What the reader does with a prompt: its decisions on hand-written text, whatever memory wrote it."""

from __future__ import annotations

import asyncio

import pytest

from experiments.agent import render
from experiments.models.reader import Reader
from memarbiter.chat import Message, ModelCall
from memarbiter.writing.household.task import UnknownGoal

ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a bed 1, a drawer 3, a drawer 1, "
    "a desk 1, a fridge 1, a shelf 2, a shelf 1, and a sinkbasin 1."
)
REJECTED = "Nothing happens."


def ask(*messages: Message, step: int = 1) -> str:
    """The reader's command for these messages."""
    text = asyncio.run(Reader().reply(ModelCall(messages, "t", step))).text
    thought, action = text.splitlines()
    assert thought.startswith("Thought: ")
    return action.removeprefix("Action: ")


def decide(memory: str, observation: str = REJECTED, goal: str = "put a mug in desk.") -> str:
    """The command after a memory block and a current observation."""
    return ask(*render(goal, observation, memory))


def history(*steps: tuple[str, str]) -> str:
    """A flat history that begins with the room."""
    lines = [f"Step {n}. Action: {action}. Observation: {answer}" for n, (action, answer) in enumerate(steps, 1)]
    return "\n".join([f"Step 0. Observation: {ROOM}", *lines])


def test_it_goes_to_the_places_in_the_order_of_the_text() -> None:
    assert decide("", ROOM) == "go to bed 1"
    seen = [("go to bed 1", "You arrive at bed 1. On the bed 1, you see nothing.")]
    assert decide(history(*seen), seen[-1][1]) == "go to drawer 3"
    assert decide("- Not searched yet: shelf 2, 1; drawer 3", seen[-1][1]) == "go to shelf 2"


def test_it_opens_a_closed_place() -> None:
    steps = [("go to drawer 3", "You arrive at drawer 3. The drawer 3 is closed.")]
    # The bed is named before the drawer, so the drawer's turn comes when the bed has been seen.
    steps.insert(0, ("go to bed 1", "You arrive at bed 1. On the bed 1, you see nothing."))
    assert decide(history(*steps), steps[-1][1]) == "open drawer 3"


def test_it_examines_a_place_to_which_it_may_not_go() -> None:
    steps = [
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see nothing."),
        ("go to drawer 3", REJECTED),
    ]
    assert decide(history(*steps)) == "examine drawer 3"
    assert decide(history(*steps, ("examine drawer 3", REJECTED))) == "go to drawer 1"


def test_it_acts_at_once_on_a_place_that_shares_its_location() -> None:
    notes = (
        "- Step 4: you are at bed 1 since step 1, next to drawer 3, holding nothing.\n- drawer 3 (open): mug 1 (step 3)"
    )
    assert decide(notes) == "take mug 1 from drawer 3"


def test_it_takes_what_it_needs_and_brings_it_where_it_belongs() -> None:
    found = [("go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see a pen 1, and a mug 2.")]
    assert decide(history(*found), found[-1][1]) == "take mug 2 from shelf 2"
    taken = [*found, ("take mug 2 from shelf 2", "You pick up the mug 2 from the shelf 2.")]
    assert decide(history(*taken), taken[-1][1]) == "go to desk 1"
    there = [*taken, ("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing.")]
    assert decide(history(*there), there[-1][1]) == "move mug 2 to desk 1"


def test_it_goes_back_to_a_thing_seen_before() -> None:
    steps = [
        ("go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see a mug 2."),
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see nothing."),
    ]
    assert decide(history(*steps), steps[-1][1]) == "go to shelf 2"


def test_the_newest_sighting_of_a_thing_wins() -> None:
    notes = "- shelf 2: mug 1 (step 2)\n- bed 1: mug 1 (step 6)"
    assert decide(notes) == "go to bed 1"
    assert decide("\n".join(reversed(notes.splitlines()))) == "go to bed 1"


@pytest.mark.parametrize("name", ["coffeemug", "mugholder"])
def test_a_name_that_looks_alike_is_another_thing(name: str) -> None:
    answer = f"You arrive at bed 1. On the bed 1, you see a {name} 1."
    assert decide(history(("go to bed 1", answer)), answer) == "go to drawer 3"


def test_after_a_refused_take_it_looks_into_its_hand() -> None:
    steps = [
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see a mug 1."),
        ("take mug 1 from bed 1", REJECTED),
    ]
    assert decide(history(*steps)) == "inventory"
    told = [*steps, ("inventory", "You are carrying: a pen 1.")]
    assert decide(history(*told), told[-1][1]) == "move pen 1 to bed 1"


def test_a_wrong_thing_goes_back_to_where_it_was() -> None:
    steps = [
        ("go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see a pen 1."),
        ("take pen 1 from shelf 2", "You pick up the pen 1 from the shelf 2."),
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see a mug 1."),
    ]
    assert decide(history(*steps), steps[-1][1]) == "go to shelf 2"


@pytest.mark.parametrize(
    ("becomes", "command"),
    [("clean", "clean mug 1 with sinkbasin 1"), ("cool", "cool mug 1 with fridge 1")],
)
def test_it_treats_the_thing_before_it_delivers_it(becomes: str, command: str) -> None:
    goal, appliance = f"put a {becomes} mug in desk.", command.split(" with ")[1]
    at = f"- Step 5: you are at {appliance} since step 5, holding mug 1"
    assert decide(f"{at}.\n- desk 1: nothing (step 2)", goal=goal) == command
    assert decide(f"{at} ({becomes}).\n- desk 1: nothing (step 2)", goal=goal) == "go to desk 1"


def test_it_remembers_a_treatment_from_the_command() -> None:
    steps = [
        ("take mug 1 from bed 1", "You pick up the mug 1 from the bed 1."),
        ("go to sinkbasin 1", "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        ("clean mug 1 with sinkbasin 1", "You clean the mug 1 using the sinkbasin 1."),
    ]
    goal = "clean some mug and put it in desk."
    assert decide(history(*steps[:2]), steps[1][1], goal) == "clean mug 1 with sinkbasin 1"
    assert decide(history(*steps), steps[-1][1], goal) == "go to desk 1"


def test_the_second_thing_goes_to_the_first_one_s_place() -> None:
    goal = "put two mug in shelf."
    steps = [
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see a mug 1."),
        ("take mug 1 from bed 1", "You pick up the mug 1 from the bed 1."),
        ("go to shelf 1", "You arrive at shelf 1. On the shelf 1, you see nothing."),
        ("move mug 1 to shelf 1", "You move the mug 1 to the shelf 1."),
    ]
    assert decide(history(*steps), steps[-1][1], goal) == "go to drawer 3"
    steps += [
        ("go to drawer 3", "You arrive at drawer 3. The drawer 3 is open. In it, you see a mug 2."),
        ("take mug 2 from drawer 3", "You pick up the mug 2 from the drawer 3."),
    ]
    assert decide(history(*steps), steps[-1][1], goal) == "go to shelf 1"
    notes = (
        "- Step 5: you are at drawer 3 since step 4, holding mug 2; mug 1 put in shelf 1.\n- Not searched yet: shelf 2"
    )
    assert decide(notes, goal=goal) == "go to shelf 1"


def test_it_holds_the_thing_under_the_lamp() -> None:
    goal = "look at mug under the desklamp."
    lamp = "- desk 1: desklamp 1 (step 2)"
    assert decide(f"- Step 5: you are at bed 1 since step 4, holding mug 1.\n{lamp}", goal=goal) == "go to desk 1"
    assert decide(f"- Step 5: you are at desk 1 since step 4, holding mug 1.\n{lamp}", goal=goal) == "use desklamp 1"
    assert decide(f"- Step 5: you are at desk 1 since step 4, holding nothing.\n{lamp}", goal=goal) == "look"


@pytest.mark.parametrize("memory", ["", "- Not searched yet: nothing", "(nothing is stored)", "## Goal\n- Task: x"])
def test_with_nothing_to_go_on_it_looks(memory: str) -> None:
    assert decide(memory) == "look"


def test_what_was_refused_is_not_tried_again_until_something_has_changed() -> None:
    notes = (
        "- Step 2: you are at bed 1 since step 2, holding nothing.\n- Step {}: go to shelf 2 (failed)\n- shelf 2: mug 1"
    )
    assert decide(notes.format(3)) == "examine shelf 2"
    assert decide(notes.format(1)) == "go to shelf 2"


def test_the_same_text_gives_the_same_command_whatever_was_asked_before() -> None:
    model = Reader()
    frames = [
        render("put a mug in desk.", ROOM, ""),
        render("put a mug in desk.", REJECTED, "- shelf 1: mug 1 (step 1)"),
    ]

    def said(number: int) -> str:
        return asyncio.run(model.reply(ModelCall(frames[number], "t", 9))).text

    assert [said(0), said(1), said(0), said(1)] == [said(0), said(1)] * 2
    assert said(0) != said(1)


def test_only_the_first_user_message_is_read() -> None:
    frame = render("put a mug in desk.", ROOM, "")
    other = [message for message in render("put a pen in bed.", REJECTED, "- shelf 1: pen 1") if message.role == "user"]
    assert ask(*frame, *other) == ask(*frame) == "go to bed 1"
    assert ask(Message("system", "Task: put a pen in bed."), *frame[1:]) == "go to bed 1"


@pytest.mark.parametrize("part", ["Task: ", "<memory>", "</memory>", "<observation>", "</observation>"])
def test_a_prompt_without_a_part_is_refused_by_name(part: str) -> None:
    system, user = render("put a mug in desk.", ROOM, "")
    broken = Message("user", user.content.replace(part, "", 1))
    with pytest.raises(ValueError, match=f"lacks .*{part.strip('</> :')}"):
        ask(system, broken)


def test_a_goal_of_another_form_is_refused() -> None:
    with pytest.raises(UnknownGoal, match="win the game"):
        decide("", goal="win the game")


def test_two_records_of_the_same_facts_lead_to_the_same_command() -> None:
    steps = [
        ("go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see a pen 1, and a mug 1."),
        ("go to drawer 3", "You arrive at drawer 3. The drawer 3 is closed."),
        ("go to drawer 1", REJECTED),
    ]
    notes = (
        "- Step 3: you are at drawer 3 since step 2, holding nothing.\n- Step 3: go to drawer 1 (failed)\n"
        "- shelf 2: pen 1, mug 1 (step 1)\n- Not searched yet: bed 1; drawer 3, 1; desk 1"
    )
    assert decide(history(*steps)) == decide(notes) == "go to shelf 2"


def test_a_place_that_was_closed_again_is_opened_again() -> None:
    steps = [
        ("go to drawer 3", "You arrive at drawer 3. The drawer 3 is closed."),
        ("open drawer 3", "You open the drawer 3. The drawer 3 is open. In it, you see a mug 1."),
        ("close drawer 3", "You close the drawer 3."),
    ]
    assert decide(history(*steps), steps[-1][1]) == "open drawer 3"
