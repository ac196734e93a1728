"""The two renderings of each bank (paper section 3.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers import item, memory, tell, write

from memarbiter import tokens
from memarbiter.bands import TEMPLATES, BankTemplates, UniformTemplate, compact, listing
from memarbiter.items import Band, Bank, MemoryItem

GOAL = write(Bank.GOAL, text="Now: Find the mug and take it.", subject="now: Find the mug and take it.")
STATE = write(
    Bank.TASK_STATE,
    text="Step 4: you are at desk 1 since step 2, holding mug 1.",
    subject="desk 1",
    value="at desk 1, holding mug 1",
)
RULE = write(
    Bank.CONSTRAINT,
    text="A closed place must be opened before anything can be seen in it.",
    subject="closed place",
    value="open it first",
)
EVENT = write(
    Bank.EPISODIC, text="go to drawer 3 -> Nothing happens.", subject="go to drawer 3", value="failed", failed=True
)
FACT = write(
    Bank.REFERENCE,
    text="desk 1: {members}",
    subject="desk 1",
    members=("pen 1", "mug 2", "pen 2", "mug 1"),
    cues=("mug 2", "mug 1"),
)
CONTENTS = (GOAL, STATE, RULE, EVENT, FACT)


def shown(one: MemoryItem) -> tuple[str, str]:
    """Focal and ambient line."""
    renderer = BankTemplates()
    return renderer.render(one, Band.FOCAL), renderer.render(one, Band.AMBIENT)


def test_every_bank_has_its_own_pair() -> None:
    assert set(TEMPLATES) == set(Bank)
    assert len(set(TEMPLATES.values())) == len(Bank)


@pytest.mark.parametrize(
    ("content", "focal", "ambient"),
    [
        (GOAL, "Now: Find the mug and take it.", "now: Find the mug and take it."),
        (STATE, "Step 4: you are at desk 1 since step 2, holding mug 1.", "Step 4: at desk 1, holding mug 1"),
        (
            RULE,
            "A closed place must be opened before anything can be seen in it.",
            "closed place: open it first",
        ),
        (EVENT, "Step 4: go to drawer 3 -> Nothing happens.", "Step 4: go to drawer 3 (failed)"),
        (FACT, "desk 1: pen 1, mug 2, pen 2, mug 1 (step 4)", "desk 1: mug 2, 1; 2 more"),
    ],
    ids=list(Bank),
)
def test_focal_and_ambient_line_of_each_bank(content, focal: str, ambient: str) -> None:
    assert shown(item("i", content, (4,))) == (focal, ambient)


@pytest.mark.parametrize(
    ("steps", "said"),
    [((3,), "Step 3"), ((3, 7), "Steps 3, 7"), ((1, 2, 3, 4, 5), "Steps 3, 4, 5")],
)
def test_a_repeated_event_names_its_newest_steps(steps: tuple[int, ...], said: str) -> None:
    assert [line.split(":")[0] for line in shown(item("e", EVENT, steps))] == [said, said]


@pytest.mark.parametrize(
    ("members", "cues", "ambient"),
    [
        ((), (), "desk 1: nothing"),
        (("pen 1",), (), "desk 1: nothing needed"),
        (("mug 1",), ("mug 1",), "desk 1: mug 1"),
        (("mug 1",), ("mug 1", "mug 9"), "desk 1: mug 1"),
    ],
)
def test_the_ambient_fact_keeps_what_is_needed(members, cues, ambient: str) -> None:
    assert shown(item("f", replace(FACT, members=members, cues=cues)))[1] == ambient


def test_lists() -> None:
    places = ["drawer 3", "drawer 4", "fridge 1", "drawer 9"]
    assert listing(places) == "drawer 3, drawer 4, fridge 1, drawer 9"
    assert compact(places) == "drawer 3, 4; fridge 1; drawer 9"
    assert listing([]) == compact([]) == "nothing"


@pytest.mark.parametrize("renderer", [BankTemplates(), UniformTemplate()], ids=["banks", "pool"])
@pytest.mark.parametrize("content", CONTENTS, ids=list(Bank))
def test_an_item_changes_band_without_being_rewritten(renderer, content) -> None:
    one = item("i", content)
    before = replace(one)
    lines = [renderer.render(one, band) for band in (Band.FOCAL, Band.AMBIENT, Band.HIDDEN, Band.FOCAL)]
    assert one == before
    assert lines[0] == lines[3] != ""
    assert lines[2] == ""


def test_the_uniform_pair_is_the_same_for_every_role() -> None:
    lines = [UniformTemplate().render(item("i", content, (4,)), Band.AMBIENT) for content in CONTENTS]
    assert all(line == f"Step 4: {one.subject} ({one.value})" for line, one in zip(lines, CONTENTS, strict=True))


def test_the_ambient_form_of_what_an_episode_writes_is_never_longer() -> None:
    arbiter = memory()
    script = [
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a pen 1, a pen 2, and a mug 1."),
        ("open drawer 1", "Nothing happens."),
        ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
        ("go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed."),
        ("look", "You are facing the drawer 1, and drawer 2. Next to it, you see nothing."),
        ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see nothing."),
    ]
    tell(arbiter, script, goal="put a clean mug in shelf.")
    items = [one for bank in arbiter._banks.items().values() for one in bank]
    assert {one.bank for one in items} == set(Bank)
    for one in items:
        focal, ambient = shown(one)
        assert 0 < tokens.count(ambient) <= tokens.count(focal), (focal, ambient)
