"""Whole runs against a server: recorded, replayed, killed, stopped by an empty account, and gone on with."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from faulty import Fault, Faulty, Hangs, Received, says, sends, status

from experiments.models.llm.ledger import read_calls
from experiments.records import EpisodeResult, Manifest, Status

KEY = "sk-zebra-9"
TASKS = 4

_ROOM = re.compile(r"room (\d+)")
_STATE = {
    "completed_subgoals": [],
    "open_subgoals": ["Go to the next room."],
    "topics": ["room", "go"],
    "entities": ["room 0"],
    "needs": [],
}
_TOY = (
    "method=memarbiter",
    "env.task_set._target_=toys.CorridorTasks",
    *(f"~env.task_set.{key}" for key in ("root", "seed", "split", "engine")),
)


def walks(received: Received) -> Fault:
    """A model that walks down the corridor, and writes into the memory where it has been."""
    asked = received.body["messages"][-1]["content"]
    purpose = received.body.get("response_format", {}).get("json_schema", {}).get("name", "act")
    here = max(int(number) for number in _ROOM.findall(f"room 0 {asked.partition('<evidence>')[2]}"))
    answers = {
        "probe": {"value": "zq7"},
        "parse": {"state": _STATE},
        "write": {
            "writes": [_write("reference", f"room {here}", "It is empty."), _write("episodic", f"room {here}", "Came.")]
        },
    }
    if purpose != "act":
        return says(json.dumps(answers[purpose]))
    seen = asked.partition("<observation>")[2]
    last = max((int(number) for number in _ROOM.findall(seen)), default=0)
    return says(f"<think>On, on.</think>Thought: on.\nAction: go to room {last + 1}")


def _write(bank: str, subject: str, text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"operation": "add", "item": None, "bank": bank, "aspect": "state", "value": "seen"}
    return {
        **names,
        "subject": subject,
        "text": f"{subject}: {text}",
        "entities": [subject],
        "scope": [],
        "status": "active",
    }


@contextmanager
def serving(script: Callable[[Received], Fault]) -> Iterator[Faulty]:
    """A server in a thread of its own, which has nothing to do with the games."""
    ready, over = threading.Event(), threading.Event()
    server = Faulty(script)

    async def serve() -> None:
        async with server:
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        over.set()
        thread.join()


def started(out: Path, *overrides: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "experiments.run", *_TOY, f"out={out}", *overrides]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def run(out: Path, *overrides: str, **environment: str) -> tuple[int, str]:
    process = started(out, *overrides, **environment)
    told, _ = process.communicate(timeout=120)
    return process.returncode, told


def at(server: Faulty) -> list[str]:
    return asking(server.url)


def asking(url: str) -> list[str]:
    short = ("model.call_timeout_s=3", "model.probe_timeout_s=3")
    return ["model=qwen3_6_27b", "model.name=toy", f"model.base_url={url}", *short]


def replaying(source: Path) -> list[str]:
    return ["model=replay", f"model.source={source}"]


def episodes(folder: Path) -> dict[str, list[str]]:
    """The lines of every episode's file; timing, the only part that differs between equal runs, is taken out."""
    found = {}
    for path in sorted((folder / "episodes").glob("*.jsonl")):
        *lines, last = path.read_text().splitlines()
        result = json.loads(last)
        del result["timing"]
        found[path.name] = [*lines, json.dumps(result)]
    return found


