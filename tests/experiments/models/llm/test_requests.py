"""What is sent: every field of the configuration, each request once, and the key nowhere but in its header."""

from __future__ import annotations

import asyncio
import json
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import hydra
import pytest
from asking import ANSWER_TOKENS, CALL, ask, model
from faulty import Answer, Fault, Faulty, Received, raw, says, sends, status
from hydra.utils import instantiate
from omegaconf import OmegaConf

from experiments.actions import ACTION_SCHEMA
from experiments.models.llm.client import OpenAIModel
from experiments.models.llm.faults import ModelUnusable
from experiments.models.llm.ledger import Ledger
from experiments.settings import CONFIGS
from memarbiter.chat import Message, ModelCall, ModelReply, Purpose

SCHEMA = {"type": "object", "properties": {"value": {"enum": ["zq7"]}}, "required": ["value"]}
KEY = "sk-planted-0123456789"
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


def configured(name: str, url: str) -> tuple[OpenAIModel, dict[str, Any]]:
    """The model of a shipped configuration, asked at ``url``, and that configuration's values."""
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = hydra.compose("config", [f"model={name}", f"model.base_url={url}", "seed=43"])
    values = OmegaConf.to_container(config.model, resolve=True)
    assert isinstance(values, dict)
    made = instantiate(config.model)
    assert isinstance(made, OpenAIModel)
    return made, {str(key): value for key, value in values.items()}


@pytest.mark.parametrize(
    ("name", "length_field"),
    [("qwen3_6_27b", "max_tokens"), ("local_cpu", "max_tokens"), ("gpt_5_4", "max_completion_tokens")],
)
def test_L2_every_field_of_a_configuration_arrives(name: str, length_field: str) -> None:
    async def sent() -> tuple[list[Received], dict[str, Any]]:
        async with Faulty([says("look")]) as server:
            asked, values = configured(name, server.url)
            for purpose in PURPOSES:
                await asked.reply(replace(CALL, purpose=purpose))
        return server.requests, values

    requests, values = asyncio.run(sent())
    for purpose, received in zip(PURPOSES, requests, strict=True):
        body = dict(received.body)
        assert ("response_format" in body) is (purpose == "act" and values["structured_actions"])
        body.pop("response_format", None)
        assert body == {
            "model": values["name"],
            "messages": [{"role": message.role, "content": message.content} for message in CALL.messages],
            **values["parameters"],
            length_field: values["answer_tokens"][purpose],
        }
    assert {"temperature", "top_p", "n", "seed"} <= values["parameters"].keys()
    assert values["parameters"]["seed"] == 43


def test_L2_fields_that_the_client_library_does_not_know_and_nulls_travel_too() -> None:
    parameters = {"stop": None, "top_k": -1, "min_p": 0.0, "chat_template_kwargs": {"enable_thinking": False}, "x": [1]}
    (received,) = ask([says("look")], parameters=parameters).requests
    assert {name: received.body[name] for name in parameters} == parameters
    assert received.body.keys() == {"model", "messages", "max_tokens", *parameters}


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_L2_the_answer_s_limit_goes_by_purpose_into_the_field_that_the_server_knows(
    name: str, purpose: Purpose
) -> None:
    (received,) = ask([says("look")], replace(CALL, purpose=purpose), length_field=name).requests
    assert received.body[name] == ANSWER_TOKENS[purpose]
    assert len({"max_tokens", "max_completion_tokens"} & received.body.keys()) == 1


@pytest.mark.parametrize(
    ("schema", "structured_outputs", "is_sent"), [(SCHEMA, True, True), (SCHEMA, False, False), (None, True, False)]
)
def test_L4_a_schema_is_sent_where_there_is_one_and_the_model_takes_it(
    schema: dict[str, Any] | None, structured_outputs: bool, is_sent: bool
) -> None:
    call = replace(CALL, schema=schema, purpose="parse")
    (received,) = ask([says("{}")], call, structured_outputs=structured_outputs).requests
    assert ("response_format" in received.body) is is_sent
    if is_sent:
        asked = received.body["response_format"]
        assert asked["type"] == "json_schema"
        assert asked["json_schema"] == {"name": "parse", "strict": True, "schema": SCHEMA}


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize(("outputs", "actions"), [(True, True), (True, False), (False, True), (False, False)])
def test_L4_actions_follow_a_schema_where_that_is_wanted(outputs: bool, actions: bool, purpose: Purpose) -> None:
    call = replace(CALL, purpose=purpose)
    (received,) = ask([says("{}")], call, structured_outputs=outputs, structured_actions=actions).requests
    schema = {"type": "json_schema", "json_schema": {"name": "act", "strict": True, "schema": ACTION_SCHEMA}}
    assert received.body.get("response_format") == (schema if outputs and actions and purpose == "act" else None)


def test_what_is_stored_is_what_was_sent() -> None:
    exchange = ask([says("look")], replace(CALL, schema=SCHEMA), parameters={"temperature": 0, "stop": None})
    assert exchange.stored.request == exchange.requests[0].body


@pytest.mark.parametrize("number", [408, 409, 429, 500, 503])
def test_the_client_library_repeats_nothing_by_itself(number: int) -> None:
    exchange = ask([status(number), says("look")])
    assert len(exchange.requests) == 2
    assert len(exchange.reply.failures) == 1
    assert {received.headers["x-stainless-retry-count"] for received in exchange.requests} == {"0"}


