"""Every kind of answer has a name, and no thought gets into the text."""

from __future__ import annotations

from typing import Any

import pytest
from asking import CALL, ask
from faulty import USAGE, completion, says, sends
from hypothesis import given
from hypothesis import strategies as st

from experiments.actions import parse_reply
from experiments.models.llm import answer
from experiments.models.llm.ledger import StoredCall, stored
from experiments.thoughts import split
from memarbiter.chat import Outcome


@pytest.mark.parametrize(
    ("message", "text", "thinking", "outcome"),
    [
        pytest.param({"content": "look"}, "look", "", Outcome.ANSWERED, id="clean"),
        pytest.param({"content": "<think>hm</think>look"}, "look", "hm", Outcome.ANSWERED, id="tags in the content"),
        pytest.param({"content": "hm</think>look"}, "look", "hm", Outcome.ANSWERED, id="only a closing tag"),
        pytest.param(
            {"content": "look\n<think>hm"}, "look", "hm", Outcome.ANSWERED, id="unclosed tag behind an answer"
        ),
        pytest.param({"content": "<think>go to desk 1"}, "", "go to desk 1", Outcome.THOUGHT_ONLY, id="unclosed tag"),
        pytest.param(
            {"content": None, "reasoning_content": "hm"}, "", "hm", Outcome.THOUGHT_ONLY, id="null with the old field"
        ),
        pytest.param(
            {"content": None, "reasoning": "hm"}, "", "hm", Outcome.THOUGHT_ONLY, id="null with the new field"
        ),
        pytest.param({"content": "look", "reasoning": "hm"}, "look", "hm", Outcome.ANSWERED, id="answer and field"),
        pytest.param(
            {"content": None, "reasoning_content": "", "reasoning": None}, "", "", Outcome.EMPTY, id="all empty"
        ),
        pytest.param({"content": " \n"}, "", "", Outcome.EMPTY, id="blanks"),
        pytest.param({"content": "<think>\n\n</think>\n\n"}, "", "", Outcome.EMPTY, id="an empty thought"),
        pytest.param({"content": None, "refusal": "I cannot."}, "", "", Outcome.REFUSED, id="refusal"),
        pytest.param({"content": "", "finish": "content_filter"}, "", "", Outcome.REFUSED, id="content filter"),
        pytest.param({"content": "go to", "finish": "length"}, "go to", "", Outcome.CUT, id="length stop"),
        pytest.param({"content": None, "finish": "length"}, "", "", Outcome.EMPTY, id="null with a length stop"),
        pytest.param(
            {"content": [{"type": "text", "text": "lo"}, {"type": "image"}, 3, {"type": "text", "text": "ok"}]},
            "look",
            "",
            Outcome.ANSWERED,
            id="parts",
        ),
        pytest.param({"content": {"text": "look"}}, "", "", Outcome.EMPTY, id="an object as content"),
    ],
)
def test_L3_thought_and_answer_are_told_apart(
    message: dict[str, Any], text: str, thinking: str, outcome: Outcome
) -> None:
    exchange = ask([says(**message)])
    assert (exchange.reply.text.strip(), exchange.reply.thinking.strip()) == (text, thinking)
    assert exchange.reply.outcome is outcome
    assert exchange.stored.outcome == outcome.value
    assert (exchange.reply.prompt_tokens, exchange.reply.completion_tokens) == (7, 3)
    assert len(exchange.requests) == 1


@pytest.mark.parametrize("choices", [[], None, {}, [None], ["look"]], ids=repr)
def test_L9_no_choice_is_an_outcome(choices: Any) -> None:
    assert ask([sends({"choices": choices, "usage": USAGE})]).reply.outcome is Outcome.NO_CHOICE


def test_L9_a_null_message_is_an_empty_answer() -> None:
    assert ask([sends({"choices": [{"message": None, "finish_reason": "stop"}]})]).reply.outcome is Outcome.EMPTY


