"""The whole report from the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from synthetic_runs import step_records, use, write_episode

from analysis.files import neutral, write_bytes, write_csv
from analysis.load import load_runs
from analysis.report import episode_frame, main
from experiments.records import CallRecord, Condition, EpisodeResult

MakeRun = Callable[..., Path]
FILES = {
    *(f"table{n}.{kind}" for n in ("2", "3", "4", "5a", "5b") for kind in ("csv", "md", "tex")),
    *("figure3.png", "figure3.pdf", "figure3.csv", "episodes.csv", "summary.md", "manifest.json"),
    *("activity.csv", "activity.md", "ablations.csv", "ablations.md"),
    *("accounting.csv", "accounting.md"),
}


def report(runs: Path, out: Path) -> int:
    return main([str(runs), "--out", str(out)])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_everything_is_written_and_equal_runs_give_equal_files(
    make_run: MakeRun, runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for method in ("memarbiter", "flat_recency", "flat_retrieval", "wo_gate"):
        make_run({"a": ["p!", "q*"], "b": ["p", "q"]}, method=method)
    assert report(runs_dir, tmp_path / "one") == 0
    assert "MemArbiter" in capsys.readouterr().out
    assert report(runs_dir, tmp_path / "two") == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert contents(tmp_path / "one").keys() == FILES


def test_the_summary_says_what_was_run_and_what_it_means(make_run: MakeRun, runs_dir: Path, tmp_path: Path) -> None:
    make_run({"a": ["x*"]})
    make_run({}, planned=["a"], method="flat_recency", errors={"a": "timeout"})
    assert report(runs_dir, tmp_path / "out") == 0
    text = (tmp_path / "out/summary.md").read_text()
    assert "**`reader` is not a language model.**" in text
    assert "1 of 2 conditions are incomplete" in text
    assert "| reader (not an LLM) | household | 42 | 500 | Flat Recency | 1 | 0 | 1 | 0 | 0 | no data |" in text
    assert "commit abc" in text
    assert all(f"## Table {n}" in text for n in ("2", "3", "4", "5a", "5b"))


def test_the_reader_label_stands_only_where_a_reader_was_run(make_run: MakeRun, runs_dir: Path, tmp_path: Path) -> None:
    make_run({"a": ["x*"]}, model="qwen3_6_27b")
    assert report(runs_dir, tmp_path / "out") == 0
    text = (tmp_path / "out/summary.md").read_text()
    assert "not a language model" not in text
    assert "no baseline" not in text
    assert "Language models that acted: qwen3_6_27b." in text


def test_the_model_at_chance_level_is_no_baseline(make_run: MakeRun, runs_dir: Path, tmp_path: Path) -> None:
    make_run({"a": ["x*"]}, model="local_cpu")
    make_run({"a": ["x*"]}, model="reader")
    assert report(runs_dir, tmp_path / "out") == 0
    text = (tmp_path / "out/summary.md").read_text()
    assert "**`local_cpu` is no baseline.**" in text
    assert "| local_cpu (chance level, no baseline) | household |" in text
    assert "Language models that acted: local_cpu." in text


def test_L7_episodes_ended_by_an_overflow_stand_beside_the_success_rate(
    make_run: MakeRun, runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run({"a": ["x*"], "b": ["x"]})
    assert report(runs_dir, tmp_path / "none") == 0
    assert "verflow" not in (tmp_path / "none/summary.md").read_text() + capsys.readouterr().out
    make_run({"a": ["x*"], "b": ["x"]}, method="full_history", budget=None, endings={"b": "context_overflow"})
    assert report(runs_dir, tmp_path / "one") == 0
    assert "Overflows" in capsys.readouterr().out
    text = (tmp_path / "one/summary.md").read_text()
    assert "1 of 4 finished episodes ended because the prompt did not fit" in text
    assert "| Success (%) | Overflows |" in text
    assert "| MemArbiter | 2 | 2 | 0 | 0 | 1 | 50.00 | 0 |" in text
    assert "| Full history | 2 | 2 | 0 | 0 | 1 | 50.00 | 1 |" in text
    assert "1 of the finished ended because the prompt did not fit" in (tmp_path / "one/table2.md").read_text()
    ends = pd.read_csv(tmp_path / "one/episodes.csv").query("method == 'full_history'").end_reason
    assert ends.tolist() == ["won", "context_overflow"]


def test_T4_the_summary_warns_of_a_large_gap_and_names_the_servers(
    make_run: MakeRun, runs_dir: Path, tmp_path: Path
) -> None:
    servers = {"act": {"model": "m", "serves": "/models/m", "version": "1.2", "frame_tokens": {"own": 4, "server": 9}}}
    usage = {"a": {"act": use(1, 1400, 5, own=1000)}}
    make_run({"a": ["x*"]}, model="qwen3_6_27b", usage=usage, servers=servers)
    assert report(runs_dir, tmp_path / "out") == 0
    text = (tmp_path / "out/summary.md").read_text()
    assert "Warning: the server counts more than 1.3 times the tokens that we count: MemArbiter 500, act (1.40)" in text
    assert "| Server (act) | model m, version 1.2 |" in text
    assert "/models/m" not in (tmp_path / "out/manifest.json").read_text()


def test_the_manifest_is_small_and_names_no_path(make_run: MakeRun, runs_dir: Path, tmp_path: Path) -> None:
    config = {"out": str(tmp_path), "env": {"root": "C:\\games", "tasks": None}, "urls": ["file:///x", "http://h/v1"]}
    make_run({"a": ["x*"]}, config=config)
    make_run({"a": ["x*"]}, method="flat_recency", config=config)
    assert report(runs_dir, tmp_path / "out") == 0
    text = (tmp_path / "out/manifest.json").read_text()
    assert str(tmp_path) not in text
    written = json.loads(text)
    assert written["common"]["config"] == {"env": {"tasks": None}, "urls": ["http://h/v1"]}
    assert [run["condition"]["method"] for run in written["runs"]] == ["flat_recency", "memarbiter"]
    assert "tasks" not in written["common"]


def test_S6_calls_commands_and_rejected_commands_are_separate_counts(make_run: MakeRun, runs_dir: Path) -> None:
    """Three bare thoughts, two unparsable replies and five commands, two of them rejected."""
    folder = make_run({}, planned=["a"])
    call = CallRecord(raw="hm", command=None, thought="hm", notes=[])
    steps = [
        step.model_copy(update={"calls": [call, *step.calls]}) for step in step_records(["p!", "q", "r!", "s", "t"])
    ]
    result = EpisodeResult(
        won=False,
        end_reason="step_limit",
        steps=5,
        model_calls=10,
        rejected_commands=2,
        unparsable_replies=5,
        extra_actions_dropped=1,
        unanswered_calls=[],
        timing={},
    )
    condition = Condition(env="household", model="reader", method="memarbiter", budget=500, seed=42)
    write_episode(folder, condition, "a", "pick_and_place_simple", steps, result)
    row = episode_frame(load_runs(runs_dir)).iloc[0]
    assert (row.steps, row.model_calls, row.rejected_commands, row.unparsable_replies) == (5, 10, 2, 5)
    assert (row.extra_actions_dropped, row.won, row.end_reason) == (1, False, "step_limit")
    assert (row.memory_tokens_mean, row.memory_tokens_max) == (10.0, 10)


def test_an_episode_without_a_command_has_no_memory_tokens(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": []})
    row = episode_frame(load_runs(runs_dir)).iloc[0]
    assert row.steps == 0
    assert pd.isna(row.memory_tokens_mean)
    assert pd.isna(row.memory_tokens_max)


def test_an_empty_folder_is_refused_and_nothing_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    assert report(tmp_path / "runs", tmp_path / "out") == 2
    assert "holds no run" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_damage_is_refused_and_nothing_written(
    make_run: MakeRun, runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (make_run({"a": ["x*"]}) / "episodes/a.jsonl").write_text('{"kind":')
    assert report(runs_dir, tmp_path / "out") == 2
    assert "a.jsonl, line 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_results_within_the_runs_folder_are_refused(
    make_run: MakeRun, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run({"a": ["x*"]})
    assert report(runs_dir, runs_dir / "results") == 2
    assert "outside it" in capsys.readouterr().err


def test_help_names_the_folders(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "--out" in capsys.readouterr().out


def test_text_from_runs_cannot_become_a_formula(make_run: MakeRun, runs_dir: Path, tmp_path: Path) -> None:
    make_run({"=1+1": ["x*"]}, method="@SUM(A1)", types={"=1+1": "+cmd"}, name="odd")
    assert report(runs_dir, tmp_path / "out") == 0
    for path in (tmp_path / "out").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))], path.name
    row = next(csv.DictReader((tmp_path / "out/episodes.csv").open(encoding="utf-8")))
    assert (row["task_id"], row["method"], row["task_type"]) == ("'=1+1", "'@SUM(A1)", "'+cmd")


def test_neutral_leaves_numbers_and_plain_text_alone() -> None:
    assert [neutral(value) for value in ("-x", "=x", "x=1", -1.5, None)] == ["'-x", "'=x", "x=1", -1.5, None]


def test_negative_numbers_stay_numbers(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", pd.DataFrame({"a": [-1.5], "b": ["-1.5"]}))
    assert (tmp_path / "x.csv").read_text() == "a,b\n-1.5,'-1.5\n"


def test_a_failed_write_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    write_bytes(path, b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("analysis.files.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
