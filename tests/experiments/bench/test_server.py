"""The simulated server of the measures: it answers when it should, any number at once, and with what fits."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest
from pydantic import BaseModel

from experiments.agent import render
from experiments.bench.server import MODEL, SimulatedServer, smallest
from experiments.models.llm.client import OpenAIModel
from experiments.models.llm.probe import probe
from memarbiter.chat import ModelCall, ModelReply
from memarbiter.writing.llm.schema import BothQuestion, StateQuestion, WriteQuestion, json_schema

LATENCY_S = 0.3
ROOM = "You are in the middle of a room. Looking quickly around you, you see a desk 1, and a shelf 1."


def client(url: str) -> OpenAIModel:
    return OpenAIModel(
        name=MODEL,
        base_url=url,
        api_key_env=None,
        window=4096,
        parameters={},
        length_field="max_tokens",
        answer_tokens={"act": 100, "probe": 100},
        structured_outputs=True,
        structured_actions=False,
        attempt_timeout_s=30,
        call_timeout_s=30,
        probe_timeout_s=30,
        max_concurrency=50,
    )


def test_an_answer_comes_after_the_latency_and_is_the_reader_s() -> None:
    async def ask() -> tuple[ModelReply, float]:
        async with SimulatedServer(LATENCY_S) as server:
            start = monotonic()
            reply = await client(server.url).reply(ModelCall(render("put a mug in shelf.", ROOM, ""), "t", 1))
            return reply, monotonic() - start

    reply, seconds = asyncio.run(ask())
    assert reply.text.endswith("Action: go to desk 1")
    assert (reply.prompt_tokens or 0) > 300
    assert seconds >= LATENCY_S


def test_any_number_is_answered_at_once() -> None:
    async def ask() -> SimulatedServer:
        async with SimulatedServer(LATENCY_S) as server:
            model, call = client(server.url), ModelCall(render("put a mug in shelf.", ROOM, ""), "t", 1)
            await asyncio.gather(*(model.reply(call) for _ in range(40)))
            return server

    load = asyncio.run(ask()).load
    assert (load.calls, load.in_flight, load.most_in_flight) == (40, 0, 40)


def test_the_probe_finds_what_it_needs() -> None:
    async def ask() -> dict[str, object]:
        async with SimulatedServer(0.0) as server:
            return await probe(client(server.url))

    facts = asyncio.run(ask())
    assert (facts["version"], facts["structured_outputs"]) == ("simulated", "applied")


@pytest.mark.parametrize("shape", [StateQuestion, WriteQuestion, BothQuestion])
def test_the_smallest_answer_fits_its_schema(shape: type[BaseModel]) -> None:
    schema = json_schema(shape)
    assert shape.model_validate(smallest(schema, schema))
