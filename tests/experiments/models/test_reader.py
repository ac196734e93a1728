"""The reader: its notes grammar, and its decisions on prompts written by hand."""

from __future__ import annotations

import asyncio

import pytest

from experiments.models.reader import Reader
from experiments.models.reader.notes import effects, number_list, understand
from memarbiter.chat import Message, ModelCall
from memarbiter.writing.household.text import Arrived, Put, Taken, Treated
from memarbiter.writing.household.world import World

LIST = (
    "You are in the middle of a room. Looking quickly around you, you see a desk 1, a drawer 2, a drawer 1, "
    "a fridge 1, a shelf 2, and a shelf 1."
)


def frame(goal: str, memory: str, observation: str) -> Message:
    return Message(
        "user",
        f"Task: {goal}\n\nWorking memory:\n<memory>\n{memory}\n</memory>\n\n"
        f"Current observation:\n<observation>\n{observation}\n</observation>",
    )


def ask(*messages: Message) -> str:
    reply = asyncio.run(Reader().reply(ModelCall([Message("system", "Task: none"), *messages], "t", 1)))
    return reply.text


def command(goal: str, memory: str, observation: str = "Nothing happens.") -> str:
    """What the reader would do."""
    thought, action = ask(frame(goal, memory, observation)).splitlines()
    assert thought.startswith("Thought: ")
    return action.removeprefix("Action: ")


def told(memory: str) -> World:
    return understand(memory, "").world


# The grammar, line by line.


@pytest.mark.parametrize(
    "line",
    [
        "Step 7. Action: take mug 1 from desk 1. Observation: You pick up the mug 1 from the desk 1.",
        "Step 7. Action: take mug 1 from desk 1.",
        "Step 7: take mug 1 from desk 1",
        "- Step 7: take mug 1 from desk 1 (done)",
        "- Steps 3, 7: take mug 1 from desk 1 -> You pick up the mug 1 from the desk 1.",
    ],
)
def test_a_command_was_carried_out(line: str) -> None:
    world = told(line)
    assert (world.held, world.changed, world.taken_from) == ("mug 1", 7, {"mug 1": "desk 1"})


@pytest.mark.parametrize(
    "line",
    [
        "Step 7. Action: go to desk 1. Observation: Nothing happens.",
        "- Step 7: go to desk 1 -> Nothing happens.",
        "- Step 7: go to desk 1 (failed)",
        "- Steps 2, 7: go to desk 1 (failed)",
        "STEP 7: GO TO DESK 1 -> NOTHING HAPPENS",
    ],
)
def test_a_command_that_failed_was_not_carried_out(line: str) -> None:
    understood = understand(line, "")
    assert understood.failed == {"go to desk 1": 7}
    assert understood.world == World()


def test_the_newest_rejection_of_a_command_counts() -> None:
    assert understand("Step 2: open desk 1 (failed)\nStep 9: open desk 1 (failed)", "").failed == {"open desk 1": 9}


@pytest.mark.parametrize(
    ("line", "here", "near"),
    [
        ("- Step 7: you are at drawer 2 since step 5", "drawer 2", {"drawer 2"}),
        ("- Step 7: at drawer 2, holding nothing", "drawer 2", {"drawer 2"}),
        ("at drawer 2, next to drawer 3", "drawer 2", {"drawer 2", "drawer 3"}),
        (
            "at drawer 2, next to drawer 3, drawer 4, and desk 1",
            "drawer 2",
            {"drawer 2", "drawer 3", "drawer 4", "desk 1"},
        ),
    ],
)
def test_where_the_agent_is_and_what_is_beside_it(line: str, here: str, near: set[str]) -> None:
    assert (told(line).here, told(line).near) == (here, near)


def test_the_step_of_the_arrival_is_the_one_that_is_named() -> None:
    assert told("- Step 7: you are at drawer 2 since step 5, holding nothing.").arrived == 5


@pytest.mark.parametrize(("line", "held"), [("holding mug 1", "mug 1"), ("holding nothing", None), ("", None)])
def test_what_is_in_the_hand(line: str, held: str | None) -> None:
    assert told(line).held == held