def status_of(folder: Path) -> Status:
    return Status.model_validate_json((folder / "status.json").read_bytes())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a run with LLM parser and writer, and what it showed."""
    out = tmp_path_factory.mktemp("recorded") / "run"
    with serving(walks) as server:
        code, told = run(out, *at(server), VLLM_API_KEY=KEY)
        assert code == 0, told
        assert any(received.headers["authorization"] == f"Bearer {KEY}" for received in server.requests)
    return out, told


def test_every_request_and_reply_is_stored(recorded: tuple[Path, str]) -> None:
    folder, _ = recorded
    for number in range(1, TASKS + 1):
        calls = list(read_calls(folder / "calls" / f"corridor-{number}.jsonl"))
        assert [call.purpose for call in calls] == ["parse", "write", "act"] * number
        assert all(call.request["messages"] and call.response and call.request["temperature"] == 0 for call in calls)


def test_calls_are_counted_by_purpose_and_step(recorded: tuple[Path, str]) -> None:
    folder, _ = recorded
    lines = (folder / "episodes" / "corridor-3.jsonl").read_text().splitlines()
    result = EpisodeResult.model_validate_json(lines[-1])
    assert {purpose: used.calls for purpose, used in result.usage.items()} == {"act": 3, "parse": 3, "write": 3}
    assert all(used.prompt_tokens == 3 * 7 and used.own_prompt_tokens > 300 for used in result.usage.values())
    for number, line in enumerate(lines[1:-1]):
        asked = [(call["purpose"], call["step"]) for call in json.loads(line)["memory_calls"]]
        assert asked == [("parse", number), ("write", number)]


def test_thoughts_stay_out_of_the_game_and_of_the_memory(recorded: tuple[Path, str]) -> None:
    folder, _ = recorded
    for path in (folder / "episodes").glob("*.jsonl"):
        assert "On, on" not in path.read_text()
    for path in (folder / "calls").glob("*.jsonl"):
        for call in read_calls(path):
            assert "On, on" not in json.dumps(call.request)


def test_the_servers_are_in_the_manifest(recorded: tuple[Path, str]) -> None:
    manifest = Manifest.model_validate_json((recorded[0] / "manifest.json").read_bytes())
    assert manifest.servers
    assert set(manifest.servers) == {"act", "memory"}
    assert manifest.servers["act"]["structured_outputs"] == "applied"


def test_C4_the_key_is_nowhere(recorded: tuple[Path, str]) -> None:
    folder, told = recorded
    assert KEY not in told
    files = [path for path in folder.parent.rglob("*") if path.is_file()]
    assert len(files) > 2 * TASKS
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_finished_run_needs_no_server(recorded: tuple[Path, str]) -> None:
    code, told = run(recorded[0], *asking("http://127.0.0.1:9/v1"))
    assert code == 0, told


def test_a_replay_equals_the_run_byte_for_byte(recorded: tuple[Path, str], tmp_path: Path) -> None:
    code, told = run(tmp_path / "again", *replaying(recorded[0]))
    assert code == 0, told
    assert episodes(tmp_path / "again") == episodes(recorded[0])
    for path in (recorded[0] / "calls").glob("*.jsonl"):
        assert (tmp_path / "again" / "calls" / path.name).read_bytes() == path.read_bytes()


def test_a_run_that_was_killed_and_resumed_equals_an_uninterrupted_one(
    recorded: tuple[Path, str], tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    slow = [*replaying(recorded[0]), "jobs=1", "+env.task_set.trouble=slow"]
    process = started(out, *slow)
    while process.poll() is None and not list(out.glob("episodes/*.jsonl")):
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert 0 < len(list(out.glob("episodes/*.jsonl"))) < TASKS, "it ended before it could be killed"
    code, told = run(out, *slow)
    assert code == 0, told
    assert episodes(out) == episodes(recorded[0])


def test_a_replay_stops_where_a_prompt_has_changed(recorded: tuple[Path, str], tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "calls").mkdir(parents=True)
    (source / "manifest.json").write_bytes((recorded[0] / "manifest.json").read_bytes())
    for path in (recorded[0] / "calls").glob("*.jsonl"):
        (source / "calls" / path.name).write_text(path.read_text().replace("You act in a house", "You act in a barn"))
    code, told = run(tmp_path / "again", *replaying(source), "jobs=1")
    assert code == 3, told
    assert "act call of step 1" in told
    assert re.search(r"^-.*in a barn.*\n\+.*in a house", told, re.MULTILINE)
    assert status_of(tmp_path / "again").state == "incomplete"


def test_an_empty_account_stops_the_run_and_it_can_be_gone_on_with(recorded: tuple[Path, str], tmp_path: Path) -> None:
    out, calls = tmp_path / "run", iter(range(1000))

    def runs_dry(received: Received) -> Fault:
        empty = status(429, "You exceeded your current quota.", code="insufficient_quota")
        return empty if next(calls) > 12 else walks(received)

    with serving(runs_dry) as server:
        code, told = run(out, *at(server), "jobs=1", "model.max_concurrency=1")
        assert code == 3, told
        assert "quota" in told
        # One request tells it; nobody asks again.
        assert len(server.requests) == 14
    before = status_of(out)
    assert before.state == "incomplete"
    assert 0 < before.finished < TASKS
    assert list(out.glob("calls/*.lost-1.jsonl"))
    with serving(walks) as server:
        code, told = run(out, *at(server))
    assert code == 0, told
    assert episodes(out) == episodes(recorded[0])


def test_an_episode_lost_to_the_server_is_marked_and_played_again(recorded: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "run"

    def sticks(received: Received) -> Fault:
        asked = received.body["messages"][-1]["content"]
        return Hangs() if "reach room 3" in asked and "room 2" in asked else walks(received)

    with serving(sticks) as server:
        code, told = run(out, *at(server))
    assert code == 1, told
    assert list(status_of(out).errors) == ["corridor-3"]
    assert "gave no answer within 3 s" in (out / "errors" / "corridor-3.txt").read_text()
    (lost,) = out.glob("calls/*.lost-1.jsonl")
    assert [call.outcome for call in read_calls(lost)][-1] == "ModelUnavailable"
    with serving(walks) as server:
        code, told = run(out, *at(server))
    assert code == 0, told
    assert episodes(out) == episodes(recorded[0])


def test_P4_another_server_version_is_refused_on_resume(recorded: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving(
        lambda received: status(429, code="insufficient_quota") if "reach" in str(received.body) else walks(received)
    ) as server:
        assert run(out, *at(server))[0] == 3

    def longer(received: Received) -> Fault:
        answered = json.loads(walks(received).body)
        return sends({**answered, "usage": {"prompt_tokens": 8, "completion_tokens": 3}})

    with serving(longer) as server:
        code, told = run(out, *at(server))
    assert code == 2
    assert "servers.act.frame_tokens.server: 7 -> 8" in told


def test_L7_a_prompt_that_outgrows_the_window_ends_the_episode_by_that_name(tmp_path: Path) -> None:
    out = tmp_path / "run"

    def small(received: Received) -> Fault:
        asked = received.body["messages"][-1]["content"]
        too_long = "Task: reach room 2" in asked and "room 1" in asked.partition("<observation>")[2]
        return status(400, "This model's maximum context length is 4096 tokens.") if too_long else walks(received)

    with serving(small) as server:
        code, told = run(out, *at(server))
    assert code == 0, told
    result = EpisodeResult.model_validate_json((out / "episodes" / "corridor-2.jsonl").read_text().splitlines()[-1])
    assert (result.end_reason, result.steps, result.unparsable_replies) == ("context_overflow", 1, 0)
    assert result.usage["act"].outcomes == {"answered": 1, "context overflow": 1}


def test_stored_replies_answer_only_when_asked_to(tmp_path: Path) -> None:
    with serving(walks) as server:
        asked = [0]
        reuse = f"model.reuse={tmp_path / 'replies'}"
        for name, more in (("plain", []), ("again", []), ("first", [reuse]), ("second", [reuse])):
            run(tmp_path / name, *at(server), "env.tasks=1", "method=no_memory", *more)
            asked.append(len(server.requests))
        assert asked == [0, 3, 6, 9, 9]
    (path,) = (tmp_path / "second" / "calls").glob("*.jsonl")
    assert all(call.reused for call in read_calls(path))
    assert episodes(tmp_path / "first") == episodes(tmp_path / "second")
