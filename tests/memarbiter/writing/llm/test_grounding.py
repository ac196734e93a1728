"""What counts as having occurred in an episode."""

from __future__ import annotations

import pytest
from told_episode import Told, at_desk

from memarbiter.writing.llm import example
from memarbiter.writing.llm.grounding import Episode


@pytest.fixture
def told() -> Told:
    return at_desk()


@pytest.mark.parametrize(
    "text",
    [
        "put 2 mugs",
        "Put two mugs on shelf 2.",
        "It needs two mugs in desk 1.",
        "step 5",
        "In step 5 nothing happened.",
        "Carry 1 mug at a time.",
        "She grabbed 2 mugs.",
        "Grabbed 1 mug.",
        "Desks 1 and 2 are here.",
        "Within 3 steps.",
        "Attempt 2 of 3 failed.",
        "Holds 2 mugs and 1 pen.",
        "All 2 desks were searched.",
        "Only 1 left.",
        "MUG 1 is on DESK 1.",
        "Shelf 2 stands beside shelf 1.",
        "",
    ],
)
def test_what_counts_things_is_no_stranger(told: Told, text: str) -> None:
    assert told.episode.stranger(text, example.KINDS) == ""


@pytest.mark.parametrize(
    ("text", "stranger"),
    [
        ("vial 3", "vial 3"),
        ("Took the vial.", "vial"),
        ("mug 7", "mug 7"),
        ("put mug 7 on desk 1", "mug 7"),
        ("Desks 1 and mugs 9.", "mugs 9"),
        ("fridge 1 is closed", "fridge 1"),
        ("fridge 1 holds mug 1", "fridge 1"),
        ("mug 12", "mug 12"),
        ("mug 1 mug 2", "mug 2"),
        ("Racks stand here.", "rack"),
    ],
)
def test_what_never_occurred_is_a_stranger(told: Told, text: str, stranger: str) -> None:
    assert told.episode.stranger(text, example.KINDS) == stranger


def test_a_word_of_the_example_may_occur_in_the_episode() -> None:
    episode = Episode("put a vial in rack.")
    assert episode.stranger("The vial goes in a rack.", example.KINDS) == ""
    assert episode.stranger("The vial 3 goes in a rack.", example.KINDS) == "vial 3"


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("mug", "mug"),
        ("Mugs", "mug"),
        ("the mug", "mug"),
        ("the  Mug 1 ", "mug 1"),
        ("mug 7", ""),
        ("fridge", ""),
        ("", ""),
        ("a", "a"),
        ("s", ""),
    ],
)
def test_a_term_is_what_the_episode_calls_it(told: Told, name: str, term: str) -> None:
    assert told.episode.term(name) == term
