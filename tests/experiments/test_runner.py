"""Cases E4, E6, M6: many episodes over real worker processes, interrupted and continued."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from toys import CorridorTasks

from experiments.runner import Plan, Tally, run_conditions
from experiments.settings import Settings
from experiments.worker import work


def settings(out: Path, name: str = "list", **task_set: Any) -> Settings:
    return Settings.model_validate(
        {
            "method": {"name": name, "budgeted": True, "memory": {"_target_": "toys.ListMemory"}},
            "env": {
                "name": "toy",
                "tasks": None,
                "engine": "fast",
                "task_set": {"_target_": "toys.CorridorTasks", **task_set},
            },
            "model": {"_target_": "toys.Walker"},
            "model_label": "walker",
            "agent": {"step_limit": 50, "unparsable_limit": 10, "observation_tokens": 500, "env_step_timeout_s": 60.0},
            "budget": 200,
            "seed": 42,
            "out": str(out),
            "jobs": None,
        }
    )


def plan(out: Path, name: str = "list", **task_set: Any) -> Plan:
    return Plan(settings(out, name, **task_set), tuple(CorridorTasks(**task_set).tasks()))


def run(*plans: Plan, jobs: int = 2) -> list[Tally]:
    return run_conditions(plans, jobs, Console(quiet=True))


def episodes(folder: Path) -> dict[str, list[Any]]:
    """Records by task, without the timings."""
    found = {}
    for path in sorted((folder / "episodes").iterdir()):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        assert records[-1].pop("timing")
        found[path.stem] = records
    return found


def status(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "status.json").read_text()))


def test_E6_one_or_two_workers_write_the_same_episodes(tmp_path: Path) -> None:
    for jobs in (1, 2):
        plans = [plan(tmp_path / str(jobs) / name, name) for name in ("list", "again")]
        tallies = run(*plans, jobs=jobs)
        assert [(tally.planned, tally.finished, tally.won) for tally in tallies] == [(4, 4, 4)] * 2
    for name in ("list", "again"):
        assert episodes(tmp_path / "1" / name) == episodes(tmp_path / "2" / name)
    assert status(tmp_path / "1" / "list")["state"] == "finished"


def test_E4_a_resumed_run_plays_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    run(plan(tmp_path))
    whole = episodes(tmp_path)
    paths = sorted((tmp_path / "episodes").iterdir())
    stamps = {path: path.stat().st_mtime_ns for path in paths}
    paths[1].unlink()
    paths[2].write_bytes(paths[2].read_bytes()[:-20])
    run(plan(tmp_path))
    assert episodes(tmp_path) == whole
    renewed = {path for path in paths if path.stat().st_mtime_ns != stamps[path]}
    assert renewed == {paths[1], paths[2]}
    stamps = {path: path.stat().st_mtime_ns for path in paths}
    assert run(plan(tmp_path))[0].finished == 4
    assert stamps == {path: path.stat().st_mtime_ns for path in paths}


def test_an_infrastructure_error_is_recorded_and_retried(tmp_path: Path) -> None:
    trouble = tmp_path / "raise"
    trouble.touch()
    made = plan(tmp_path / "run", trouble=str(trouble))
    (tally,) = run(made)
    assert (tally.planned, tally.finished) == (4, 3)
    assert tally.errors == {"corridor-2": "RuntimeError: the engine broke"}
    assert status(tmp_path / "run")["state"] == "incomplete"
    assert "Traceback" in (tmp_path / "run" / "errors" / "corridor-2.txt").read_text()
    trouble.unlink()
    (tally,) = run(made)
    assert (tally.finished, tally.errors) == (4, {})
    assert status(tmp_path / "run")["state"] == "finished"
    assert not (tmp_path / "run" / "errors" / "corridor-2.txt").exists()


def test_a_worker_that_dies_is_named_and_replaced(tmp_path: Path) -> None:
    trouble = tmp_path / "die"
    trouble.touch()
    plans = [plan(tmp_path / name, name, trouble=str(trouble)) for name in ("one", "two")]
    tallies = run(*plans, jobs=1)
    assert [tally.finished for tally in tallies] == [3, 3]
    for tally in tallies:
        assert tally.errors == {"corridor-2": "the worker process died with exit code 9"}


def test_workers_that_cannot_start_end_the_run_at_once(tmp_path: Path) -> None:
    program = tmp_path / "play.py"
    # A spawned process imports this program again, and so cannot start.
    program.write_text(
        "import multiprocessing, sys\n"
        "if multiprocessing.current_process().name != 'MainProcess': sys.exit(3)\n"
        "import pathlib, pytest, test_runner\n"
        "from experiments.runner import WorkerError\n"
        "with pytest.raises(WorkerError, match='exit code 3'):\n"
        "    test_runner.run(test_runner.plan(pathlib.Path(sys.argv[1])))\n"
    )
    subprocess.run([sys.executable, str(program), str(tmp_path / "run")], check=True, timeout=60)
    assert not (tmp_path / "run" / "episodes").exists()
    assert status(tmp_path / "run")["state"] == "incomplete"


def test_M6_nothing_of_one_episode_reaches_the_next(tmp_path: Path) -> None:
    run(plan(tmp_path, marker="zebra 9 on shelf 9"), jobs=1)
    texts = {path.stem: path.read_text() for path in (tmp_path / "episodes").iterdir()}
    assert [name for name, text in texts.items() if "zebra 9" in text] == ["corridor-1"]


RUN = """
import sys; from pathlib import Path; import test_runner
if __name__ == "__main__":
    test_runner.run(test_runner.plan(Path(sys.argv[1]), count=30, trouble=sys.argv[2]))
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_P1_a_run_that_was_killed_goes_on_to_one_complete_record_for_each_task(tmp_path: Path, sent: int) -> None:
    folder, program = tmp_path / "run", tmp_path / "play.py"
    program.write_text(RUN)
    command = [sys.executable, str(program), str(folder), str(tmp_path / "slow")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ["PYTHONPATH"]])}
    # A shell may start the tests in the background with Ctrl-C ignored, and children inherit that.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    first = subprocess.Popen(command, env=env, start_new_session=True, stderr=subprocess.DEVNULL, preexec_fn=listen)
    while not list(folder.glob("episodes/*.jsonl")):
        assert first.poll() is None, "it ended before it could be stopped"
        time.sleep(0.01)
    os.killpg(first.pid, sent)
    first.wait(timeout=60)
    done = len(list(folder.glob("episodes/*.jsonl")))
    assert 0 < done < 30
    if sent == signal.SIGINT:
        assert status(folder)["state"] == "interrupted"
    subprocess.run(command, env=env, check=True, timeout=120)
    assert len(episodes(folder)) == 30
    assert status(folder)["state"] == "finished"


def test_a_worker_whose_parent_is_gone_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    worker = context.Process(target=work, args=(its, [], 2))
    worker.start()
    its.close()
    assert [ours.recv(), ours.recv()] == [None, None]
    ours.close()
    worker.join(timeout=30)
    assert worker.exitcode == 0
    assert capfd.readouterr().err == ""
