"""The plan of a reproduction: counted in a rehearsal, and multiplied with a stated rate."""

from __future__ import annotations

import asyncio
from pathlib import Path

import hydra
import pytest
from hydra.utils import instantiate

from experiments.models.llm.ledger import Ledger
from experiments.plan import Amount, Rate, row, table
from experiments.rehearsal import Asked, rehearsed
from experiments.settings import CONFIGS, Settings
from memarbiter.protocol import Task, Transition

ROOM = "You are in the middle of a room. Looking quickly around you, you see a desk 1, a shelf 2, and a shelf 1."


def settings(*overrides: str) -> Settings:
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return Settings.of(hydra.compose("config", list(overrides)))


@pytest.mark.parametrize(
    ("overrides", "purposes"),
    [
        (["model=qwen3_6_27b"], ["parse", "write"]),
        (["model=qwen3_6_27b", "formation=merged"], ["parse_and_write"]),
        (["model=qwen3_6_27b", "parser=rules"], ["write"]),
        (["model=reader"], []),
    ],
)
def test_a_rehearsal_counts_what_the_models_would_be_asked(
    overrides: list[str], purposes: list[str], tmp_path: Path
) -> None:
    stand_in = rehearsed(settings(*overrides), tmp_path)
    memory = instantiate(stand_in.method.memory)

    async def play() -> Ledger:
        with Ledger("t").opened() as book:
            memory.begin(Task("t", "put a mug in shelf.", ROOM))
            await memory.present(500)
            await memory.record(
                Transition(1, "go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1.", False)
            )
            await memory.present(500)
            return book

    calls = asyncio.run(play()).calls
    assert [call.purpose for call in calls] == 2 * purposes
    assert [call.step for call in calls] == [0] * len(purposes) + [1] * len(purposes)
    assert all(call.own_prompt_tokens > 200 and (call.completion_tokens or 0) > 20 for call in calls)


def test_a_rehearsal_forms_the_memory_as_the_rules_do(tmp_path: Path) -> None:
    made = [settings("model=reader"), rehearsed(settings("model=qwen3_6_27b"), tmp_path)]

    async def shown(one: Settings) -> str:
        memory = instantiate(one.method.memory)
        memory.begin(Task("t", "put a mug in shelf.", ROOM))
        return str((await memory.present(500)).text)

    assert asyncio.run(shown(made[0])) == asyncio.run(shown(made[1]))


def test_what_is_likely_and_what_is_the_most() -> None:
    planned = settings(
        "model=qwen3_6_27b",
        "model.rate.prompt_tokens_per_s=100",
        "model.rate.completion_tokens_per_s=10",
        "model.rate.dollars_per_hour=36",
        "model.answer_tokens.act=100",
        "model.answer_tokens.parse=200",
        "agent.step_limit=50",
    )
    calls = [Asked("act", 1000, 20), Asked("act", 2000, 40), Asked("parse", 500, 60), Asked("parse", 700, 80)]
    told = row(planned, calls, rehearsed_tasks=1, tasks=10)
    assert told.calls_per_step == {"act": 1.0, "parse": 1.0}
    assert (told.likely.calls, told.likely.prompt, told.likely.completion) == (40, 42_000, 2000)
    seconds = 42_000 / 100 + 2000 / 10
    assert told.likely.hours == pytest.approx(seconds / 3600)
    assert told.likely.dollars == pytest.approx(seconds / 100)
    assert (told.most.calls, told.most.prompt) == (1000, 500 * 2000 + 500 * 700)
    assert told.most.completion == 500 * 100 + 500 * 200


def test_a_price_for_tokens_and_a_time_for_calls() -> None:
    rate = Rate(dollars_per_million_prompt=2.0, dollars_per_million_completion=10.0, seconds_per_call=6.0)
    amount = Amount(calls=1200, prompt=3e6, completion=1e5)
    hours = rate.hours(amount, in_flight=4)
    assert hours == pytest.approx(0.5)
    assert rate.dollars(amount, hours) == pytest.approx(7.0)


def test_what_is_not_stated_is_not_estimated() -> None:
    amount = Amount(calls=1, prompt=1, completion=1)
    assert Rate().hours(amount, 1) is None
    assert Rate().dollars(amount, None) is None
    total = Amount()
    total.add(Amount(1, 1, 1, None, None))
    assert (total.hours, total.dollars) == (None, None)


def test_the_memory_s_calls_have_the_rate_of_its_own_model() -> None:
    told = row(settings("model=gpt_5_4"), [Asked("act", 10**6, 0), Asked("write", 10**6, 0)], 1, 1)
    qwen = Rate.model_validate(settings("model=qwen3_6_27b").model["rate"])
    served = 10**6 / (qwen.prompt_tokens_per_s or 0) / 3600 * (qwen.dollars_per_hour or 0)
    assert told.likely.dollars == pytest.approx(2.5 + served)
    assert "gpt" not in str(table([told]).columns[0]._cells[0])
