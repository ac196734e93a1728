"""What is printed and written of measures, and what becomes of the others when one fails or is interrupted."""

from __future__ import annotations

import json
import platform
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from experiments.bench.__main__ import main
from experiments.bench.measure import BenchError, Goal, Measure
from experiments.bench.scale import QUICK, Scale
from experiments.bench.suite import MEASURES, ON_REQUEST, named, run
from experiments.settings import CHECKOUT

KEYS = ["name", "value", "unit", "baseline", "ratio", "n", "spread"]


def fixed(name: str, value: float, *goals: Goal) -> Callable[[Scale, Console], Measure]:
    def take(scale: Scale, console: Console) -> Measure:
        print("noise")
        return Measure(name=name, value=value, unit="s", n=scale.timed_games, goals=goals)

    return take


def broken(scale: Scale, console: Console) -> Measure:
    raise BenchError("there is no engine")


def interrupted(scale: Scale, console: Console) -> Measure:
    signal.raise_signal(signal.SIGINT)
    raise AssertionError("Ctrl-C was not heard")


def lines(text: str) -> list[str]:
    return [json.loads(line)["name"] for line in text.splitlines() if line.startswith("{")]


def test_every_measure_is_a_line_of_the_output_a_row_of_the_table_and_an_entry_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "bench.json"
    goal = Goal("value", "<=", 1)
    assert run(["a", "b"], QUICK, out, {"a": fixed("a", 0.5, goal), "b": fixed("b", 2.0, goal)}) == 0
    told = capsys.readouterr()
    assert lines(told.out) == ["a", "b"]
    assert "noise" not in told.out
    assert [line.split()[-1] for line in told.out.splitlines() if "value <= 1" in line and "{" not in line] == [
        "yes",
        "NO",
    ]
    content = json.loads(out.read_text())
    assert [list(record) for record in content["measures"]] == [[*KEYS, "detail"], [*KEYS, "detail"]]
    header = content["header"]
    assert header["cores"] >= 1
    assert header["python"] == platform.python_version()
    assert sorted(header["versions"]) == ["alfworld", "textworld", "tiktoken"]
    assert header["missing"] == []
    assert set(header["legend"]) == {"value", "baseline", "ratio", "n", "spread"}
    assert {"date", "cpu", "commit"} < set(header)
    assert str(CHECKOUT) not in out.read_text()
    assert platform.node() not in out.read_text()
    assert [path.name for path in out.parent.iterdir()] == ["bench.json"]


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    known = {"a": fixed("a", 1.0), "b": interrupted, "c": fixed("c", 1.0)}
    assert run(["a", "b", "c"], QUICK, out, known) == 130
    told = capsys.readouterr()
    assert lines(told.out) == ["a"]
    assert "interrupted" in told.err
    content = json.loads(out.read_text())
    assert [record["name"] for record in content["measures"]] == ["a"]
    assert content["header"]["missing"] == ["b", "c"]


def test_a_measure_that_cannot_be_taken_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench.json"
    assert run(["a", "b"], QUICK, out, {"a": broken, "b": fixed("b", 1.0)}) == 1
    told = capsys.readouterr()
    assert lines(told.out) == ["b"]
    assert "error: there is no engine" in told.err
    assert json.loads(out.read_text())["header"]["missing"] == ["a"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "bench.json"
    assert run(["a"], QUICK, out, {"a": fixed("a", 1.0)}) == 1
    assert f"error: {out} cannot be written" in capsys.readouterr().err


def test_an_unknown_measure_is_told_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["engine_step", "speed"])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "unknown measure 'speed'" in told
    assert all(name in told for name in MEASURES)


def test_a_latency_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["concurrency_memarbiter", "--latency", "0"])
    assert "invalid positive number value: '0'" in capsys.readouterr().err


def test_the_beginning_of_names_stands_for_all_of_them() -> None:
    assert named("reproduce") == ["reproduce"]
    assert named("concurrency") == [
        "concurrency_flat_recency",
        "concurrency_memarbiter",
        "concurrency_memarbiter_llm",
    ]
    assert len(named("memory_step")) == 7
    assert named("concurr") == []
    assert set(MEASURES) > ON_REQUEST


def test_help_names_every_measure(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(name in told for name in MEASURES)
