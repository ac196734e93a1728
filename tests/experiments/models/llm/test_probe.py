"""What is found out about a server before the first game, and what stops a run there (cases L2, L4, L7, T4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import hydra
import pytest
from asking import model
from faulty import Fault, Faulty, Received, completion, says, sends, status

from experiments.models.llm.client import OpenAIModel
from experiments.models.llm.faults import ModelUnusable
from experiments.models.llm.probe import Facts, check_fit, probe, warnings
from experiments.settings import CONFIGS, Settings


def follows(received: Received) -> Fault:
    """A server that applies JSON schemas."""
    return says('{"value": "zq7"}' if "response_format" in received.body else "Thought: no.\nAction: look")


def probed(script: Callable[[Received], Fault], **changes: Any) -> tuple[Facts, OpenAIModel, list[Received]]:
    async def run() -> tuple[Facts, OpenAIModel, list[Received]]:
        async with Faulty(script) as server:
            asked = model(server.url, **changes)
            return await probe(asked), asked, server.requests

    return asyncio.run(run())


def test_what_a_server_is_goes_into_the_facts() -> None:
    facts, _, requests = probed(follows)
    assert facts == {
        "model": "toy",
        "serves": "toy",
        "version": None,
        "window": None,
        "structured_outputs": "applied",
        "frame_tokens": {"own": facts["frame_tokens"]["own"], "server": 7},
        "thinks": False,
    }
    assert facts["frame_tokens"]["own"] > 300
    assert len(requests) == 2


@pytest.mark.parametrize(
    "free",
    [says("Blue."), says('{"value": "blue"}'), says('```json\n{"value": "zq7"'), says(None), says(None, refusal="no")],
)
def test_L4_a_schema_that_is_silently_ignored_stops_the_run(free: Fault) -> None:
    with pytest.raises(ModelUnusable, match="structured_outputs=false"):
        probed(lambda _: free)


def test_L4_without_schemas_nothing_is_asked_of_them() -> None:
    facts, _, requests = probed(lambda _: says("Blue."), structured_outputs=False)
    assert facts["structured_outputs"] == "off"
    assert not any("response_format" in received.body for received in requests)


def test_a_server_without_the_model_names_those_it_has() -> None:
    with pytest.raises(ModelUnusable, match=r"no model other; it has: toy"):
        probed(follows, name="other")


def test_a_server_that_is_not_there_is_told_soon() -> None:
    with pytest.raises(ModelUnusable, match="base_url"):
        asyncio.run(probe(model("http://127.0.0.1:9/v1", probe_timeout_s=0.5)))


@pytest.mark.parametrize("identity", [["toy"], {}, None, 7])
def test_a_list_of_models_with_odd_entries_is_read_for_what_it_holds(identity: Any) -> None:
    async def run() -> Facts:
        async with Faulty(
            follows, {"data": [{"id": identity}, 3, {"id": "toy", "root": "organisation/toy"}]}
        ) as server:
            return await probe(model(server.url))

    assert asyncio.run(run())["serves"] == "organisation/toy"


def test_a_key_that_the_server_repeats_about_itself_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> Facts:
        async with Faulty(follows, {"data": [{"id": "toy", "root": "for Bearer planted-key-1"}]}) as server:
            return await probe(model(server.url, api_key_env="PLANTED_KEY"))

    monkeypatch.setenv("PLANTED_KEY", "planted-key-1")
    assert asyncio.run(run())["serves"] == "for Bearer (secret)"


@pytest.mark.parametrize(
    ("address", "changes"),
    [
        ("http://user:planted-key-1@127.0.0.1:9/v1", {}),
        ("http://127.0.0.1:9/v1?key=planted-key-1", {}),
        ("http://127.0.0.1:9/v1", {"api_key_env": "planted-key-1"}),
        ("http://127.0.0.1:9/v1", {"parameters": {"extra_headers": {"Authorization": "planted-key-1"}}}),
    ],
)
def test_a_key_in_a_setting_is_refused_and_not_repeated(address: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ModelUnusable) as refused:
        model(address, **changes).check_address()
    assert "planted" not in str(refused.value)
    assert "api_key_env" in str(refused.value)


def test_L9_a_field_that_the_model_refuses_is_found_before_the_first_game() -> None:
    refusal = status(400, "Unsupported value: 'temperature' does not support 0 with this model.", param="temperature")
    with pytest.raises(ModelUnusable, match="temperature"):
        probed(lambda _: refusal)


def test_L2_thoughts_at_temperature_0_are_warned_of() -> None:
    def thinks(received: Received) -> Fault:
        told = completion('{"value": "zq7"}', reasoning_content="Hmm.")
        return sends(told)

    facts, asked, _ = probed(thinks)
    assert any("enable_thinking=false" in warning for warning in warnings(asked, facts))
    facts, asked, _ = probed(thinks, parameters={"temperature": 0.6})
    assert not any("enable_thinking" in warning for warning in warnings(asked, facts))


def test_T4_a_large_gap_between_the_counts_is_warned_of() -> None:
    def counts(received: Received) -> Fault:
        return sends({**completion('{"value": "zq7"}'), "usage": {"prompt_tokens": 1000, "completion_tokens": 1}})

    facts, asked, _ = probed(counts)
    (warning,) = warnings(asked, facts)
    assert f"{1000 / facts['frame_tokens']['own']:.2f} times" in warning


def settings(*overrides: str) -> Settings:
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return Settings.of(hydra.compose("config", ["model=qwen3_6_27b", *overrides]))


def facts(window: int | None = 4096, gap: float = 1.0) -> Facts:
    return {"window": window, "frame_tokens": {"own": 1000, "server": round(1000 * gap)}}


def fits(role: str, told: Facts, *overrides: str) -> None:
    made = settings(*overrides)
    answers = made.model["answer_tokens"]
    check_fit(made, role, model("http://here/v1", window=made.model["window"], answer_tokens=answers), told)


@pytest.mark.parametrize("budget", [0, 500, 750])
def test_L7_the_paper_s_settings_fit_the_paper_s_window(budget: int) -> None:
    for role in ("act", "memory"):
        fits(role, facts(gap=1.1), f"budget={budget}")
    fits("memory", facts(gap=1.1), f"budget={budget}", "formation=merged")


@pytest.mark.parametrize(
    ("role", "told", "override", "named"),
    [
        ("act", facts(), "budget=3500", "a step's prompt"),
        ("act", facts(gap=3.0), "budget=750", "a step's prompt"),
        ("act", facts(), "model.answer_tokens.act=3000", "a step's prompt"),
        ("memory", facts(), "writer.input_tokens=3100", "a question of the writer"),
        ("memory", facts(), "parser.input_tokens=3900", "a question of the parser"),
        ("act", facts(window=2048), "budget=500", "model.window=2048"),
    ],
)
def test_L7_what_does_not_fit_is_told_before_the_first_game(role: str, told: Facts, override: str, named: str) -> None:
    with pytest.raises(ModelUnusable, match=named):
        fits(role, told, override)


def test_L7_one_token_too_many_is_too_many() -> None:
    made = settings("budget=500")
    asked = model("http://here/v1", window=4096, answer_tokens=made.model["answer_tokens"])
    lowest = next(window for window in range(500, 4096) if _passes(made, asked, window))
    with pytest.raises(ModelUnusable):
        _check(made, asked, lowest - 1)
    frame = lowest - 500 - made.agent.observation_tokens - made.model["answer_tokens"]["act"]
    assert frame > 300


def _check(made: Settings, asked: OpenAIModel, window: int) -> None:
    asked.window = window
    check_fit(made, "act", asked, facts(window=None))


def _passes(made: Settings, asked: OpenAIModel, window: int) -> bool:
    try:
        _check(made, asked, window)
    except ModelUnusable:
        return False
    return True