@pytest.mark.parametrize("line", ["mug 1 is clean", "holding mug 1 (clean)", "- Step 3: mug 1 (clean) put in shelf 1"])
def test_a_property_that_was_given(line: str) -> None:
    assert told(line).properties == {"mug 1": {"clean"}}


@pytest.mark.parametrize(
    ("line", "name", "things"),
    [
        ("drawer 2 (open): pen 1, key 2 (step 5)", "drawer 2", ["pen 1", "key 2"]),
        ("- desk 1: pen 1 (step 5)", "desk 1", ["pen 1"]),
        ("- desk 1: mug 2, 1; pen 1; 4 more", "desk 1", ["mug 2", "mug 1", "pen 1"]),
        ("- desk 1: nothing (step 5)", "desk 1", []),
        ("- desk 1: nothing needed", "desk 1", []),
        ("Step 5: on desk 1: pen 1", "desk 1", ["pen 1"]),
    ],
)
def test_what_a_place_holds(line: str, name: str, things: list[str]) -> None:
    world = told(line)
    assert world.places[name].things == things
    assert not world.places[name].closed


def test_a_closed_place_has_not_been_looked_into() -> None:
    world = told("drawer 2 (closed)")
    assert world.places["drawer 2"].closed
    assert world.unsearched() == ["drawer 2"]


@pytest.mark.parametrize("line", ["mug 1 is in drawer 2", "the mug 1 lies on drawer 2"])
def test_the_place_of_one_thing(line: str) -> None:
    world = told(line)
    assert world.where("mug 1") == "drawer 2"
    assert (world.put_in, world.unsearched()) == ({}, ["drawer 2"])


def test_where_a_thing_was_put() -> None:
    world = told("- Step 9: you are at desk 1, holding nothing; mug 1 put in drawer 2.")
    assert world.put_in == {"mug 1": "drawer 2"}


def test_where_a_treated_thing_was_put() -> None:
    # MemArbiter's snapshot names a delivered thing with its property: "mug 1 (clean) put in drawer 2".
    assert told("- Step 9: holding nothing; mug 1 (clean) put in drawer 2.").put_in == {"mug 1": "drawer 2"}


def test_two_properties_of_one_thing() -> None:
    # MemArbiter's snapshot says this of a thing that was cleaned and heated.
    assert told("- Step 9: holding mug 1 (clean, hot).").properties == {"mug 1": {"clean", "hot"}}


def test_the_places_worth_a_visit_in_their_order() -> None:
    for line in ("Not searched yet: drawer 3, 4; fridge 1", "not searched yet: drawer 3, drawer 4, fridge 1 (step 2)"):
        assert understand(line, "").search_list == ["drawer 3", "drawer 4", "fridge 1"]
    assert understand("Not searched yet: nothing", "").search_list == []
    assert understand("desk 1: pen 1", "").search_list is None


def test_the_latest_word_wins_wherever_it_stands() -> None:
    lines = ["Step 9: move mug 1 to shelf 2", "Step 4: take mug 1 from desk 1", "Step 2: on desk 1: mug 1"]
    for text in ("\n".join(lines), "\n".join(reversed(lines))):
        assert (told(text).held, told(text).where("mug 1")) == (None, "shelf 2")


def test_the_observation_is_later_than_every_note() -> None:
    world = understand("Step 40: holding mug 1", "You move the mug 1 to the desk 1.").world
    assert (world.held, world.where("mug 1")) == (None, "desk 1")


@pytest.mark.parametrize(
    ("done", "statements"),
    [
        ("go to desk 1", [Arrived("desk 1")]),
        ("take mug 1 from desk 1", [Taken("mug 1", "desk 1")]),
        ("move mug 1 to desk 1", [Put("mug 1", "desk 1")]),
        ("heat mug 1 with microwave 1", [Treated("mug 1", "hot")]),
        ("cool mug 1 with fridge 1", [Treated("mug 1", "cool")]),
        ("open drawer 1", []),
        ("look", []),
    ],
)
def test_what_a_command_does(done: str, statements: list[object]) -> None:
    assert effects(done) == statements


