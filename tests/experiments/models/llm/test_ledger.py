"""Every call is on disk when it is answered, stays there whatever becomes of the episode, and is read as it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from asking import CALL, ask, model
from faulty import Answer, Cuts, Fault, Faulty, Hangs, Received, completion, says, sends, status
from hypothesis import given
from hypothesis import strategies as st

from experiments.models.llm import ledger
from experiments.models.llm.client import own_tokens
from experiments.models.llm.ledger import Ledger, StoredCall, calls_path, partial_files, read_calls, set_aside
from memarbiter.chat import Message, ModelReply, Outcome

LOOK = says("look")


def call(number: int, text: str = "look") -> StoredCall:
    """A stored call without a server."""
    body = {"model": "toy", "messages": [{"role": "user", "content": text}]}
    more = {"own_prompt_tokens": number, "seconds": 0.5}
    return ledger.stored(replace(CALL, step=number), ModelReply(text), body, completion(text), **more)


def finished(folder: Path, *calls: StoredCall, task: str = "task-1") -> Path:
    """The file of a finished episode with these calls."""
    book = Ledger(task, folder)
    for entry in calls:
        book.enter(entry)
    book.finish()
    return calls_path(folder, task)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "calls").iterdir())


def test_a_call_is_on_disk_before_the_next_one_is_made(tmp_path: Path) -> None:
    seen: list[list[StoredCall]] = []
    book = Ledger("task-1", tmp_path)

    def script(_: Received) -> Fault:
        seen.append([one for path in partial_files(tmp_path) for one in read_calls(path)])
        return LOOK

    async def three() -> None:
        async with Faulty(script) as server:
            with book.opened():
                for step in (1, 2, 3):
                    await model(server.url).reply(replace(CALL, step=step))

    asyncio.run(three())
    assert [[one.step for one in calls] for calls in seen] == [[], [1], [1, 2]]
    assert names(tmp_path) == ["task-1.partial.jsonl"]
    book.lose()


def test_a_call_is_stored_with_all_that_was_asked_and_answered(tmp_path: Path) -> None:
    book = Ledger("the task", tmp_path)
    answered = {**completion("<think>hm</think>look"), "system_fingerprint": "fp-1", "model": "toy-2"}
    asked = replace(CALL, task_id="another name", attempt=2, purpose="parse")
    exchange = ask([status(500), sends(answered)], asked, ledger=book)
    book.finish()
    (stored,) = read_calls(calls_path(tmp_path, "the task"))
    assert stored == exchange.stored
    assert stored.request == exchange.requests[-1].body
    assert stored.response == answered
    assert (stored.task_id, stored.step, stored.attempt, stored.purpose) == ("the task", 4, 2, "parse")
    assert (stored.outcome, stored.failures, stored.reused) == ("answered", ["server error 500"], False)
    assert (stored.prompt_tokens, stored.completion_tokens) == (7, 3)
    assert stored.own_prompt_tokens == own_tokens(CALL.messages) > 0
    assert stored.seconds > 0


@pytest.mark.parametrize(
    ("script", "outcome", "failures"),
    [
        ([status(500), says(None, refusal="no")], Outcome.REFUSED, ["server error 500"]),
        ([says("go to", finish="length")], Outcome.CUT, []),
        ([Cuts(9), status(413)], Outcome.CONTEXT_OVERFLOW, ["connection"]),
        ([status(401)], "ModelUnusable", ["given up"]),
        ([status(402)], "QuotaExhausted", ["given up"]),
        ([Hangs()], "ModelUnavailable", ["given up"]),
    ],
)
def test_a_call_without_an_answer_is_there_too(
    script: list[Fault], outcome: str, failures: list[str], tmp_path: Path
) -> None:
    book = Ledger("task-1", tmp_path)
    exchange = ask(script, ledger=book, call_timeout_s=2.0)
    (path,) = partial_files(tmp_path)
    (stored,) = read_calls(path)
    book.lose()
    assert (stored.outcome, stored.failures) == (str(outcome), failures)
    assert stored.request == exchange.requests[0].body
    assert stored.seconds > 0


def test_a_finished_episode_s_calls_get_their_final_name(tmp_path: Path) -> None:
    path = finished(tmp_path, call(1), call(2))
    assert names(tmp_path) == [path.name] == ["task-1.jsonl"]
    assert [one.step for one in read_calls(path)] == [1, 2]


def test_lost_calls_are_kept_under_rising_numbers(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        book = Ledger("task-1", tmp_path)
        book.enter(call(number))
        book.lose()
    finished(tmp_path, call(4))
    lost = [f"task-1.lost-{number}.jsonl" for number in (1, 2, 3)]
    assert names(tmp_path) == ["task-1.jsonl", *lost]
    found = [[one.step for one in read_calls(tmp_path / "calls" / name)] for name in lost]
    assert found == [[1], [2], [3]]


def test_what_a_killed_process_leaves_behind_is_set_aside(tmp_path: Path) -> None:
    for task in ("task-1", "task-2"):
        Ledger(task, tmp_path).enter(call(1))
    for path in partial_files(tmp_path):
        set_aside(path)
    assert names(tmp_path) == ["task-1.lost-1.jsonl", "task-2.lost-1.jsonl"]
    assert partial_files(tmp_path) == []


@pytest.mark.parametrize("end", [Ledger.finish, Ledger.lose])
def test_an_episode_without_calls_leaves_no_file(end: Callable[[Ledger], None], tmp_path: Path) -> None:
    end(Ledger("task-1", tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert partial_files(tmp_path) == []


def test_a_ledger_without_a_folder_keeps_calls_in_memory() -> None:
    book = Ledger("task-1")
    book.enter(call(1))
    book.finish()
    assert [one.step for one in book.calls] == [1]


def test_a_last_line_is_left_out_wherever_it_was_cut(tmp_path: Path) -> None:
    path = finished(tmp_path, call(1), call(2, "caffè 🧪"))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    expected = list(read_calls(path))
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        kept = list(read_calls(path))
        # All but the line break is a whole line.
        assert kept == (expected if end == len(whole) - 1 else expected[:1]), end


@pytest.mark.parametrize("damage", [b"{", b"", b"\xff\xfe", b'{"task_id": "task-1"}', b"[]"])
def test_a_damaged_line_in_the_middle_is_named(damage: bytes, tmp_path: Path) -> None:
    path = finished(tmp_path, call(1), call(2), call(3))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + b"\n" + lines[2])
    with pytest.raises(ValueError, match=r"task-1\.jsonl, line 2: not a stored call"):
        list(read_calls(path))


@given(st.text(max_size=30))
def test_any_text_is_one_line_and_comes_back(text: str) -> None:
    line = call(1, text).model_dump_json()
    assert "\n" not in line
    assert "\r" not in line
    assert StoredCall.model_validate_json(line) == call(1, text)


def test_line_separators_within_a_text_do_not_part_a_line(tmp_path: Path) -> None:
    calls = [call(1, "a\r\nb\u2028c\u2029d\x85e\x0bf\x1cg"), call(2)]
    assert list(read_calls(finished(tmp_path, *calls))) == calls


def test_episodes_in_one_loop_never_mix(tmp_path: Path) -> None:
    tasks = ["task-1", "task-2"]
    both = asyncio.Barrier(len(tasks))

    def echo(received: Received) -> Answer:
        return says(received.body["messages"][0]["content"])

    async def episode(url: str, task: str) -> None:
        book = Ledger(task, tmp_path)
        with book.opened():
            for step in range(5):
                await both.wait()  # Their requests are under way at the same time.
                asked = replace(CALL, messages=[Message("user", f"{task} {step}")], step=step)
                assert (await model(url).reply(asked)).text == f"{task} {step}"
        book.finish()

    async def play() -> None:
        async with Faulty(echo) as server:
            await asyncio.gather(*(episode(server.url, task) for task in tasks))
        assert ledger.current() is None

    asyncio.run(play())
    for task in tasks:
        calls = list(read_calls(calls_path(tmp_path, task)))
        assert [(one.task_id, one.step) for one in calls] == [(task, step) for step in range(5)]
        assert [one.request["messages"][0]["content"] for one in calls] == [f"{task} {step}" for step in range(5)]


def test_calls_outside_of_episodes_are_entered_nowhere(tmp_path: Path) -> None:
    async def outside() -> str:
        book = Ledger("task-1", tmp_path)
        async with Faulty([LOOK]) as server:
            with book.opened():
                pass
            return (await model(server.url).reply(CALL)).text

    assert asyncio.run(outside()) == "look"
    assert list(tmp_path.iterdir()) == []


def test_memory_calls_are_told_once_and_without_those_for_an_action() -> None:
    book = Ledger("task-1")
    for number, purpose in enumerate(("act", "parse", "write", "act"), start=1):
        book.enter(call(number).model_copy(update={"purpose": purpose}))
    told = book.memory_calls()
    assert [(one.purpose, one.step, one.own_prompt_tokens) for one in told] == [("parse", 2, 2), ("write", 3, 3)]
    assert book.memory_calls() == []
    book.enter(call(5).model_copy(update={"purpose": "write"}))
    assert [one.step for one in book.memory_calls()] == [5]
    assert book.seconds() == {"act calls": 1.0, "parse calls": 0.5, "write calls": 1.0}


def test_a_file_of_calls_is_plain_json_lines(tmp_path: Path) -> None:
    lines = finished(tmp_path, call(1), call(2)).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]
