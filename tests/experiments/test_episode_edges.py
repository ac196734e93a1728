"""Cases A1, A4, E6: limits and counts that run over several steps or episodes."""

from __future__ import annotations

import asyncio

import pytest
from test_episode import run
from toys import Corridor, ListMemory, Script

from experiments.agent import decide, render
from experiments.episode import Limits
from memarbiter.chat import ModelCall
from memarbiter.protocol import Transition


def test_A4_unparsable_replies_are_bounded_over_the_whole_episode() -> None:
    # Every step needs two replies: no single step reaches the limit, the episode does.
    model = Script(lambda call: "hm" if call.attempt == 1 else "Action: look")
    result = run(model, limits=Limits(unparsable=3)).result
    assert (result.end_reason, result.steps, result.unparsable_replies) == ("unparsable_limit", 2, 3)
    assert result.model_calls == len(model.calls) == 5
    assert len(result.unanswered_calls) == 1


def test_A4_the_last_allowed_reply_may_still_be_a_command() -> None:
    model = Script(lambda call: "hm" if call.attempt < 3 else "Action: go to room 1")
    result = run(model, rooms=1, limits=Limits(unparsable=3)).result
    assert (result.won, result.model_calls, result.unparsable_replies) == (True, 3, 2)


class Keeping(ListMemory):
    """A memory whose transitions can be looked at."""

    def __init__(self) -> None:
        self.seen: list[Transition] = []

    async def record(self, step: Transition) -> None:
        self.seen.append(step)
        await super().record(step)


def test_A1_what_the_model_made_up_reaches_neither_game_nor_memory_nor_the_next_prompt() -> None:
    made_up = "Thought: on.\nAction: look\nObservation: a zebra 9 stands here.\nAction: go to room 1"
    model, memory = Script(lambda call: made_up), Keeping()
    episode = run(model, memory=memory, limits=Limits(steps=3))
    assert [step.action for step in memory.seen] == ["look"] * 3
    assert [step.command for step in episode.steps] == ["look"] * 3
    assert not [call for call in model.calls if "zebra" in str(call.messages)]
    assert episode.result.extra_actions_dropped == 3
    assert episode.steps[0].calls[0].raw == made_up


def test_A1_the_record_of_a_call_counts_what_was_dropped_from_it() -> None:
    model = Script(lambda call: "Action: look\nAction: go to room 1")
    decision = asyncio.run(decide(model, render("g", "o", ""), "corridor-1", 1, tries=1))
    assert decision.dropped == 1
    assert decision.calls[0].extra_actions == 1


@pytest.mark.parametrize("ending", ["\ud800", "\x00", "\u2028", "\U0001f9ea"])
def test_odd_characters_of_a_reply_can_be_stored(ending: str) -> None:
    episode = run(Script(lambda call: f"Thought: {ending}\nAction: look"), limits=Limits(steps=1))
    assert episode.steps[0].command == "look"
    assert episode.steps[0].model_dump_json().encode("utf-8")


def test_T5_an_observation_larger_than_the_budget_is_shown_whole_outside_the_memory() -> None:
    model = Script(lambda call: "Action: look")
    env = Corridor(marker="zebra " * 500)
    episode = run(model, rooms=1, env=env, budget=20, limits=Limits(steps=1))
    assert episode.steps[0].memory.tokens <= 20
    before, memory, after = split(model.calls[0])
    assert "Task: reach room 1" in before
    assert memory.count("zebra") <= 20
    assert after.count("zebra") == 500


def split(call: ModelCall) -> tuple[str, str, str]:
    """The user message before, in and after the memory block."""
    before, _, rest = call.messages[1].content.partition("<memory>")
    memory, _, after = rest.partition("</memory>")
    return before, memory, after
