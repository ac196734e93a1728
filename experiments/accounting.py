"""What model calls cost, added up by purpose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from experiments.records import CallRecord, MemoryCall, ModelUse, Usage


def usage(acts: Iterable[CallRecord], memory_calls: Iterable[MemoryCall]) -> dict[str, Usage]:
    """The usage of an episode, by purpose. Failed attempts count wherever they led to an answer in the end."""
    total: dict[str, Usage] = {}
    for purpose, call in (*(("act", call) for call in acts), *((call.purpose, call) for call in memory_calls)):
        total[purpose] = added(total.get(purpose, Usage()), _one(call))
    return total


def merged(one: Mapping[str, Usage], other: Mapping[str, Usage]) -> dict[str, Usage]:
    """The usage of two parts together."""
    return {
        purpose: added(one.get(purpose, Usage()), other.get(purpose, Usage())) for purpose in one.keys() | other.keys()
    }


def added(one: Usage, other: Usage) -> Usage:
    """The sum; a count that one side lacks is lacking in the sum."""
    outcomes = {
        name: one.outcomes.get(name, 0) + other.outcomes.get(name, 0)
        for name in sorted(one.outcomes.keys() | other.outcomes.keys())
    }
    return Usage(
        calls=one.calls + other.calls,
        prompt_tokens=_sum(one.prompt_tokens, other.prompt_tokens),
        completion_tokens=_sum(one.completion_tokens, other.completion_tokens),
        own_prompt_tokens=one.own_prompt_tokens + other.own_prompt_tokens,
        failed_attempts=one.failed_attempts + other.failed_attempts,
        outcomes=outcomes,
    )


def _one(call: ModelUse) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        own_prompt_tokens=call.own_prompt_tokens or 0,
        failed_attempts=len(call.failures),
        outcomes={call.outcome: 1},
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
