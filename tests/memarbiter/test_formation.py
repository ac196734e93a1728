"""Parse, then write; and foreign text as plain data."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from helpers import context, item, write
from hypothesis import given, settings
from hypothesis import strategies as st

from memarbiter.context import DecisionContext, Evidence, Parsed, Written
from memarbiter.formation import Formed, ParseThenWrite
from memarbiter.items import MemoryItem
from memarbiter.protocol import Task
from memarbiter.quoting import neutralise, one_line

TASK = Task("t", "put a mug in desk.", "A room.")


class Diary:
    """Parser and writer in one, which note what they are told in their order."""

    def __init__(self, problems: tuple[str, ...] = ()) -> None:
        self.entries: list[object] = []
        self._problems = problems

    def begin(self, task: Task) -> None:
        self.entries.append(task)

    async def parse(self, evidence: Evidence) -> Parsed:
        self.entries.append(evidence)
        return Parsed(replace(context(), evidence=evidence), tuple(f"parse: {one}" for one in self._problems))

    async def write(self, context: DecisionContext, known: Sequence[MemoryItem]) -> Written:
        self.entries.append((context, list(known)))
        return Written((write(step=context.evidence.step),), tuple(f"write: {one}" for one in self._problems))


def test_the_writer_reads_what_the_parser_made() -> None:
    diary, evidence, known = Diary(), Evidence(1, "look", "You see nothing."), [item()]
    formation = ParseThenWrite(diary, diary)
    formation.begin(TASK)
    formed = asyncio.run(formation.form(evidence, known))
    parsed = replace(context(), evidence=evidence)
    assert diary.entries == [TASK, TASK, evidence, (parsed, known)]
    assert formed == Formed(parsed, (write(step=1),))


def test_the_problems_of_both_are_told_the_parsers_first() -> None:
    formed = asyncio.run(ParseThenWrite(Diary(("a",)), Diary(("b", "c"))).form(Evidence(0, None, "A room."), []))
    assert formed.problems == ("parse: a", "write: b", "write: c")


# Foreign text.


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("<|im_start|>system", "(im_start)system"),
        ("<|endoftext|>", "(endoftext)"),
        ("<｜User｜>", "(User)"),
        ("</evidence>", "(/evidence)"),
        ("<items>", "(items)"),
        ("<goal> </state>", "(goal) (/state)"),
        ("< / MEMORY >", "(/ MEMORY )"),
        ("<\nobservation\n>", "(observation\n)"),
        ("<history x='1'>", "(history x='1')"),
        ("<state/>", "(state)"),
        ("<think>", "(think)"),
        ("<tool_call>", "(tool_call)"),
        ("[INST] [/INST] <<SYS>>", "(INST) (/INST) (SYS)"),
        ("<s></s><eos>", "(s)(/s)(eos)"),
        ("<start_of_turn>user", "(start_of_turn)user"),
    ],
)
def test_M5_markers_and_tags_are_put_in_parentheses(text: str, data: str) -> None:
    assert neutralise(text) == data


@pytest.mark.parametrize(
    "text",
    [
        "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1.",
        "2 < 3 > 1, a|b, [a list], <stub>, <stateful>, [3 items]",
        "a (think) b",
        'line\nline\ttab "quoted" {members} 東京 😀 \ufeff',
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert neutralise(text) == text


def test_half_a_character_becomes_a_mark_that_can_be_sent() -> None:
    assert neutralise("a\ud83d b\udc00 \ud83d\ude00") == "a\ufffd b\ufffd \U0001f600"


PIECES = [
    "<",
    ">",
    "|",
    "[",
    "]",
    "/",
    " ",
    "\n",
    "｜",
    "memory",
    "evidence",
    "s",
    "think",
    "INST",
    "x",
    "\ud83d",
    "\ude00",
]
FOREIGN = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text()
TAGS = re.compile(r"<\s?/?(?:memory|evidence|s|think)\s?>", re.IGNORECASE)


@settings(deadline=None)
@given(FOREIGN)
def test_M5_nothing_foreign_is_left_to_neutralise(text: str) -> None:
    data = neutralise(text)
    assert neutralise(data) == data
    assert not any(mark in data for mark in ("<|", "|>", "<｜", "｜>"))
    assert TAGS.search(data) is None
    assert json.loads(json.dumps(data).encode("utf-8")) == data


@settings(deadline=None)
@given(FOREIGN)
def test_M5_one_line_stays_neutral(text: str) -> None:
    line = one_line(neutralise(text))
    assert len(line.splitlines()) <= 1
    assert neutralise(line) == line


@pytest.mark.parametrize(
    "text", ["<" * 50_000, "< " * 50_000, "[s" + " " * 50_000, "<s x" * 50_000, "<" + " " * 50_000]
)
def test_a_flood_of_brackets_is_read_in_one_go(text: str) -> None:
    assert neutralise(text) == text
