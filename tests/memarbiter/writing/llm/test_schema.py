"""How an answer is read from a model's text: case M1, and answers that were cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import both, entry, event, state, writing

from memarbiter.writing.llm.schema import (
    BothQuestion,
    StateAnswer,
    StateQuestion,
    WriteAnswer,
    WriteQuestion,
    checked,
    find,
    json_schema,
)

ONE = [entry()]
ANSWER = json.dumps({"writes": ONE})
TICKS = [entry(text="The note says ```json {} ``` and } ends.")]


@pytest.mark.parametrize(
    ("text", "writes", "remarks"),
    [
        (ANSWER, ONE, []),
        (f"```json\n{ANSWER}\n```\nThe desk is tidy, so I wrote it down.", ONE, []),
        (f"Sure, here it is: {ANSWER} I used {{subject}} and {{value}} {{}}.", ONE, []),
        (f"```json\n{json.dumps({'writes': TICKS})}\n```", TICKS, []),
        (
            '{"writes": [], "note": "C:\\ d \\\\ e \\u12 \\n"}',
            [],
            ["mended: a backslash that escapes nothing"],
        ),
        (f"{ANSWER}\n{writing(event('look'))}", ONE, ["further objects left out: 1"]),
    ],
    ids=["plain", "fenced", "prose and braces", "backticks in a string", "bad escape", "two objects"],
)
def test_M1_the_first_complete_object_counts(text: str, writes: list[Any], remarks: list[str]) -> None:
    found, told = find(text, ["writes"])
    assert found["writes"] == writes
    assert told == remarks


def test_M1_a_mended_text_keeps_all_its_characters() -> None:
    found, _ = find(r'{"writes": [], "note": "a\ b \\ c\\ d \" e \u00e9 \u12 \x"}', ["writes"])
    assert found["note"] == 'a\\ b \\ c\\ d " e é \\u12 \\x'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "no",
        "{",
        "}",
        '"writes": [',
        "[1, 2]",
        json.dumps(ONE),
        '{"other": 1}',
        '{"writes": ',
        "\\",
        "{}",
    ],
)
def test_M1_a_text_without_an_answer_gives_none(text: str) -> None:
    assert find(text, ["writes"]) == ({}, [])
    assert find(text, ["state"]) == ({}, [])


def test_an_object_before_the_right_one_is_passed_over() -> None:
    assert find(f'{{"plan": {{"first": {{}}}}}} {ANSWER}', ["writes"]) == ({"writes": ONE}, [])


def test_an_answer_inside_another_object_is_found() -> None:
    assert find(f'{{"answer": {ANSWER}}}', ["writes"]) == (
        {"writes": ONE},
        ["incomplete answer: 1 whole writes kept"],
    )


@pytest.mark.parametrize(
    "text", ["{" * 100_000, "}" * 100_000, '{"a":' * 100_000, "[" * 100_000, '{"writes":[' * 9_999]
)
def test_a_flood_of_braces_gives_nothing(text: str) -> None:
    assert find(text, ["writes"]) == ({}, [])
    assert find(text, ["state", "writes"]) == ({}, [])


def test_deep_nesting_in_one_write_keeps_the_writes_before_it() -> None:
    deep = f'{{"writes": [{json.dumps(ONE[0])}, {{"text": {"[" * 50_000}'
    assert find(deep, ["writes"])[0] == {"writes": ONE}


TWO = [entry(text='Braces {} and "quotes" and a list [{}, {}].', value="x\\y\n"), event("look")]


def cuts(text: str) -> Iterator[str]:
    return (text[:end] for end in range(len(text)))


def test_cut_anywhere_whole_writes_are_kept_and_none_is_invented() -> None:
    kept = [find(text, ["writes"])[0].get("writes", []) for text in cuts(json.dumps({"writes": TWO}))]
    assert all(writes == TWO[: len(writes)] for writes in kept)
    assert [len(writes) for writes in kept] == sorted(len(writes) for writes in kept)
    assert len(kept[-1]) == 2


def test_cut_anywhere_a_state_is_whole_or_absent() -> None:
    text = json.dumps({"state": state(), "writes": TWO})
    for part in cuts(text):
        found, remarks = find(part, ["state", "writes"])
        assert found in ({}, *({"state": state(), "writes": TWO[:count]} for count in range(3)))
        assert bool(found) == bool(remarks)
    assert find(text, ["state", "writes"]) == ({"state": state(), "writes": TWO}, [])


def test_a_cut_list_ends_where_it_ends() -> None:
    assert find(f'{{"writes": [{json.dumps(ONE[0])}], "others": [{{"x": 1}}, {{"y"', ["writes"])[0] == {"writes": ONE}


def test_a_cut_answer_with_a_bad_escape_keeps_its_whole_writes() -> None:
    bad = json.dumps(ONE[0]).replace("tidy.", "tidy\\ .")
    found, _ = find(f'{{"writes": [{bad}, {{"text": "a', ["writes"])
    assert [one["text"] for one in found["writes"]] == ["The desk 1 is tidy\\ ."]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from('{}[]":,\\ \nwritesau0`')) | st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    for names in (["writes"], ["state"], ["state", "writes"]):
        found, remarks = find(text, names)
        assert isinstance(found, dict)
        assert all(isinstance(remark, str) for remark in remarks)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=3), st.text(alphabet=st.characters(exclude_characters="{")))
def test_what_is_written_as_JSON_is_read_back(extra: dict[str, Any], prose: str) -> None:
    answer = {**extra, "writes": []}
    assert find(f"{prose}{json.dumps(answer)}{prose}", ["writes"])[0] == answer


@settings(deadline=None)
@given(JSON)
def test_any_value_is_a_record_or_has_a_reason_why_not(value: Any) -> None:
    for shape in (WriteAnswer, StateAnswer):
        record, wrong = checked(shape, value)
        assert (record is None) == bool(wrong)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"text": None}, "text: "),
        ({"bank": "diary"}, "bank: "),
        ({"entities": "desk 1"}, "entities: "),
        ({"scope": [1]}, "scope.0: "),
        ({"status": "done"}, "status: "),
        ({"item": 5}, "item: "),
    ],
)
def test_a_malformed_write_is_told_by_its_field(changes: dict[str, Any], wrong: str) -> None:
    record, told = checked(WriteAnswer, entry(**changes))
    assert record is None
    assert told.startswith(wrong)


def test_fields_that_nobody_asked_for_are_left_out() -> None:
    record, wrong = checked(WriteAnswer, entry(confidence=0.9))
    assert record == WriteAnswer(**entry())
    assert wrong == ""


#: What OpenAI's strict mode, vLLM's grammars and llama.cpp's grammars all understand.
PORTABLE = {"$defs", "$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    yield schema
    inner = [*schema.get("$defs", {}).values(), *schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    for part in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from parts(part)


@pytest.mark.parametrize("shape", [StateQuestion, WriteQuestion, BothQuestion])
def test_the_schema_is_strict_at_every_level(shape: Any) -> None:
    every = list(parts(json_schema(shape)))
    objects = [part for part in every if part.get("type") == "object"]
    assert len(objects) >= 2
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
    for part in every:
        assert set(part) <= PORTABLE
        assert "$ref" not in part or set(part) == {"$ref"}


def test_the_scripted_answers_have_the_shape_that_is_asked_for() -> None:
    assert BothQuestion.model_validate_json(both(*TWO)).writes[1].bank == "episodic"
