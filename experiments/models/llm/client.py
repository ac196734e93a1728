"""A language model behind an OpenAI-compatible server, on the official client library.

One layer owns the retries, this one: the library's own are off.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx
import openai
import tenacity

from experiments.actions import ACTION_SCHEMA
from experiments.models.llm import answer, ledger
from experiments.models.llm.faults import (
    ContextOverflow,
    ModelUnavailable,
    ModelUnusable,
    Transient,
    classify,
)
from experiments.models.llm.servers import Server
from memarbiter import tokens
from memarbiter.chat import Message, ModelCall, ModelReply, Outcome

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_HEADERS = ("extra_headers", "headers", "authorization", "api_key")
_NO_KEY = "none"  # The library insists on a key; servers of one's own need none.

#: One client for each server in each event loop: its connections are kept, and belong to the loop.
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Any, ...], openai.AsyncOpenAI]]
_clients = WeakKeyDictionary()


class OpenAIModel:
    """A :class:`~memarbiter.chat.ChatModel` that asks a server.

    Args:
        name: The model, as the server calls it.
        base_url: Where the server's API begins, with ``/v1``.
        api_key_env: Environment variable that holds the key; None if there is none.
        window: Tokens that prompt and answer may have together.
        parameters: Fields of every request, as they are sent.
        length_field: Name of the field that limits the answer.
        answer_tokens: That limit, by purpose.
        structured_outputs: Whether JSON schemas are sent; the prompts ask for JSON in either case.
        structured_actions: Whether actions are asked for by a JSON schema as well, for models that miss the prompt's
            form.
        attempt_timeout_s: Seconds for one request.
        call_timeout_s: Seconds for one call, all requests and waits together.
        probe_timeout_s: The same for the questions before a run.
        max_concurrency: Episodes that may be in flight at once.
        reuse: Folder with replies that answer repeated identical requests; None asks the server each time.
        server: How such a server is started on this machine; None if that is not known.
        rate: What its tokens take in time and money (:class:`experiments.plan.Rate`), for plans alone.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        api_key_env: str | None,
        window: int,
        parameters: Mapping[str, Any],
        length_field: str,
        answer_tokens: Mapping[str, int],
        structured_outputs: bool,
        structured_actions: bool,
        attempt_timeout_s: float,
        call_timeout_s: float,
        probe_timeout_s: float,
        max_concurrency: int,
        reuse: str | None = None,
        server: Server | None = None,
        rate: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.base_url = base_url
        self.window = window
        self.parameters: dict[str, Any] = _plain(parameters)
        self.answer_tokens = dict(answer_tokens)
        self.structured_outputs = structured_outputs
        self._probe_timeout_s = probe_timeout_s
        self.server = server
        self.rate = rate
        self.max_concurrency = max_concurrency
        self._structured_actions = structured_actions
        self._key_variable = api_key_env
        self._key = os.environ.get(api_key_env or "", "").strip()
        self._length_field = length_field
        self._attempt_timeout_s = attempt_timeout_s
        self._call_timeout_s = call_timeout_s
        self._reuse = Path(reuse).expanduser() if reuse else None

    def request(self, call: ModelCall) -> dict[str, Any]:
        """The body of the request for a call, every field of it."""
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": _writable(message.content)} for message in call.messages],
            **self.parameters,
            self._length_field: self.answer_tokens[call.purpose],
        }
        wanted = ACTION_SCHEMA if call.purpose == "act" and self._structured_actions else call.schema
        if wanted is not None and self.structured_outputs:
            schema = {"name": call.purpose, "strict": True, "schema": dict(wanted)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    async def reply(self, call: ModelCall) -> ModelReply:
        """Answer one call, within its time limit; enters it into the episode's ledger.

        Raises:
            ModelUnavailable: If no attempt succeeded in time.
            ModelUnusable: If the server refuses such requests.
            QuotaExhausted: If the account has no means left.
        """
        body = self.request(call)
        start, failures = perf_counter(), list[str]()
        kept = self._kept(body)
        response: dict[str, Any] | None = kept
        reply, outcome = ModelReply("", outcome=Outcome.EMPTY), ""
        try:
            if response is None:
                limit = self._probe_timeout_s if call.purpose == "probe" else self._call_timeout_s
                response = await self._asked(body, failures, limit)
            reply = _with(answer.read(response), failures)
            outcome = str(reply.outcome)
        except ContextOverflow:
            reply = ModelReply("", outcome=Outcome.CONTEXT_OVERFLOW, failures=tuple(failures))
            outcome = str(reply.outcome)
        except (Exception, asyncio.CancelledError) as error:
            failures.append("given up")
            reply, outcome = _with(reply, failures), type(error).__name__
            raise
        finally:
            if (book := ledger.current()) is not None:
                own = own_tokens(call.messages)
                more = {"own_prompt_tokens": own, "seconds": perf_counter() - start, "reused": kept is not None}
                book.enter(ledger.stored(call, reply, body, response, outcome=outcome, **more))
        if response is not None and kept is None:
            self._keep(body, response)
        return reply

    async def get(self, path: str) -> Any:
        """What the server tells at ``path`` (below its root for a leading ``//``); None if it does not know that."""
        url = f"{self.base_url.removesuffix('/').removesuffix('/v1')}/{path[2:]}" if path.startswith("//") else path
        try:
            told = await self._client().get(url, cast_to=object)
            return json.loads(self._scrub(json.dumps(told)))
        except (openai.APIError, ValueError):
            return None

    def check_address(self) -> None:
        """Whether a key was put where it would be written into files.

        Raises:
            ModelUnusable: If so; the message does not repeat it.
        """
        parts = urlsplit(self.base_url)
        if parts.username or parts.password or parts.query:
            raise ModelUnusable(
                f"model.base_url of {self.name} holds a name, a password or a query; name the API's address alone, and "
                "put the key into the environment variable that model.api_key_env names"
            )
        if self._key_variable and not _VARIABLE.fullmatch(self._key_variable):
            raise ModelUnusable(
                f"model.api_key_env of {self.name} is not the name of an environment variable; put the key into one, "
                "and its name here"
            )
        if any(name.lower() in _HEADERS for name in self.parameters):
            raise ModelUnusable(
                f"model.parameters of {self.name} holds headers, which files would keep; put the key into the "
                "environment variable that model.api_key_env names"
            )

    async def _asked(self, body: dict[str, Any], failures: list[str], limit_s: float) -> dict[str, Any]:
        """The server's answer within ``limit_s``; the names of failed attempts go into ``failures``."""
        last: list[BaseException | None] = [None]

        def note(state: tenacity.RetryCallState) -> None:
            last[0] = state.outcome.exception() if state.outcome else None
            failures.append(_failed(state))

        def said() -> str:
            return f"; last: {last[0]}" if last[0] else ""

        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(Transient),
            wait=_wait,
            stop=tenacity.stop_never,
            before_sleep=note,
            reraise=True,
        )
        try:
            async with asyncio.timeout(limit_s):
                answered: dict[str, Any] = await attempts(self._attempt, body)
                return answered
        except TimeoutError:
            told = ", ".join(f"{failures.count(name)} x {name}" for name in dict.fromkeys(failures)) or "no answer"
            raise ModelUnavailable(f"{self._where} gave no answer within {limit_s:g} s ({told}{said()})") from None

    async def _attempt(self, body: dict[str, Any]) -> dict[str, Any]:
        # All other fields travel as they are: what the server knows of them matters, not what the library knows.
        other = {key: value for key, value in body.items() if key not in ("model", "messages")}
        try:
            # The library's own limit starts anew with every byte that arrives.
            async with asyncio.timeout(self._attempt_timeout_s):
                raw = await self._client().chat.completions.with_raw_response.create(
                    model=body["model"], messages=body["messages"], extra_body=other
                )
        except TimeoutError:
            raise Transient("timeout") from None
        except openai.APIError as error:
            # Not "from error": its traceback could show the request's headers.
            raise classify(error, self._where, self._scrub) from None
        answered = _object(self._scrub(raw.text))
        if answered is None:
            raise Transient("unreadable answer", self._scrub(raw.text)[:100])
        if answered.get("error") and not answered.get("choices"):
            raise Transient("error in the answer", str(answered["error"])[:200])
        return answered

    def _client(self) -> openai.AsyncOpenAI:
        clients = _clients.setdefault(asyncio.get_running_loop(), {})
        key = (self.base_url, self._key, self._attempt_timeout_s, self.max_concurrency)
        if key not in clients:
            if not self._key and "api.openai.com" in self.base_url:
                raise ModelUnusable(f"{self._where} needs a key: set the variable that model.api_key_env names")
            limits = httpx.Limits(max_connections=self.max_concurrency, max_keepalive_connections=self.max_concurrency)
            # A proxy is for the world outside, not for a server on this machine.
            proxies = urlsplit(self.base_url).hostname not in _LOOPBACK
            clients[key] = openai.AsyncOpenAI(
                api_key=self._key or _NO_KEY,
                base_url=self.base_url,
                max_retries=0,
                timeout=self._attempt_timeout_s,
                http_client=httpx.AsyncClient(limits=limits, timeout=self._attempt_timeout_s, trust_env=proxies),
            )
        return clients[key]

    @property
    def _where(self) -> str:
        return f"{self.name} at {self.base_url}"

    def _scrub(self, text: str) -> str:
        """The text without the key, which some servers repeat in what they say."""
        return text.replace(self._key, "(secret)") if self._key else text

    def _kept(self, body: dict[str, Any]) -> dict[str, Any] | None:
        if self._reuse is None:
            return None
        try:
            return _object(_reply_path(self._reuse, body).read_text())
        except (OSError, ValueError):
            return None

    def _keep(self, body: dict[str, Any], response: dict[str, Any]) -> None:
        if self._reuse is None:
            return
        path = _reply_path(self._reuse, body)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as stream:
            json.dump(response, stream)
        os.replace(stream.name, path)


