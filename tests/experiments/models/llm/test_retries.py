"""What is asked again, what is not, and that a call ends in time whatever the server does."""

from __future__ import annotations

import asyncio
import socket

import pytest
from asking import CALL, Exchange, ask, model
from faulty import Answer, Cuts, Drips, Fault, Faulty, Hangs, Received, raw, says, sends, status

from experiments.models.llm.faults import ModelUnavailable, ModelUnusable, QuotaExhausted
from experiments.models.llm.ledger import Ledger
from memarbiter.chat import Outcome

LOOK = says("look")
PAGE = raw("<html><body>Bad gateway</body></html>", "text/html")


def in_the_end(exchange: Exchange, *failures: str) -> bool:
    """Whether the call was answered after these failures, with one request for each attempt."""
    assert exchange.reply.text == "look"
    assert exchange.reply.failures == failures
    assert exchange.stored.failures == list(failures)
    return len(exchange.requests) == len(failures) + 1


@pytest.mark.parametrize(
    ("faults", "failures"),
    [
        pytest.param([status(429)], ["rate limit"], id="rate limit"),
        pytest.param([status(500), status(503)], ["server error 500", "server error 503"], id="server errors"),
        pytest.param([status(408)], ["server error 408"], id="request timeout"),
        pytest.param([Cuts(0)], ["connection"], id="cut before the body"),
        pytest.param([Cuts(40)], ["connection"], id="cut half-way"),
        pytest.param([PAGE], ["unreadable answer"], id="a page"),
        pytest.param([raw('{"choices": [')], ["unreadable answer"], id="half an object"),
        pytest.param([raw(b"\xff\xfe\x00")], ["unreadable answer"], id="no text"),
        pytest.param([raw("[" * 100_000)], ["unreadable answer"], id="a deep list"),
        pytest.param([raw("")], ["unreadable answer"], id="nothing"),
        pytest.param([raw("[1]")], ["unreadable answer"], id="no object"),
        pytest.param(
            [sends({"error": {"message": "overloaded"}})], ["error in the answer"], id="an error with status 200"
        ),
    ],
)
def test_what_may_pass_is_asked_again(faults: list[Fault], failures: list[str]) -> None:
    assert in_the_end(ask([*faults, LOOK]), *failures)


@pytest.mark.parametrize("silence", [Hangs(), Drips()], ids=["hangs", "drips"])
def test_an_answer_that_does_not_come_or_end_is_a_timeout(silence: Fault) -> None:
    assert in_the_end(ask([silence, LOOK], attempt_timeout_s=0.3), "timeout")


@pytest.mark.parametrize("number", [429, 503])
def test_the_server_is_left_alone_as_long_as_it_asks(number: int) -> None:
    exchange = ask([status(number, headers={"retry-after": "0.3"}), LOOK])
    assert len(exchange.requests) == 2
    assert exchange.waits[0] >= 0.3


