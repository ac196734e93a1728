"""What the memory did, counted; and where ablations show other text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis.activity import activity, equal_history_steps, prompt_differences
from analysis.load import load_runs
from experiments.records import MemoryRecord

MakeRun = Callable[..., Path]
Memory = Callable[..., MemoryRecord]


def test_activity_counts_rules_per_run(make_run: MakeRun, runs_dir: Path, memory: Memory) -> None:
    gate = [["episodic", "e1", "new", "focal", "failure"], ["episodic", "e2", "new", "focal", "failure"]]
    shed = [["reference", "r", "focal", "hidden", "budget"]]
    make_run(
        {"a": ["p!", "q"], "b": ["p"]},
        memories={"a": [memory("1"), memory("2", transitions=gate, shed=shed)], "b": [memory("1")]},
    )
    make_run({"a": ["p"], "b": ["p"]}, method="wo_gate", memories={t: [memory("x", writes=[])] for t in "ab"})
    make_run({"a": ["p"], "b": ["p"]}, method="flat_recency", memories={t: [memory("x", writes=[])] for t in "ab"})
    table = activity(load_runs(runs_dir))
    columns = ["method", "kind", "bank", "change", "reason", "count", "episodes"]
    assert table.frame[columns].values.tolist() == [
        ["memarbiter", "write", "goal", "insert", "new goal", 3, 2],
        ["memarbiter", "gate", "episodic", "new -> focal", "failure", 2, 1],
        ["memarbiter", "shed", "reference", "focal -> hidden", "budget", 1, 1],
    ]
    (grid,) = table.grids
    assert grid.header == ("Bank", "Change", "Reason", "MemArbiter 500", "w/o Temporal Gate 500")
    rows = [[cell.text for cell in row] for group in grid.groups for row in group]
    assert ["Changes of band by the gate", "", "", "2", "0"] in rows
    assert ["episodic", "new -> focal", "failure", "2", "0"] in rows


def test_M1_extraction_problems_are_counted_by_reason_without_its_details(
    make_run: MakeRun, runs_dir: Path, memory: Memory
) -> None:
    writes = [
        ["-", "", "skip", "no JSON object: I would rather"],
        ["-", "", "skip", "no JSON object: Sure, here: it is"],
        ["-", "", "skip", "unknown bank"],
        ["goal", "g1", "skip", "duplicate: of g0"],
    ]
    make_run({"a": ["p"]}, writing="llm", memories={"a": [memory("x", writes=writes)]})
    table = activity(load_runs(runs_dir))
    columns = ["kind", "bank", "change", "reason", "count"]
    assert table.frame[columns].values.tolist() == [
        ["write", "goal", "skip", "duplicate: of g0", 1],
        ["problem", "-", "skip", "no JSON object", 2],
        ["problem", "-", "skip", "unknown bank", 1],
    ]
    rows = [[cell.text for cell in row] for group in table.grids[0].groups for row in group]
    assert ["Extraction problems: what could not be used of a model's answer", "", "", "3"] in rows


def test_only_steps_with_equal_earlier_commands_are_compared(make_run: MakeRun, runs_dir: Path, memory: Memory) -> None:
    texts = {"memarbiter": ["same", "one", "two", "far"], "wo_gate": ["same", "one", "other", "far away"]}
    commands = {"memarbiter": ["p", "q", "r", "s"], "wo_gate": ["p", "q", "z", "s"]}
    for method, words in texts.items():
        memories = {"a": [memory(word) for word in words], "b": [memory("same")]}
        make_run({"a": commands[method], "b": ["p"]}, method=method, memories=memories)
    full, ablation = load_runs(runs_dir)
    assert equal_history_steps(ablation.episodes["a"], full.episodes["a"]) == [False, False, True]
    row = prompt_differences([full, ablation]).frame.iloc[0]
    assert (row.method, row.tasks, row.differing_tasks) == ("wo_gate", 2, 1)
    assert (row.steps, row.differing_steps, row.percent) == (4, 1, 25.0)


def test_ablations_are_compared_at_their_own_budget_and_on_tasks_of_both(
    make_run: MakeRun, runs_dir: Path, memory: Memory
) -> None:
    planned = ["a", "b"]
    make_run({"a": ["p"]}, planned=planned, budget=750)
    make_run({"b": ["p"]}, planned=planned, budget=500)
    make_run({"a": ["p"]}, planned=planned, method="wo_banks", budget=750)
    make_run({"a": ["p"]}, planned=planned, method="wo_banks", budget=500)
    frame = prompt_differences(load_runs(runs_dir)).frame
    assert frame[["budget", "tasks", "steps"]].values.tolist() == [[500, 0, 0], [750, 1, 1]]
    assert frame.percent.isna().tolist() == [True, False]


def test_without_an_ablation_there_is_nothing_to_compare(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["p"]})
    table = prompt_differences(load_runs(runs_dir))
    assert table.grids == ()
    assert len(table.frame) == 0