def own_tokens(messages: Any) -> int:
    """o200k_base tokens of the messages' texts, without what a chat template adds."""
    return sum(tokens.count(message.content if isinstance(message, Message) else message) for message in messages)


def _with(reply: ModelReply, failures: list[str]) -> ModelReply:
    return ModelReply(
        reply.text, reply.prompt_tokens, reply.completion_tokens, reply.outcome, reply.thinking, tuple(failures)
    )


def _writable(text: str) -> str:
    """The text with half a character, which no request can hold, as a ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _plain(value: Any) -> Any:
    """A setting as JSON takes it: Hydra hands over what is nested as mappings and lists of its own."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return value


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, None if there is none; half a character, which no file can hold, becomes a ``?``."""
    try:
        written = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        answered = json.loads(written)
    except (ValueError, RecursionError):
        return None
    return answered if isinstance(answered, dict) else None


def _reply_path(folder: Path, body: Mapping[str, Any]) -> Path:
    key = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return folder / key[:2] / f"{key}.json"


def _failed(state: tenacity.RetryCallState) -> str:
    error = state.outcome.exception() if state.outcome else None
    return error.name if isinstance(error, Transient) else "failed"


def _wait(state: tenacity.RetryCallState) -> float:
    """What the server asks for, and a random part that can get twice as long each time, so that callers spread."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, Transient) else None
    return (asked or 0.0) + float(tenacity.wait_random_exponential(_FIRST_WAIT_S, _LONGEST_WAIT_S)(state))