def test_lists_that_leave_out_a_repeated_kind() -> None:
    assert number_list("drawer 3, 4; fridge 1") == ["drawer 3", "drawer 4", "fridge 1"]
    assert number_list("2 more") == number_list("nothing") == []


# Decisions.


def test_the_search_goes_in_the_order_of_the_text() -> None:
    assert command("put a mug in shelf.", "", LIST) == "go to desk 1"
    seen = "Step 1. Action: go to desk 1. Observation: You arrive at desk 1. On the desk 1, you see nothing."
    assert command("put a mug in shelf.", f"Step 0. Observation: {LIST}\n{seen}") == "go to drawer 2"
    notes = "- Step 1: you are at desk 1 since step 1, holding nothing.\n- Not searched yet: shelf 2, 1; drawer 2"
    assert command("put a mug in shelf.", notes) == "go to shelf 2"


def test_a_closed_place_is_opened() -> None:
    assert command("put a mug in shelf.", LIST, "You arrive at desk 1. The desk 1 is closed.") == "open desk 1"


FAILED_JOURNEY = [
    f"Step 0. Observation: {LIST}\nStep 1. Action: go to desk 1. Observation: Nothing happens.",
    "- Step 1: go to desk 1 -> Nothing happens.\n- Not searched yet: desk 1; drawer 2, 1",
    "- Step 1: go to desk 1 (failed)\n- Not searched yet: desk 1; drawer 2, 1",
]


@pytest.mark.parametrize("memory", FAILED_JOURNEY)
def test_a_refused_journey_leads_to_examine(memory: str) -> None:
    assert command("put a mug in shelf.", memory) == "examine desk 1"


@pytest.mark.parametrize(
    "memory",
    [
        "Step 1. Action: go to desk 1. Observation: You arrive at desk 1. On the desk 1, you see a mug 1.",
        "- Step 1: you are at desk 1 since step 1, holding nothing.\n- desk 1: mug 1 (step 1)",
        "- Step 1: at desk 1, holding nothing\n- desk 1: mug 1; 2 more",
    ],
)
def test_a_thing_in_reach_is_taken_whatever_memory_says_so(memory: str) -> None:
    assert command("put a mug in shelf.", memory) == "take mug 1 from desk 1"
    assert command("put a mug in shelf.", f"{memory}\nStep 2. Action: look. Observation: {LIST}") == (
        "take mug 1 from desk 1"
    )


def test_a_failed_take_leads_to_the_inventory() -> None:
    history = (
        "Step 1. Action: go to desk 1. Observation: You arrive at desk 1. On the desk 1, you see a mug 1.\n"
        "Step 2. Action: take mug 1 from desk 1. Observation: Nothing happens."
    )
    assert command("put a mug in shelf.", history) == "inventory"


HOLDING = [
    "Step 3. Action: take mug 1 from desk 1. Observation: You pick up the mug 1 from the desk 1.",
    "- Step 3: you are at desk 1 since step 2, holding mug 1.",
]


@pytest.mark.parametrize("memory", HOLDING)
def test_a_held_thing_is_delivered(memory: str) -> None:
    assert command("put a mug in shelf.", f"Step 0. Observation: {LIST}\n{memory}") == "go to shelf 2"
    arrived = "You arrive at shelf 2. On the shelf 2, you see nothing."
    assert command("put a mug in shelf.", f"{LIST}\n{memory}", arrived) == "move mug 1 to shelf 2"


@pytest.mark.parametrize("memory", HOLDING)
def test_a_held_thing_is_treated_first_and_once(memory: str) -> None:
    goal = "cool some mug and put it in shelf."
    assert command(goal, f"Step 0. Observation: {LIST}\n{memory}") == "go to fridge 1"
    at_fridge = "You arrive at fridge 1. The fridge 1 is closed."
    assert command(goal, f"{LIST}\n{memory}", at_fridge) == "cool mug 1 with fridge 1"
    assert command(goal, f"{LIST}\n{memory}", "You cool the mug 1 using the fridge 1.") == "go to shelf 2"


