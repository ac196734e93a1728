"""What can go wrong between us and a server, and which of it is worth another attempt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import openai

#: The many wordings of a prompt that does not fit.
_OVERFLOW = re.compile(
    r"context[ _](?:length|window|size)|maximum (?:context|input|prompt)|too many (?:input )?tokens"
    r"|(?:prompt|input|request) (?:is|was) too (?:long|large)|longer than the maximum|reduce the length"
    r"|exceed\w* (?:the )?(?:\w+ )?(?:context|token limit)|input token count|range of input length"
    r"|`inputs` (?:tokens \+|must have less)",
    re.IGNORECASE,
)
#: A mere rate limit may come with a link to the billing page, so the word alone says nothing.
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing_|billing details|credit balance|out of credit",
    re.IGNORECASE,
)
_SHOWN = 400


class ModelError(Exception):
    """A model cannot be asked."""


class ModelStop(ModelError):
    """No further call can succeed before somebody mends something: the sweep stops, and can be resumed."""


class ModelUnusable(ModelStop):
    """The server refuses how it is asked: the message names what it said, and the cure."""


class QuotaExhausted(ModelStop):
    """The account has no means left."""


class ModelUnavailable(ModelError):
    """A call ran out of its time limit: an infrastructure error of one episode, which is rerun on resume."""


class Transient(Exception):
    """One attempt failed in a way that may pass.

    Args:
        name: What failed, e.g. ``rate limit``, ``server error 503``, ``timeout``.
        detail: What the server or the network said.
        retry_after: Seconds that the server asked to wait, if it did.
    """

    def __init__(self, name: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(f"{name}: {detail}" if detail else name)
        self.name = name
        self.retry_after = retry_after


class ContextOverflow(Exception):
    """The prompt does not fit the server's window: no further attempt can help."""


def classify(error: openai.APIError, where: str, hide: Callable[[str], str] = str) -> Exception:
    """The exception that says what to do about an error of the client library.

    Args:
        error: What the library raised.
        where: Model and server, for the message.
        hide: Takes secrets out of a text, since some servers repeat the key that they were sent.
    """
    match error:
        case openai.APITimeoutError():
            return Transient("timeout")
        case openai.APIConnectionError():
            return Transient("connection", _one_line(hide(repr(error.__cause__ or error))))
        case openai.APIStatusError():
            return _by_status(error, where, hide)
    return Transient("unreadable answer", _one_line(hide(str(error))))


def _by_status(error: openai.APIStatusError, where: str, hide: Callable[[str], str]) -> Exception:
    status, said = error.status_code, _one_line(hide(_said(error)))
    if status == 402 or (status == 429 and _QUOTA.search(said)):
        return QuotaExhausted(f"{where} has no quota left ({said}); top it up and run the same command again to go on")
    if status == 429:
        return Transient("rate limit", said, _retry_after(error))
    if status in (408, 409) or status >= 500:
        return Transient(f"server error {status}", said, _retry_after(error))
    if status == 413 or (status in (400, 422) and _OVERFLOW.search(said)):
        return ContextOverflow(said)
    cure = {
        400: "leave the field that it names out of model.parameters, or change it",
        401: "put a valid key into the variable that model.api_key_env names",
        403: "the key may not use this model; choose another model.name or key",
        404: "check model.base_url and model.name",
        422: "leave the field that it names out of model.parameters, or change it",
    }.get(status, "see what it said")
    return ModelUnusable(f"{where} refused the request with status {status} ({said}); {cure}")


def _said(error: openai.APIStatusError) -> str:
    """What the server said, with its error code and the field that it means."""
    try:
        body: Any = error.response.json()
    except ValueError:
        return error.response.text.strip() or "no reason given"
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        told = [str(inner[name]) for name in ("code", "type", "param", "message", "detail") if inner.get(name)]
        return ", ".join(dict.fromkeys(told)) or json.dumps(inner)
    return str(inner)


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        return max(float(error.response.headers["retry-after"]), 0.0)
    except (KeyError, ValueError):  # A date instead of seconds is rare enough to be treated as no wish.
        return None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