def test_calls_of_several_episodes_share_no_more_connections_than_allowed() -> None:
    async def connections() -> int:
        peak = 0

        class Counting(Faulty):
            async def _connected(self, *streams: Any) -> None:
                nonlocal peak
                peak = max(peak, len(self._connections) + 1)
                await super()._connected(*streams)

        async with Counting([says("look")]) as server:
            asked = model(server.url, max_concurrency=3)
            await asyncio.gather(*(asked.reply(CALL) for _ in range(20)))
        assert len(server.requests) == 20
        return peak

    assert asyncio.run(connections()) <= 3


ECHOES: dict[str, Fault] = {
    "refusal": status(401, f"Incorrect API key provided: {KEY}."),
    "refusal that is cut within the key": status(401, "x" * 390 + f" {KEY}"),
    "page": raw(f"<html>Authorization: Bearer {KEY}</html>", "text/html", 403),
    "quota": status(402, f"{KEY} has no credit"),
    "failure": status(500, f"cannot forward {KEY}"),
    "unreadable": raw(f"Bearer {KEY}", "text/plain"),
    "error": sends({"error": {"message": f"bad key {KEY}"}}),
    "answer": says(f"your key is {KEY}"),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
def test_the_key_is_in_its_header_and_nowhere_else(
    echo: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANTED_KEY", f"{KEY}\n")
    book = Ledger("task-1", tmp_path)
    exchange = ask([echo], ledger=book, api_key_env="PLANTED_KEY", call_timeout_s=0.5, reuse=str(tmp_path / "kept"))
    book.finish()
    assert {received.headers["authorization"] for received in exchange.requests} == {f"Bearer {KEY}"}
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    told = "".join(traceback.format_exception(exchange.error)) if exchange.error else exchange.reply.text
    for text in [*written, told, repr(exchange.error), *capfd.readouterr()]:
        assert KEY[:9] not in text


def test_openai_without_a_key_is_told_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABSENT_KEY", raising=False)
    asked = model("https://api.openai.com/v1", api_key_env="ABSENT_KEY")
    with pytest.raises(ModelUnusable, match=r"needs a key.*model\.api_key_env"):
        asyncio.run(asked.reply(CALL))


def test_a_server_without_a_key_is_asked_with_none() -> None:
    (received,) = ask([says("look")], api_key_env=None).requests
    assert received.headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_server_on_this_machine_is_asked_without_a_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for exception in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(exception, raising=False)
    monkeypatch.setenv(name, "http://127.0.0.1:1")  # Nobody is there.
    assert ask([says("look")], call_timeout_s=5.0).reply.failures == ()


def twice(first: ModelCall, second: ModelCall, ledger: Ledger, **changes: Any) -> tuple[list[ModelReply], int]:
    """The replies to two calls, and how many requests they took."""

    async def asked() -> tuple[list[ModelReply], int]:
        async with Faulty([says("look"), says("help")]) as server:
            with ledger.opened():
                replies = [await model(server.url, **changes).reply(call) for call in (first, second)]
        return replies, len(server.requests)

    return asyncio.run(asked())


OTHER = replace(CALL, messages=[Message("user", "And now?")])


def test_reuse_is_off_by_default() -> None:
    replies, requests = twice(CALL, CALL, Ledger("task-1"))
    assert ([reply.text for reply in replies], requests) == (["look", "help"], 2)


def test_reuse_answers_an_identical_request_without_the_server(tmp_path: Path) -> None:
    book = Ledger("task-1")
    replies, requests = twice(CALL, replace(CALL, step=9), book, reuse=str(tmp_path))
    assert replies[0] == replies[1]
    assert requests == 1
    assert [call.reused for call in book.calls] == [False, True]
    assert book.calls[0].response == book.calls[1].response


@pytest.mark.parametrize("second", [OTHER, replace(CALL, purpose="parse"), replace(CALL, schema=SCHEMA)])
def test_reuse_answers_no_other_request(second: ModelCall, tmp_path: Path) -> None:
    replies, requests = twice(CALL, second, Ledger("task-1"), reuse=str(tmp_path))
    assert ([reply.text for reply in replies], requests) == (["look", "help"], 2)


@pytest.mark.parametrize("damaged", ["", "{", "[1]", "null"])
def test_reuse_asks_the_server_where_a_kept_reply_is_damaged(damaged: str, tmp_path: Path) -> None:
    assert ask([says("look")], reuse=str(tmp_path)).reply.text == "look"
    (kept,) = tmp_path.rglob("*.json")
    kept.write_text(damaged)
    again = ask([says("help")], reuse=str(tmp_path))
    assert (again.reply.text, len(again.requests)) == ("help", 1)
    assert json.loads(kept.read_text())["choices"][0]["message"]["content"] == "help"


@pytest.mark.parametrize("refusal", [status(400, "maximum context length"), status(401)])
def test_reuse_keeps_no_refusal(refusal: Answer, tmp_path: Path) -> None:
    ask([refusal], reuse=str(tmp_path))
    assert not list(tmp_path.rglob("*"))


def test_get_tells_what_the_server_knows_and_none_for_what_it_does_not() -> None:
    async def told() -> list[Any]:
        async with Faulty([says("look")]) as server:
            asked = model(server.url)
            return [await asked.get(path) for path in ("/models", "//version", "//props")]

    models, version, properties = asyncio.run(told())
    assert models["data"][0]["id"] == "toy"
    assert (version, properties) == (None, None)


def test_get_tells_nothing_of_a_server_that_is_not_there() -> None:
    async def gone() -> Any:
        async with Faulty([says("look")]) as server:
            url = server.url
        return await model(url).get("/models")

    assert asyncio.run(gone()) is None
