"""An OpenAI-compatible server that answers as a test's script says, faults included.

It runs in the test's own event loop on a free port of the loopback interface, and speaks plain HTTP/1.1 on bare
sockets, so that it can do what no well-behaved server does: say nothing, stop half-way, or never come to an end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
MODELS = {"object": "list", "data": [{"id": "toy", "object": "model"}]}

_DRIP_S = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: status, body as it is sent, further headers."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer: the connection stays open until the client closes it."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The head of a whole answer and the first bytes of its body; then the connection is closed."""

    after_bytes: int


@dataclass(frozen=True, slots=True)
class Drips:
    """An answer whose body arrives one blank at a time and never ends."""


Fault = Answer | Hangs | Cuts | Drips


class Received(NamedTuple):
    """One request for a completion; ``at`` is the event loop's time in seconds."""

    headers: dict[str, str]
    body: dict[str, Any]
    at: float


def raw(body: str | bytes, content_type: str = "application/json", status: int = 200) -> Answer:
    """These very bytes."""
    return Answer(status, body if isinstance(body, bytes) else body.encode(), {"content-type": content_type})


def sends(body: Any) -> Answer:
    """Status 200 with any JSON."""
    return raw(json.dumps(body))


def completion(content: Any = None, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion; further arguments are fields of its message."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return {"id": "1", "object": "chat.completion", "model": "toy", "choices": [choice], "usage": USAGE}


def says(content: Any = None, *, finish: str = "stop", **message: Any) -> Answer:
    """Status 200 with a :func:`completion`."""
    return sends(completion(content, finish=finish, **message))


def status(number: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **error: Any) -> Answer:
    """A refusal in OpenAI's form; further arguments are fields of its error."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return Answer(number, body, {"content-type": "application/json", **(headers or {})})


class Faulty:
    """The server, running for as long as ``async with`` lasts.

    Args:
        script: What is answered to requests for a completion, one after the other; the last one repeats. Or a function
            that is asked with each request.
        listed: Its list of models.
    """

    def __init__(self, script: Sequence[Fault] | Callable[[Received], Fault], listed: Any = MODELS) -> None:
        self.requests: list[Received] = []
        self._listed = listed
        self._script = script
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        """Where the API begins."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._connections.values():
            writer.transport.abort()
        await asyncio.gather(*self._connections)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections[task] = writer
        try:
            while await self._served(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client went away.
        finally:
            del self._connections[task]
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; whether the connection stays open."""
        head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = head.split(" ")
        if (method, path) == ("POST", "/v1/chat/completions"):
            received = Received(headers, json.loads(content), asyncio.get_running_loop().time())
            self.requests.append(received)
            return await _answer(self._next(received), reader, writer)
        listed = (method, path) == ("GET", "/v1/models")
        return await _answer(sends(self._listed) if listed else status(404), reader, writer)

    def _next(self, received: Received) -> Fault:
        if callable(self._script):
            return self._script(received)
        return self._script[min(len(self.requests), len(self._script)) - 1]


async def _answer(fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection stays open afterwards."""
    match fault:
        case Answer():
            writer.write(_head(fault) + fault.body)
            await writer.drain()
            return True
        case Cuts(after_bytes):
            whole = says("a whole answer")
            assert after_bytes < len(whole.body)
            writer.write(_head(whole) + whole.body[:after_bytes])
            await writer.drain()
        case Hangs():
            await reader.read()
        case Drips():
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n")
            while not reader.at_eof():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(_DRIP_S)
    return False


def _head(answer: Answer) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} Scripted",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
        f"content-length: {len(answer.body)}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