@pytest.mark.parametrize("usage", [None, {}, "many", {"prompt_tokens": None, "completion_tokens": "3"}], ids=repr)
def test_L9_counts_that_are_missing_are_none_and_not_zero(usage: Any) -> None:
    exchange = ask([sends({**completion("look"), "usage": usage})])
    assert (exchange.reply.prompt_tokens, exchange.reply.completion_tokens) == (None, None)
    assert (exchange.stored.prompt_tokens, exchange.stored.completion_tokens) == (None, None)


def test_L9_a_completion_without_usage_block() -> None:
    body = completion("look")
    del body["usage"]
    reply = ask([sends(body)]).reply
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("look", None, None)


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_L6_a_reply_that_stops_inside_the_thought_is_no_answer(finish: str) -> None:
    exchange = ask([says("<think>The desk may hold it.\nObservation", finish=finish)])
    assert exchange.reply.outcome is Outcome.THOUGHT_ONLY
    assert exchange.reply.text == ""
    assert exchange.stored.response
    assert exchange.stored.response["choices"][0]["finish_reason"] == finish


def test_L6_a_stop_word_within_a_word_or_sentence_cuts_nothing() -> None:
    text = "Thought: my PostObservation: notes say so.\nAction: go to desk 1"
    reply = ask([says(text)]).reply
    assert reply.text == text
    assert parse_reply(reply.text).command == "go to desk 1"


def test_L6_a_server_that_ignores_the_stop_list_changes_no_command() -> None:
    reply = ask([says("Action: go to desk 1\nObservation: You see a mug 1.\nAction: take mug 1 from desk 1")]).reply
    assert parse_reply(reply.text).command == "go to desk 1"


def test_half_a_character_is_an_answer_that_can_be_stored() -> None:
    exchange = ask([says("look \ud83d around")])
    assert exchange.reply.text == "look ? around"
    assert StoredCall.model_validate_json(exchange.stored.model_dump_json()) == exchange.stored


@pytest.mark.parametrize(
    ("text", "thoughts", "rest"),
    [
        ("<think>a <think>b</think> c</think> look", ["a <think>b", " c"], "look"),
        ("<think>a</think>b</think>look", ["a", "b"], "look"),
        ("a</think> b <THINK>c</Think> look", ["c", "a"], "b \n look"),
        ("a</think>b</think>look", ["a</think>b"], "look"),
        ("look", [], "look"),
        ("", [], ""),
    ],
)
def test_L3_tags_that_do_not_pair(text: str, thoughts: list[str], rest: str) -> None:
    found, left = split(text)
    assert (sorted(thought.strip() for thought in found), left.strip()) == (
        sorted(thought.strip() for thought in thoughts),
        rest,
    )


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", "a", "\n"])).map("".join))
def test_L3_no_tag_is_left_in_an_answer(text: str) -> None:
    _, rest = split(text)
    assert "</think>" not in rest
    assert "<think>" not in rest


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    )


def completions() -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have the names of a completion's fields, and anything behind them."""
    message = st.fixed_dictionaries(
        {}, optional={name: anything() for name in ("content", "reasoning", "reasoning_content", "refusal")}
    )
    choice = st.fixed_dictionaries({}, optional={"message": message | anything(), "finish_reason": anything()})
    usage = st.fixed_dictionaries({}, optional={"prompt_tokens": anything(), "completion_tokens": anything()})
    return st.fixed_dictionaries(
        {}, optional={"choices": st.lists(choice | anything(), max_size=2) | anything(), "usage": usage | anything()}
    )


@given(completions() | st.dictionaries(st.text(max_size=8), anything(), max_size=4))
def test_L9_no_json_object_is_too_odd_to_be_read_and_stored(body: dict[str, Any]) -> None:
    reply = answer.read(body)
    assert bool(reply.text) == (reply.outcome in (Outcome.ANSWERED, Outcome.CUT))
    assert all(count is None or type(count) is int for count in (reply.prompt_tokens, reply.completion_tokens))
    assert stored(CALL, reply, {}, body, own_prompt_tokens=0, seconds=0.0).model_dump_json()
