"""One question to a faulty server, and all that came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from faulty import Fault, Faulty, Received

from experiments.models.llm.client import OpenAIModel
from experiments.models.llm.faults import ModelError
from experiments.models.llm.ledger import Ledger, StoredCall
from memarbiter.chat import Message, ModelCall, ModelReply

ANSWER_TOKENS = {"act": 11, "parse": 12, "write": 13, "parse_and_write": 14, "probe": 15}
CALL = ModelCall([Message("system", "You are a household robot."), Message("user", "What now?")], "task-1", step=4)


def model(url: str, **changes: Any) -> OpenAIModel:
    """A client with short time limits."""
    settings = {
        "name": "toy",
        "api_key_env": None,
        "window": 4096,
        "parameters": {"temperature": 0},
        "length_field": "max_tokens",
        "answer_tokens": ANSWER_TOKENS,
        "structured_outputs": True,
        "structured_actions": False,
        "attempt_timeout_s": 5.0,
        "call_timeout_s": 20.0,
        "probe_timeout_s": 5.0,
        "max_concurrency": 4,
    }
    return OpenAIModel(base_url=url, **{**settings, **changes})


@dataclass(frozen=True)
class Exchange:
    """What became of one call: a reply or an error, the requests that the server got, and what the ledger keeps."""

    answered: ModelReply | None
    error: ModelError | None
    requests: list[Received]
    stored: StoredCall

    @property
    def reply(self) -> ModelReply:
        assert self.answered, f"no reply, but {self.error!r}"
        return self.answered

    @property
    def waits(self) -> list[float]:
        """Seconds between one request and the next."""
        times = [received.at for received in self.requests]
        return [after - before for before, after in pairwise(times)]


def ask(
    script: Sequence[Fault] | Callable[[Received], Fault],
    call: ModelCall = CALL,
    ledger: Ledger | None = None,
    **changes: Any,
) -> Exchange:
    """Ask a server that follows this script, with a client that is changed so."""

    async def exchange() -> Exchange:
        answered, error, book = None, None, ledger or Ledger("task-1")
        async with Faulty(script) as server:
            with book.opened():
                try:
                    answered = await model(server.url, **changes).reply(call)
                except ModelError as raised:
                    error = raised
        return Exchange(answered, error, server.requests, book.calls[-1])

    return asyncio.run(exchange())
