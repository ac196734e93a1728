"""Cases A1, A2, E2: from a reply to one command."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import experiments.agent
from experiments.actions import parse_reply


def test_A1_the_first_action_is_taken_and_nothing_after_it() -> None:
    reply = (
        "Thought: I look into the fridge.\nAction: go to fridge 1\nObservation: The fridge 1 is open.\n"
        "Thought: There is an egg.\nAction: take egg 1 from fridge 1"
    )
    parsed = parse_reply(reply)
    assert parsed.command == "go to fridge 1"
    assert parsed.thought == "I look into the fridge."
    assert parsed.dropped == 1
    assert "extra actions dropped: 1" in parsed.notes


@pytest.mark.parametrize(
    "reply",
    [
        "Thought: x\nAction: go to desk 1",
        "Action:\n```\ngo to desk 1\n```",
        "```\nAction: go to desk 1\n```",
        "**Action:** **go to desk 1**",
        'Action: "go to desk 1"',
        "Action: `go to desk 1`",
        "Action: go to desk 1.",
        "Action: Go to desk 1",
        "Action: go  to   desk 1",
        "> go to desk 1",
        "Action: > go to desk 1",
        "action: go to desk 1",
        "ACTION : go to desk 1",
        "go to desk 1",
        "Thought: the desk.\ngo to desk 1",
        "Action: go to desk 1\nObserv",
        "Action: go to desk 1 Observ",
        "Action: go to desk 1 Observation: You arrive.",
        "\nAction: go to desk 1",
        "\n\n  Thought: x\n\n  Action:  go to desk 1  \n",
        "<think>go to bed 1</think>\nAction: go to desk 1",
        "go to bed 1 perhaps</think>Action: go to desk 1",
        "Thought: x Action: go to desk 1",
        "Action 3: go to desk 1",
        "1. go to desk 1",
        "Action: go to desk 1, then look",
        "Action: go to desk 1<|im_end|>",
        "[Action]: go to desk 1",
        "So my action: go to desk 1",
    ],
)
def test_A2_noise_around_a_command_is_removed(reply: str) -> None:
    assert parse_reply(reply).command == "go to desk 1"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n ",
        "Thought: I should go to desk 1.",
        "I think the mug is on desk 1.",
        "Action: think: where could it be?",
        "Thought: look",
        "done",
        "Action:",
        "<think>Action: look",
        "Observation: You see a mug 1.",
        "Thought: the best action: stay calm",
    ],
)
def test_A2_a_thought_alone_is_never_sent(reply: str) -> None:
    assert parse_reply(reply).command is None


def test_with_a_label_the_agents_own_failure_is_sent() -> None:
    assert parse_reply("Action: dance wildly").command == "dance wildly"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("put mug 1 in/on desk 1", "move mug 1 to desk 1"),
        ("put spoon 1 in sinkbasin 1", "move spoon 1 to sinkbasin 1"),
        ("put toiletpaper 2 on toiletpaperhanger 1", "move toiletpaper 2 to toiletpaperhanger 1"),
        ("place pan 1 onto countertop 2", "move pan 1 to countertop 2"),
        ("put pencil 1 into drawer 3", "move pencil 1 to drawer 3"),
        ("put potato 1 inside microwave 1", "move potato 1 to microwave 1"),
        ("move soapbottle 1 to toilet 1", "move soapbottle 1 to toilet 1"),
        ("take tomato 1 from countertop 1", "take tomato 1 from countertop 1"),
        ("go to handtowelholder 1", "go to handtowelholder 1"),
    ],
)
def test_E2_placing_forms_are_mapped_by_whole_words(written: str, sent: str) -> None:
    assert parse_reply(f"Action: {written}").command == sent


def test_E2_no_prompt_has_the_old_placing_form() -> None:
    prompts = Path(experiments.agent.__file__).parent / "prompts"
    texts = [path.read_text() for path in prompts.glob("*.j2")]
    assert len(texts) == 3
    assert not [text for text in texts if "in/on" in text or "put {" in text]


@given(st.text(max_size=300))
def test_never_raises_and_gives_one_line(reply: str) -> None:
    command = parse_reply(reply).command
    assert command is None or (command and command == " ".join(command.split()))


@given(st.text(alphabet="Action: gotodesk1\n*`>\"'<think>/", max_size=80))
def test_never_raises_on_almost_replies(reply: str) -> None:
    command = parse_reply(reply).command
    assert command is None or "\n" not in command
