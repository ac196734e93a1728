"""A simulated model server: OpenAI's chat protocol, a fixed latency for every answer, and no limit to their number.

It stands where a server with continuous batching would stand, one that is never the bottleneck. Its actions are the
reader's (:class:`experiments.models.reader.Reader`), so that episodes are played in earnest; a request with a JSON
schema gets the smallest object that fits. ``python -m experiments.bench.server --port P --latency S`` serves until it
is stopped or its parent ends, and prints nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

from experiments.models.reader import Reader
from memarbiter import tokens
from memarbiter.chat import Message, ModelCall

MODEL = "simulated"
LOAD_PATH = "/v1/load"

_LOST = "Thought: I cannot read this.\nAction: look"
_EMPTY = {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False, "null": None}
_BACKLOG = 4096  # Connections may all come at once.
_PARENT_LOOK_S = 1.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found"}


@dataclass(frozen=True, slots=True)
class Simulated:
    """How the server is started (an :class:`experiments.models.llm.servers.Server`).

    Attributes:
        latency_s: Seconds from the arrival of a request to its answer.
        automatic: Whether a run starts it by itself.
    """

    latency_s: float
    automatic: bool = False

    def command(self, host: str, port: int) -> list[str]:
        """The server's command."""
        told = {"host": host, "port": port, "latency": self.latency_s}
        arguments = [part for name, value in told.items() for part in (f"--{name}", str(value))]
        return [sys.executable, "-m", "experiments.bench.server", *arguments]


@dataclass(slots=True)
class Load:
    """What the server has had to do; ``GET /v1/load`` tells it, with the processor seconds it took."""

    calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    cpu_s: float = 0.0

    def __enter__(self) -> None:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def __exit__(self, *_: object) -> None:
        self.in_flight -= 1
        self.calls += 1


class SimulatedServer:
    """Answers every chat completion ``latency_s`` after it arrived (``async with`` listens while it lasts)."""

    def __init__(self, latency_s: float, host: str = "127.0.0.1", port: int = 0) -> None:
        self.load = Load()
        self._latency_s = latency_s
        self._address = (host, port)
        self._began = process_time()

    @property
    def url(self) -> str:
        """Where the API begins."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/v1"

    async def __aenter__(self) -> SimulatedServer:
        self._server = await asyncio.start_server(self._connected, *self._address, backlog=_BACKLOG)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_content_length(head))
                method, path, _ = head.split(b" ", 2)
                writer.write(_response(*await self._answer(method.decode(), path.decode(), body)))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client went away.
        finally:
            writer.close()

    async def _answer(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        match method, path:
            case "POST", "/v1/chat/completions":
                with self.load:
                    return await self._completion(body)
            case "GET", "/v1/models":
                return 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
            case "GET", "/version":
                return 200, {"version": "simulated"}
            case "GET", "/v1/load":
                self.load.cpu_s = process_time() - self._began
                return 200, {name: getattr(self.load, name) for name in Load.__slots__}
        return 404, _error(f"there is no {method} {path}")

    async def _completion(self, body: bytes) -> tuple[int, dict[str, Any]]:
        clock = asyncio.get_running_loop().time
        due = clock() + self._latency_s
        try:
            request = json.loads(body)
            messages = [Message(message["role"], message["content"]) for message in request["messages"]]
            text = await _text(messages, request.get("response_format"))
        except (ValueError, KeyError, TypeError) as error:
            return 400, _error(f"unreadable request: {error!r}")
        answer = _chat_completion(messages, text)
        await asyncio.sleep(due - clock())
        return 200, answer


def smallest(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The smallest value of a JSON schema: required fields, empty lists and texts, the first of several choices.

    Args:
        schema: What the value is to fit; limits on the size of lists, texts and numbers are not known here.
        root: The whole schema, which holds the definitions that ``$ref`` names.

    Raises:
        KeyError: If the schema has a type or a reference that is not known.
    """
    match schema:
        case {"$ref": reference}:
            return smallest(root["$defs"][reference.rsplit("/", 1)[-1]], root)
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"anyOf": [choice, *_]}:
            return smallest(choice, root)
        case {"type": "object"}:
            return {name: smallest(schema["properties"][name], root) for name in schema.get("required", ())}
    return _EMPTY[schema["type"]]


async def _text(messages: Sequence[Message], form: Mapping[str, Any] | None) -> str:
    """What is answered to a request."""
    if form:
        schema = form["json_schema"]["schema"]
        return json.dumps(smallest(schema, schema))
    try:
        return (await Reader().reply(ModelCall(messages, "", 0))).text
    except ValueError:
        return _LOST


def _chat_completion(messages: Sequence[Message], text: str) -> dict[str, Any]:
    prompt, completion = sum(tokens.count(message.content) for message in messages), tokens.count(text)
    return {
        "id": "simulated",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


def _content_length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line.split(b":", 1)[1]) for line in lines if line.startswith(b"content-length:")), 0)


def _response(status: int, answer: Mapping[str, Any]) -> bytes:
    body = json.dumps(answer).encode()
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


async def _serve(host: str, port: int, latency_s: float) -> None:
    """Serve until the parent ends: one that was killed cannot stop us."""
    parent = os.getppid()
    async with SimulatedServer(latency_s, host, port):
        while os.getppid() == parent:  # noqa: ASYNC110 - nobody tells a process that its parent has ended
            await asyncio.sleep(_PARENT_LOOK_S)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.bench.server", description=__doc__.split("\n\n")[0])
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=int, required=True, help="port to listen at")
    parser.add_argument("--latency", type=float, required=True, help="seconds from a request to its answer")
    told = parser.parse_args()
    asyncio.run(_serve(told.host, told.port, told.latency))


if __name__ == "__main__":
    _main()
