"""Tables: measured beside published, counts beside rates, nothing invented for what was not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from analysis.behaviour import table5a, table5b
from analysis.cells import Cell, Grid, Table, bold_best, signed, to_frame
from analysis.load import load_runs
from analysis.render import markdown, markdown_escape, tex, tex_escape
from analysis.tables import table2, table3, table4
from experiments.records import MemoryRecord

MakeRun = Callable[..., Path]


@dataclass(frozen=True)
class Pair:
    count: int | None
    rate: float | None
    flag: bool


BUILDERS = (table2, table3, table4, table5a, table5b)
TYPES = {"a": "pick_and_place_simple", "b": "pick_and_place_simple", "c": "look_at_obj_in_light"}


def pick(frame: pd.DataFrame, **wanted: object) -> pd.Series:
    """The one row with these values."""
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1, f"{len(frame)} rows for {wanted}"
    return frame.iloc[0]


def texts(grids: Iterable[Grid]) -> list[list[str]]:
    return [[cell.text for cell in row] for grid in grids for group in grid.groups for row in group]


def main_runs(make_run: MakeRun, budget: int = 500, **details: object) -> None:
    make_run({"a": ["x*"], "b": ["x"], "c": ["x"]}, method="flat_recency", budget=budget, types=TYPES, **details)
    make_run({"a": ["x*"], "b": ["x*"], "c": ["x"]}, method="flat_retrieval", budget=budget, types=TYPES, **details)
    make_run({"a": ["x*"], "b": ["x*"], "c": ["x*"]}, method="memarbiter", budget=budget, types=TYPES, **details)


def test_table2_by_hand(make_run: MakeRun, runs_dir: Path) -> None:
    main_runs(make_run)
    table = table2(load_runs(runs_dir))
    row = pick(table.frame, budget=500, method="flat_recency", task_type="pick_and_place_simple")
    assert (row.won, row.n, row.percent, row.paper_percent, row.difference) == (1, 2, 50.0, 66.67, -16.67)
    row = pick(table.frame, budget=500, method="flat_recency", task_type="overall")
    assert (row.won, row.n, row.percent, row.paper_percent) == (1, 3, 33.3333, 50.75)
    assert (row.planned, row.finished, row.errors, row.missing) == (3, 3, 0, 0)
    assert pick(table.frame, budget=750, method="memarbiter", task_type="overall").state == "not run"
    grid = table.grids[0]
    assert grid.header[2:4] == ("Pick (2)", "Look (1)")
    assert grid.header[-2:] == ("Overall (3)", "Won")
    first = grid.groups[0]
    assert first[0][-2:] == (Cell("33.33"), Cell("1/3"))
    assert first[1][1] == Cell("paper, Qwen3.6-27B-FP8", italic=True)
    assert first[1][-2] == Cell("50.75", italic=True)
    # best per budget: two tie on Pick, one is best overall
    assert [row[2].bold for row in first[::2]] == [False, True, True]
    assert [row[-2].bold for row in first[::2]] == [False, False, True]


def test_table2_keeps_models_controls_and_own_methods_apart(make_run: MakeRun, runs_dir: Path) -> None:
    main_runs(make_run)
    main_runs(make_run, model="qwen3_6_27b")
    make_run({"a": ["x*"], "b": ["x"], "c": ["x"]}, method="full_history", budget=None, types=TYPES)
    make_run({"a": ["x*"], "b": ["x"], "c": ["x"]}, method="my_method", budget=500, types=TYPES)
    make_run({"a": ["x*"], "b": ["x"], "c": ["x"]}, method="wo_gate", budget=500, types=TYPES)
    table = table2(load_runs(runs_dir))
    assert [grid.title for grid in table.grids] == [
        "qwen3_6_27b on household, seed 42",
        "reader (not an LLM) on household, seed 42",
        "Controls and methods without a budget, reader (not an LLM) on household, seed 42",
    ]
    assert [row[1] for row in texts(table.grids[2:])] == ["Full history"]
    assert "my_method" in [row[1] for row in texts(table.grids[1:2])]
    assert "my_method" not in [row[1] for row in texts(table.grids[:1])]
    assert "wo_gate" not in set(table.frame.method)
    assert pd.isna(pick(table.frame, method="my_method", task_type="overall").paper_percent)


def test_S1_an_incomplete_condition_has_no_headline_number(make_run: MakeRun, runs_dir: Path) -> None:
    planned = [f"t{i:03}" for i in range(100)]
    scripts = {task: ["x*"] for task in planned[:60]} | {task: ["x"] for task in planned[60:80]}
    make_run(scripts, planned=planned, errors=dict.fromkeys(planned[80:90], "timeout"))
    make_run({}, planned=planned, method="flat_recency")
    table = table2(load_runs(runs_dir))
    row = pick(table.frame, method="memarbiter", budget=500, task_type="overall")
    assert (row.planned, row.finished, row.errors, row.missing, row.won, row.n) == (100, 80, 10, 10, 60, 100)
    assert pd.isna(row.percent)
    lines = {line[1]: line for line in texts(table.grids) if line[0] == "500"}
    assert lines["MemArbiter"][-2:] == ["incomplete 80/100", "60/100"]
    assert lines["Flat Recency"][-2:] == ["no data", "0/100"]
    assert lines["Flat Retrieval"][-2:] == ["not run", "–"]
    assert "MemArbiter 500: planned 100, finished 80, errors 10, missing 10." in markdown(table)


def test_an_unknown_task_type_gets_its_own_column(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["x*"]}, types={"a": "juggle"})
    table = table2(load_runs(runs_dir))
    assert "juggle (1)" in table.grids[0].header
    assert pick(table.frame, method="memarbiter", budget=500, task_type="juggle").percent == 100.0


@pytest.mark.parametrize("build", BUILDERS)
def test_what_was_not_run_stands_beside_the_published_values(
    build: Callable[..., Table], make_run: MakeRun, runs_dir: Path
) -> None:
    make_run({"a": ["x*"]}, method="no_memory", budget=None)
    table = build(load_runs(runs_dir))
    published = table.frame[table.frame.state == "not run"]
    assert len(published) > 0
    assert published.filter(like="paper").notna().any(axis=1).all()
    assert "not run" in markdown(table)


def test_table3_is_of_the_second_model_only(make_run: MakeRun, runs_dir: Path) -> None:
    main_runs(make_run)
    main_runs(make_run, model="gpt_5_4", env="alfworld")
    table = table3(load_runs(runs_dir))
    assert [grid.title for grid in table.grids] == ["gpt_5_4 on alfworld, seed 42"]
    row = pick(table.frame, method="flat_retrieval", k=50)
    assert (row.won, row.n, row.percent, row.paper_percent, row.paper_change) == (2, 3, 66.6667, 70.89, -12.69)
    assert row.change == -33.3333


def test_table4_changes_against_the_full_method(make_run: MakeRun, runs_dir: Path) -> None:
    slow = [*["x"] * 15, "y*"]
    make_run({"a": ["x*"], "b": slow}, method="memarbiter")
    make_run({"a": ["x*"], "b": ["x"]}, method="wo_gate")
    table = table4(load_runs(runs_dir))
    early, late = (pick(table.frame, method="wo_gate", k=k) for k in (15, 50))
    assert (early.percent, early.change, early.paper_percent, early.paper_change) == (50.0, 0.0, 67.91, 2.98)
    assert (late.percent, late.change, late.paper_change, late.difference) == (50.0, -50.0, -8.96, -23.88)
    assert pd.isna(pick(table.frame, method="memarbiter", k=50).change)
    rows = {row[0]: row for row in texts(table.grids)}
    assert rows["w/o Temporal Gate"][5:] == ["50.00", "1/2", "−50.00", "73.88 (−8.96)"]
    assert rows["w/o Functional Banks"][1:5] == ["not run", "–", "–", "61.19 (−3.74)"]


def test_table5a_uses_common_failure_tasks_for_two_metrics_and_all_for_two(make_run: MakeRun, runs_dir: Path) -> None:
    common, clean = ["p!", "q", "q*"], ["p", "q*"]
    make_run({"a": common, "b": clean, "c": ["p!", "r"]}, method="memarbiter")
    make_run({"a": ["p!", "p!", "q"], "b": clean, "c": clean}, method="flat_retrieval")
    make_run({"a": ["p", "p!"], "b": ["p!", "p"], "c": clean}, method="flat_recency")
    frame = table5a(load_runs(runs_dir)).frame.query("budget == 500")
    full = pick(frame, method="memarbiter", metric="one_step_recovery")
    assert (full.percent, full.tasks, full.hits, full.total) == (100.0, 1, 1, 1)
    assert (full.common_failure_tasks, full.paper_common_failure_tasks, full.paper_percent) == (1, 29, 59.9)
    other = pick(frame, method="flat_retrieval", metric="failed_action_repetition")
    assert (other.percent, other.hits, other.total) == (50.0, 1, 2)
    # its only failure on the common task is the last step: no rate, though the set is not empty
    assert pd.isna(pick(frame, method="flat_recency", metric="one_step_recovery").percent)
    adjacent = pick(frame, method="memarbiter", metric="adjacent_repetition")
    assert (adjacent.percent, adjacent.tasks) == (16.6667, 3)


def test_table5a_without_all_three_methods_has_no_common_set(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["p!", "q"]}, method="memarbiter")
    make_run({"a": ["p!", "q"]}, method="my_method")
    table = table5a(load_runs(runs_dir))
    row = next(row for row in texts(table.grids) if row[1].startswith("One-step"))
    assert table.grids[0].header == ("Budget", "Metric (%)", "MemArbiter", "Paper", "Flat Retrieval", "Paper",
                                     "Flat Recency", "Paper", "my_method")  # fmt: skip
    assert row == ["500", "One-step recovery ↑", "no common set", "59.9", "not run", "41.7", "not run", "18.5",
                   "no common set"]  # fmt: skip
    assert pick(table.frame, method="my_method", budget=500, metric="adjacent_repetition").percent == 0.0


def test_table5b_by_hand(make_run: MakeRun, runs_dir: Path, memory: Callable[..., MemoryRecord]) -> None:
    memories = {"a": [memory("1", episodic=2), memory("2", episodic=5), memory("3", episodic=1)]}
    make_run({"a": ["p!", "q", "r!"]}, memories=memories)
    make_run({"a": ["p", "q"]}, method="wo_gate")
    table = table5b(load_runs(runs_dir))
    row = pick(table.frame, method="memarbiter", budget=500)
    assert (row.failed_prompt, row.next_prompt, row.change, row.failures, row.tasks) == (20.0, 50.0, 30.0, 1, 1)
    assert (row.paper_failed_prompt, row.paper_next_prompt, row.paper_change) == (29.4, 32.7, 3.3)
    assert texts(table.grids)[2][:4] == ["w/o Temporal Gate", "500", "no failure", "19.9"]


@pytest.mark.parametrize("build", BUILDERS)
def test_every_table_states_coverage_and_is_well_formed(
    build: Callable[..., Table], make_run: MakeRun, runs_dir: Path
) -> None:
    main_runs(make_run)
    main_runs(make_run, model="gpt_5_4")
    table = build(load_runs(runs_dir))
    assert list(table.frame.columns[-5:]) == ["state", "planned", "finished", "errors", "missing"]
    for grid in table.grids:
        assert "planned 3, finished 3, errors 0, missing 0" in " ".join(grid.notes)
        assert {len(row) for group in grid.groups for row in group} == {len(grid.header)} == {len(grid.align)}
    source = tex(table)
    for word in ("begin{table}", "begin{tabular}", "toprule", "midrule", "bottomrule", "end{tabular}", "end{table}"):
        assert source.count(word) >= len(table.grids)
    assert source.count("{") == source.count("}")


@pytest.mark.parametrize("build", [table2, table4, table5a, table5b])
def test_a_table_says_whether_the_papers_model_was_measured(
    build: Callable[..., Table], make_run: MakeRun, runs_dir: Path
) -> None:
    for model in ("gpt_5_4", "qwen3_6_27b", "reader"):
        make_run({"a": ["x*"]}, model=model)
    assert [grid.notes[-1] for grid in build(load_runs(runs_dir)).grids] == [
        "Measured with another model than the paper's: gpt_5_4.",
        "Measured with the paper's model: qwen3_6_27b.",
        "Measured with another model than the paper's: reader (not an LLM).",
    ]


def test_table3_is_measured_with_its_own_model(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["x*"]}, model="gpt_5_4")
    assert table3(load_runs(runs_dir)).grids[0].notes[-1] == "Measured with the paper's model: gpt_5_4."


def test_tex_escape() -> None:
    assert tex_escape("50% of_a & b$ #1 ~ ^ {x} \\y <z>") == (
        r"50\% of\_a \& b\$ \#1 \textasciitilde{} \textasciicircum{} \{x\} \textbackslash{}y "
        r"\textless{}z\textgreater{}"
    )
    assert tex_escape("a\nb −1 ↑ [2] *") == r"a b $-$1 $\uparrow$ {[}2] {*}"


def test_markdown_escape() -> None:
    assert markdown_escape("a|b\n*c* <d> reader_slips _e_") == r"a\|b \*c\* \<d> reader_slips \_e\_"


def test_method_names_from_runs_cannot_break_a_table(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["x*"]}, method="x|y & \\z{", name="odd")
    table = table2(load_runs(runs_dir))
    row = next(line for line in markdown(table).splitlines() if r"x\|y" in line)
    assert row.replace(r"\|", "").count("|") == len(table.grids[0].header) + 1
    assert r"x\textbar{}y \& \textbackslash{}z\{" in tex(table)


def test_bold_best() -> None:
    assert bold_best([1.0, None, 3.0, 3.0]) == [False, False, True, True]
    assert bold_best([1.0, None, 3.0], lowest=True) == [True, False, False]
    assert bold_best([1.0, None]) == [False, False]


def test_signed() -> None:
    assert [signed(2.984), signed(-8.96), signed(-0.001), signed(0.04, 1)] == ["+2.98", "−8.96", "+0.00", "+0.0"]


def test_frames_keep_whole_numbers_whole() -> None:
    frame = to_frame(Pair, [Pair(134, 100.0, True), Pair(None, None, False)])
    assert frame.to_csv(index=False) == "count,rate,flag\n134,100.0,True\n,,False\n"
    assert list(to_frame(Pair, []).columns) == ["count", "rate", "flag"]
