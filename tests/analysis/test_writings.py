"""Runs of one method that differ in who writes: two rows everywhere, each beside the published values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from analysis.activity import activity, prompt_differences
from analysis.behaviour import table5a, table5b
from analysis.comparison import by_setting
from analysis.figures import curves, figure3
from analysis.load import LoadError, load_runs
from analysis.names import method_key, method_name, method_of, method_rank
from analysis.report import main
from analysis.tables import table2, table3, table4
from experiments.records import MemoryRecord

MakeRun = Callable[..., Path]
WON, LOST, FAILS = ["x*"], ["x"], ["x!", "y*"]


def shown(frame: pd.DataFrame, *columns: str) -> list[list[object]]:
    return frame[list(columns)].astype(object).where(frame[list(columns)].notna(), None).values.tolist()


def test_keys_and_names() -> None:
    keys = [method_key("memarbiter", writing) for writing in (None, "rules", "llm", "merged")]
    assert keys == ["memarbiter", "memarbiter", "memarbiter (llm)", "memarbiter (merged)"]
    assert [method_name(key) for key in keys[1:]] == ["MemArbiter", "MemArbiter (llm)", "MemArbiter (merged)"]
    assert method_name("my_method (llm)") == "my_method (llm)"
    assert {method_of(key) for key in keys} == {"memarbiter"}
    assert sorted(["wo_gate", "own", *keys[:0:-1], "no_memory"], key=method_rank) == [
        "memarbiter", "memarbiter (llm)", "memarbiter (merged)", "wo_gate", "no_memory", "own",
    ]  # fmt: skip


def test_two_writings_are_two_rows_beside_the_published_value(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": WON, "b": WON}, writing="rules")
    make_run({"a": WON, "b": LOST}, writing="llm")
    make_run({"a": LOST, "b": LOST}, method="flat_recency")
    frame = table2(load_runs(runs_dir)).frame.query("budget == 500 and task_type == 'overall'")
    assert shown(frame, "method", "method_name", "percent", "paper_percent", "state") == [
        ["flat_recency", "Flat Recency", 0.0, 50.75, "complete"],
        ["flat_retrieval", "Flat Retrieval", None, 61.94, "not run"],
        ["memarbiter", "MemArbiter", 100.0, 82.84, "complete"],
        ["memarbiter (llm)", "MemArbiter (llm)", 50.0, 82.84, "complete"],
    ]


def test_a_single_writing_takes_the_place_of_its_method(make_run: MakeRun, runs_dir: Path) -> None:
    """Where a language model writes throughout, no row claims that MemArbiter was not run."""
    make_run({"a": WON}, writing="llm", model="gpt_5_4")
    make_run({"a": LOST}, method="flat_recency", model="gpt_5_4")
    runs = load_runs(runs_dir)
    frame = table3(runs).frame.query("k == 50")
    assert shown(frame, "method", "percent", "change", "paper_percent", "paper_change") == [
        ["memarbiter (llm)", 100.0, None, 83.58, None],
        ["flat_retrieval", None, None, 70.89, -12.69],
        ["flat_recency", 0.0, -100.0, 73.13, -10.45],
    ]
    assert set(table2(runs).frame.method) == {"flat_recency", "flat_retrieval", "memarbiter (llm)"}


def test_an_ablation_is_compared_with_the_full_method_of_its_own_writing(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": WON, "b": WON}, writing="rules")
    make_run({"a": WON, "b": LOST}, writing="llm")
    make_run({"a": LOST, "b": LOST}, method="wo_gate", writing="llm")
    make_run({"a": LOST, "b": LOST}, method="wo_banks", writing="merged")
    table = table4(load_runs(runs_dir))
    rows = {row[0]: row[1:] for row in shown(table.frame.query("k == 50"), "method", "percent", "change")}
    assert rows == {
        "memarbiter": [100.0, None],
        "memarbiter (llm)": [50.0, None],
        "wo_banks (merged)": [0.0, None],
        "wo_signals": [None, None],
        "wo_gate (llm)": [0.0, -50.0],
    }
    assert "MemArbiter with the same writing" in table.grids[0].notes[1]


def test_texts_are_compared_within_one_writing(
    make_run: MakeRun, runs_dir: Path, memory: Callable[..., MemoryRecord]
) -> None:
    for writing, text in (("rules", "other"), ("llm", "same")):
        make_run({"a": ["x"]}, writing=writing, memories={"a": [memory(text)]})
    make_run({"a": ["x"]}, method="wo_gate", writing="llm", memories={"a": [memory("same")]})
    make_run({"a": ["x"]}, method="wo_banks", writing="merged", memories={"a": [memory("same")]})
    frame = prompt_differences(load_runs(runs_dir)).frame
    assert shown(frame, "method", "steps", "differing_steps") == [["wo_gate (llm)", 1, 0]]


def test_every_writing_takes_part_in_the_common_failures(make_run: MakeRun, runs_dir: Path) -> None:
    for method in ("flat_recency", "flat_retrieval", "memarbiter"):
        make_run({"a": FAILS, "b": FAILS}, method=method)
    make_run({"a": FAILS, "b": WON}, writing="llm")
    table = table5a(load_runs(runs_dir))
    frame = table.frame.query("budget == 500 and metric == 'one_step_recovery'")
    assert shown(frame, "method", "tasks", "common_failure_tasks", "paper_percent")[:2] == [
        ["memarbiter", 1, 1, 59.9],
        ["memarbiter (llm)", 1, 1, 59.9],
    ]
    assert table.grids[0].header[2:6] == ("MemArbiter", "Paper", "MemArbiter (llm)", "Paper")
    shares = table5b(load_runs(runs_dir)).frame
    assert shares.method.tolist() == ["memarbiter", "memarbiter (llm)"] * 2 + ["wo_gate"]


def test_an_incomplete_writing_leaves_no_common_set(make_run: MakeRun, runs_dir: Path) -> None:
    for method in ("flat_recency", "flat_retrieval", "memarbiter"):
        make_run({"a": FAILS, "b": FAILS}, method=method)
    make_run({"a": FAILS}, planned=["a", "b"], writing="llm")
    frame = table5a(load_runs(runs_dir)).frame.query("budget == 500")
    assert frame.common_failure_tasks.isna().all()


def test_activity_and_curves_have_one_entry_per_writing(make_run: MakeRun, runs_dir: Path) -> None:
    for writing in ("rules", "llm", "merged"):
        make_run({"a": WON}, writing=writing)
    runs = load_runs(runs_dir)
    names = ("MemArbiter 500", "MemArbiter (llm) 500", "MemArbiter (merged) 500")
    assert activity(runs).grids[0].header[3:] == names
    assert curves(runs).groupby("method").size().to_dict() == dict.fromkeys(
        ("memarbiter", "memarbiter (llm)", "memarbiter (merged)"), 50
    )
    (axes,) = figure3(runs).axes
    colours = [line.get_color() for line in axes.lines if len(line.get_xdata()) > 1]
    assert len(set(colours)) == 3
    assert colours[0] == "#D55E00"


def test_the_methods_own_style_goes_to_the_only_writing_there_is(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": WON}, writing="llm")
    (axes,) = figure3(load_runs(runs_dir)).axes
    assert axes.lines[0].get_color() == "#D55E00"


def test_a_run_from_before_there_was_a_choice_is_one_by_rules(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": WON}, name="old")
    make_run({"a": WON}, writing="rules", name="new")
    with pytest.raises(LoadError, match="same condition"):
        load_runs(runs_dir)


@pytest.mark.parametrize(("other", "comparable"), [("rules", False), ("llm", True)])
def test_settings_must_agree_within_a_writing_only(
    make_run: MakeRun, runs_dir: Path, other: str, comparable: bool
) -> None:
    make_run({"a": WON}, writing="rules", config={"method": {"formation": {"writer": "W"}}})
    make_run({"a": WON}, writing=other, budget=750, config={"method": {"formation": {"writer": "V"}}})
    runs = load_runs(runs_dir)
    if comparable:
        assert len(by_setting(runs)) == 1
    else:
        with pytest.raises(LoadError, match=r"differ in 'config\.method'"):
            by_setting(runs)


def test_how_a_model_is_reached_does_not_matter(make_run: MakeRun, runs_dir: Path) -> None:
    def config(port: int, name: str = "m") -> dict[str, object]:
        reached = {"base_url": f"http://127.0.0.1:{port}/v1", "server": {"threads": port}, "max_concurrency": port}
        model = {"name": name, **reached}
        return {"model": model, "method": {"formation": {"parser": {"model": model}}}}

    make_run({"a": WON}, writing="llm", config=config(1))
    make_run({"a": WON}, writing="llm", budget=750, config=config(2))
    assert len(by_setting(load_runs(runs_dir))) == 1
    make_run({"a": WON}, method="flat_recency", config=config(3, name="another"))
    with pytest.raises(LoadError, match=r"differ in 'config\.model'"):
        by_setting(load_runs(runs_dir))


def test_the_summary_says_what_the_marks_mean(make_run: MakeRun, runs_dir: Path, tmp_path: Path) -> None:
    make_run({"a": WON}, writing="rules")
    assert main([str(runs_dir), "--out", str(tmp_path / "one")]) == 0
    assert "(merged)" not in (tmp_path / "one/summary.md").read_text()
    make_run({"a": WON}, writing="llm")
    assert main([str(runs_dir), "--out", str(tmp_path / "two")]) == 0
    text = (tmp_path / "two/summary.md").read_text()
    assert "without a mark are written by rules" in text
    assert "| MemArbiter (llm) | 1 | 1 | 0 | 0 | 1 | 100.00 |" in text