def test_the_second_thing_goes_where_the_first_one_is() -> None:
    notes = "- Step 9: you are at desk 1 since step 8, holding mug 2; mug 1 put in shelf 1."
    assert command("put two mug in shelf.", f"Step 0. Observation: {LIST}\n{notes}") == "go to shelf 1"


def test_a_delivered_thing_is_not_fetched_again() -> None:
    notes = "- Step 9: you are at shelf 1 since step 8, holding nothing; mug 1 put in shelf 1.\n- desk 1: mug 2"
    assert command("put two mug in shelf.", notes) == "go to desk 1"


def test_a_lamp_is_used_with_the_thing_in_hand() -> None:
    goal = "look at mug under the desklamp."
    lamp = "- Step 2: on shelf 1: desklamp 1"
    assert command(goal, f"{lamp}\n- Step 3: you are at desk 1 since step 3, holding mug 1.") == "go to shelf 1"
    assert command(goal, f"{lamp}\n- Step 5: you are at shelf 1 since step 4, holding mug 1.") == "use desklamp 1"
    assert command(goal, f"{lamp}\n- Step 5: you are at shelf 1 since step 4, holding nothing.\n- desk 1: mug 1") == (
        "go to desk 1"
    )


def test_a_wrong_thing_is_put_back() -> None:
    history = "Step 3. Action: take pen 1 from desk 1. Observation: You pick up the pen 1 from the desk 1."
    assert command("put a mug in shelf.", history) == "move pen 1 to desk 1"
    assert command("put a mug in shelf.", "- Step 3: at desk 1, holding pen 1") == "move pen 1 to desk 1"


def test_names_that_look_alike_are_not_taken() -> None:
    seen = "You arrive at desk 1. On the desk 1, you see a butterknife 1."
    assert command("put a knife in shelf.", f"Step 0. Observation: {LIST}", seen) == "go to drawer 2"
    basin = LIST.replace("a desk 1", "a sink 1, a sinkbasin 1")
    assert command("clean some mug and put it in shelf.", f"{basin}\nholding mug 1") == "go to sinkbasin 1"


@pytest.mark.parametrize("memory", ["", "(nothing is stored)", "Not searched yet: nothing"])
def test_with_nothing_to_go_on_it_looks(memory: str) -> None:
    assert command("put a mug in shelf.", memory) == "look"


def test_a_command_that_just_failed_is_not_repeated() -> None:
    history = f"Step 0. Observation: {LIST}"
    for step in range(1, 12):
        tried = command("put a mug in shelf.", history)
        assert tried not in history
        history += f"\nStep {step}. Action: {tried}. Observation: Nothing happens."


# The frame.


def test_the_same_text_gives_the_same_command() -> None:
    message = frame("put a mug in shelf.", LIST, "Nothing happens.")
    reader = Reader()
    calls = [
        ModelCall([message], task, step, attempt) for task, step, attempt in (("a", 1, 1), ("b", 9, 1), ("a", 2, 3))
    ]
    assert len({asyncio.run(reader.reply(call)).text for call in calls}) == 1


def test_only_the_first_user_message_is_read() -> None:
    first = frame("put a mug in shelf.", LIST, "Nothing happens.")
    other = frame("put a pen in fridge.", "- Not searched yet: fridge 1", "You are carrying: a pen 1.")
    assert ask(first, other, Message("user", "try again")) == ask(first)


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("<memory>\n</memory><observation>\n</observation>", "Task"),
        ("Task: put a mug in shelf.\n<observation>\n</observation>", "memory"),
        ("Task: put a mug in shelf.\n<memory>\n</memory>", "observation"),
        ("", "Task"),
    ],
)
def test_a_prompt_without_its_parts_is_a_clear_error(text: str, lacking: str) -> None:
    with pytest.raises(ValueError, match=lacking):
        ask(Message("user", text))


def test_an_unknown_goal_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="win the game"):
        ask(frame("win the game", "", ""))


def test_a_call_without_a_user_message_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="user"):
        ask()
