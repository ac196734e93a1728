"""Model calls, added up by purpose."""

from __future__ import annotations

from typing import Any

from experiments.accounting import merged, usage
from experiments.records import CallRecord, MemoryCall, Usage


def act(**changes: Any) -> CallRecord:
    return CallRecord(raw="", command="look", thought="", notes=[], **changes)


def test_calls_are_added_up_by_purpose() -> None:
    acts = [
        act(prompt_tokens=10, completion_tokens=2, own_prompt_tokens=9, failures=["timeout", "rate limit"]),
        act(prompt_tokens=20, completion_tokens=3, own_prompt_tokens=18, outcome="refused"),
    ]
    memory = [MemoryCall(purpose="write", step=0, attempt=1, prompt_tokens=5, completion_tokens=5, own_prompt_tokens=4)]
    assert usage(acts, memory) == {
        "act": Usage(
            calls=2,
            prompt_tokens=30,
            completion_tokens=5,
            own_prompt_tokens=27,
            failed_attempts=2,
            outcomes={"answered": 1, "refused": 1},
        ),
        "write": Usage(calls=1, prompt_tokens=5, completion_tokens=5, own_prompt_tokens=4, outcomes={"answered": 1}),
    }


def test_L9_a_count_that_is_missing_is_missing_in_the_sum() -> None:
    total = usage([act(prompt_tokens=10), act(prompt_tokens=None)], [])["act"]
    assert total.prompt_tokens is None
    assert total.calls == 2


def test_parts_are_merged() -> None:
    one = {"act": Usage(calls=1, prompt_tokens=2, completion_tokens=3, outcomes={"answered": 1})}
    other = {**one, "parse": Usage(calls=4, prompt_tokens=None, completion_tokens=0, outcomes={"empty": 4})}
    both = merged(one, other)
    assert both["act"] == Usage(calls=2, prompt_tokens=4, completion_tokens=6, outcomes={"answered": 2})
    assert both["parse"] == other["parse"]