@pytest.mark.parametrize("wish", ["0", "-1", "nan", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wish_that_says_nothing_causes_no_flood_of_requests(wish: str) -> None:
    exchange = ask([status(429, headers={"retry-after": wish})], call_timeout_s=1.0)
    assert isinstance(exchange.error, ModelUnavailable)
    assert 1 <= len(exchange.requests) < 30


@pytest.mark.parametrize(
    "refusal",
    [
        status(
            429,
            "You exceeded your current quota, please check your plan and billing details.",
            code="insufficient_quota",
        ),
        status(
            429,
            "Your account is not active, please check your billing details on our website.",
            code="billing_not_active",
        ),
        status(402, "Payment required"),
        status(402, "Insufficient Balance"),
        raw("", status=402),
    ],
)
def test_an_account_without_means_is_told_at_once(refusal: Answer) -> None:
    exchange = ask([refusal])
    assert isinstance(exchange.error, QuotaExhausted)
    assert len(exchange.requests) == 1
    assert exchange.stored.failures


def test_a_rate_limit_that_speaks_of_billing_is_no_empty_account() -> None:
    said = (
        "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s. You can "
        "increase your rate limit by adding a payment method at https://platform.openai.com/account/billing."
    )
    assert in_the_end(ask([status(429, said, code="rate_limit_exceeded"), LOOK]), "rate limit")


@pytest.mark.parametrize(
    "fault",
    [status(500), Hangs(), Drips(), Cuts(9), PAGE, sends({"error": "no"}), status(429, headers={"retry-after": "99"})],
)
def test_a_server_that_never_answers_ends_the_call_in_time(fault: Fault) -> None:
    exchange = ask([fault], call_timeout_s=0.8, attempt_timeout_s=0.3)
    assert isinstance(exchange.error, ModelUnavailable)
    assert not isinstance(exchange.error, ModelUnusable)
    assert "0.8 s" in str(exchange.error)
    assert exchange.stored.failures[-1] == "given up"
    assert exchange.stored.seconds > 0.7


def test_a_port_without_a_server_ends_the_call_in_time() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Bound, but not listening.
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelUnavailable, match=r"toy at http://127\.0\.0\.1.*connection"):
            asyncio.run(model(url, call_timeout_s=1.0).reply(CALL))


OVERFLOWS = {
    "vLLM": status(
        400,
        "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (4000 in the messages, "
        "200 in the completion). Please reduce the length of the messages or completion.",
        type="BadRequestError",
    ),
    "OpenAI": status(400, "Your input is larger than this model takes.", code="context_length_exceeded"),
    "Anthropic": status(400, "prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"),
    "Gemini": status(400, "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."),
    "TGI": status(422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 + 200"),
    "DashScope": status(400, "Range of input length should be [1, 6000]", code="invalid_parameter_error"),
    "llama.cpp": status(
        400,
        "the request exceeds the available context size, try increasing it",
        type="exceed_context_size_error",
        n_prompt_tokens=5000,
        n_ctx=4096,
    ),
    "plain text": raw("Requested token count exceeds the model's maximum context length", "text/plain", 400),
    "too large a body": raw("<html>Request Entity Too Large</html>", "text/html", 413),
}


@pytest.mark.parametrize("refusal", OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_L7_a_prompt_that_does_not_fit_is_asked_once(refusal: Answer) -> None:
    exchange = ask([refusal])
    assert exchange.reply.outcome is Outcome.CONTEXT_OVERFLOW
    assert exchange.reply.text == ""
    assert exchange.reply.failures == ()
    assert len(exchange.requests) == 1
    assert exchange.stored.outcome == Outcome.CONTEXT_OVERFLOW.value
    assert exchange.stored.request == exchange.requests[0].body


def test_L7_an_overflow_after_a_failure_keeps_the_failure() -> None:
    exchange = ask([status(500), OVERFLOWS["vLLM"]])
    assert exchange.reply.outcome is Outcome.CONTEXT_OVERFLOW
    assert exchange.reply.failures == ("server error 500",)


REFUSALS: dict[str, tuple[Answer, list[str]]] = {
    "field": (
        status(
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is.",
            param="temperature",
            code="unsupported_value",
        ),
        ["400", "temperature", "model.parameters"],
    ),
    "only named as a parameter": (status(400, "Unknown field.", param="top_k"), ["top_k"]),
    "length field": (
        status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ["max_completion_tokens"],
    ),
    "length": (
        status(
            400,
            "max_tokens is too large: 5000. This model supports at most 4096 completion tokens.",
            param="max_tokens",
        ),
        ["max_tokens"],
    ),
    "length again": (status(400, "max_tokens must be <= 8192"), ["max_tokens"]),
    "list of details": (raw('{"detail": [{"loc": ["body", "min_p"], "msg": "extra"}]}', status=422), ["422", "min_p"]),
    "wrong key": (status(401, "Incorrect API key provided"), ["401", "Incorrect API key", "model.api_key_env"]),
    "forbidden": (status(403, "not yours"), ["403", "not yours", "model.name"]),
    "unknown model": (status(404, "The model `toy` does not exist"), ["404", "does not exist", "model.name"]),
    "unknown path": (raw("Not Found", "text/plain", 404), ["404", "Not Found", "model.base_url"]),
    "moved": (Answer(301, b"", {"location": "/v2/chat/completions"}), ["301"]),
}


@pytest.mark.parametrize(("refusal", "told"), REFUSALS.values(), ids=REFUSALS.keys())
def test_L9_a_refusal_stops_after_one_request_and_says_what_to_change(refusal: Answer, told: list[str]) -> None:
    exchange = ask([refusal])
    assert isinstance(exchange.error, ModelUnusable)
    assert len(exchange.requests) == 1
    for word in ["toy at http://127.0.0.1:", *told]:
        assert word in str(exchange.error)
    assert exchange.stored.response is None
    assert exchange.stored.failures == ["given up"]


def test_what_one_question_ran_into_does_not_touch_the_next() -> None:
    book = Ledger("task-1")
    assert ask([status(404)], ledger=book).error
    assert ask([LOOK], ledger=book).reply.failures == ()
    assert [call.failures for call in book.calls] == [["given up"], []]


def test_a_call_that_is_cancelled_is_told_as_given_up() -> None:
    async def cancelled() -> Ledger:
        book, again = Ledger("task-1"), asyncio.Event()

        def script(_: Received) -> Fault:
            if len(server.requests) == 1:
                return status(500)
            again.set()
            return Hangs()

        async with Faulty(script) as server:
            with book.opened():
                task = asyncio.create_task(model(server.url).reply(CALL))
            await again.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return book

    (call,) = asyncio.run(cancelled()).calls
    assert (call.failures, call.response) == (["server error 500", "given up"], None)
