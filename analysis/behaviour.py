"""Table 5 of the paper, measured beside published: what an agent does after a failure, and recurrence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis import paper
from analysis.cells import (
    ABSENT,
    Cell,
    Grid,
    Record,
    Row,
    Table,
    bold_best,
    coverage_note,
    minus,
    rounded,
    setting_title,
    shown,
    signed,
    to_frame,
    where,
)
from analysis.load import Run, Setting, Step
from analysis.metrics import (
    Share,
    adjacent_repetition,
    common_failure_tasks,
    episodic_share_change,
    failed_action_repetition,
    macro,
    one_step_recovery,
    state_action_recurrence,
)
from analysis.names import ABLATIONS, CONTROLS, MAIN_METHODS, method_name, method_of
from analysis.tables import Index, blocks, budgets_of, measured_with, others, variants

NO_COMMON_SET = "no common set"
METHODS_5A = tuple(reversed(MAIN_METHODS))

_PROMPTS = ("Failed-action prompt", "Paper", "Next prompt", "Paper", "Change", "Paper")
HEADER_5B = ("Setting", "Budget", *_PROMPTS, "Failures", "Tasks")


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of Table 5a: how it is measured, over which tasks, and how it is shown."""

    title: str
    measure: Callable[[Sequence[Step]], Share]
    common_failures_only: bool
    lowest_is_best: bool
    digits: int


METRICS = {
    "one_step_recovery": Metric("One-step recovery ↑", one_step_recovery, True, False, 1),
    "failed_action_repetition": Metric("Failed-action repetition ↓", failed_action_repetition, True, True, 1),
    "adjacent_repetition": Metric("Adjacent repetition ↓", adjacent_repetition, False, True, 2),
    "state_action_recurrence": Metric("State-action recurrence ↓", state_action_recurrence, False, True, 2),
}


@dataclass(frozen=True, kw_only=True)
class BehaviourRow(Record):
    """A metric of one method, macro-averaged over ``tasks`` tasks; ``hits`` of ``total`` in all of them."""

    method_name: str
    metric: str
    percent: float | None
    paper_percent: float | None
    difference: float | None
    tasks: int | None
    hits: int | None
    total: int | None
    common_failure_tasks: int | None
    paper_common_failure_tasks: int | None


@dataclass(frozen=True, kw_only=True)
class ShareRow(Record):
    """Episodic share of the memory prompt, in percent, averaged over ``failures`` failed executions."""

    method_name: str
    failed_prompt: float | None
    next_prompt: float | None
    change: float | None
    paper_failed_prompt: float | None
    paper_next_prompt: float | None
    paper_change: float | None
    failures: int | None
    tasks: int | None


def table5a(runs: Sequence[Run]) -> Table:
    """Failure response on the common-failure tasks, recurrence on all tasks (paper section 4.4)."""

    def wanted(run: Run) -> bool:
        return run.condition.method not in (*ABLATIONS, *CONTROLS) and run.condition.budget is not None

    records: list[BehaviourRow] = []
    grids: list[Grid] = []
    for setting, index in blocks(runs, wanted):
        own = sorted({method for budget in budgets_of(index) for method in others(index, budget)})
        methods = (*variants(index, METHODS_5A), *own)
        groups: list[list[list[BehaviourRow]]] = []
        for budget in budgets_of(index):
            common = common_set(index, budget)
            groups.append([[_behaviour(setting, index, m, budget, name, common) for m in methods] for name in METRICS])
        records += [row for group in groups for line in group for row in line]
        grids.append(_behaviour_grid(setting, methods, groups, index))
    caption = "Table 5a: failure recovery and recurrent behaviour (%), averaged over tasks."
    return Table("table5a", caption, to_frame(BehaviourRow, records), tuple(grids))


def common_set(index: Index, budget: int) -> tuple[str, ...] | None:
    """Common-failure tasks of the three main methods; None unless all three are complete at this budget.

    All ways of writing that were run at this budget take part, so that one set of tasks serves the whole table.
    """
    found = [run for (method, tokens), run in index.items() if tokens == budget and method_of(method) in MAIN_METHODS]
    methods = {run.condition.method for run in found}
    if len(methods) < len(MAIN_METHODS) or not all(run.coverage.complete for run in found):
        return None
    return common_failure_tasks([run.episodes for run in found])


def _behaviour(
    setting: Setting | None,
    index: Index,
    method: str,
    budget: int,
    name: str,
    common: tuple[str, ...] | None,
) -> BehaviourRow:
    run, metric = index.get((method, budget)), METRICS[name]
    value = None
    if run and run.coverage.complete:
        tasks = (common or ()) if metric.common_failures_only else run.manifest.tasks
        value = macro(metric.measure(run.episodes[task].steps) for task in tasks)
    published = paper.TABLE5A.get((budget, name), {}).get(method_of(method))
    percent = value.percent if value else None
    return BehaviourRow(
        **where(setting, method, budget, run),
        method_name=method_name(method),
        metric=name,
        percent=rounded(percent),
        paper_percent=published,
        difference=rounded(minus(percent, published), 2),
        tasks=value.tasks if value else None,
        hits=value.hits if value else None,
        total=value.total if value else None,
        common_failure_tasks=None if common is None else len(common),
        paper_common_failure_tasks=paper.COMMON_FAILURE_TASKS.get(budget),
    )


def _behaviour_grid(
    setting: Setting | None,
    methods: Sequence[str],
    groups: Sequence[Sequence[Sequence[BehaviourRow]]],
    index: Index,
) -> Grid:
    header = ["Budget", "Metric (%)"]
    for method in methods:
        header += [method_name(method), "Paper"] if method_of(method) in METHODS_5A else [method_name(method)]
    rows = tuple(tuple(_behaviour_cells(line) for line in group) for group in groups)
    counts = [
        f"{line.budget} tokens: {_count(line.common_failure_tasks)} (paper: {_count(line.paper_common_failure_tasks)})"
        for line in (group[0][0] for group in groups)
    ]
    notes = (
        coverage_note(list(index.values())),
        f"Common-failure tasks: {'; '.join(counts)}. They need complete runs of all three methods at one budget, "
        "and the first two metrics are averaged over them; the other two over all tasks. A failure at an "
        "episode's last step has no next action and is left out.",
        f"Italics: the paper, {paper.QWEN}, {paper.TASKS} tasks. Bold marks the best measured value.",
        *measured_with(setting, paper.QWEN),
    )
    return Grid(setting_title(setting), "ll" + "r" * (len(header) - 2), tuple(header), rows, notes)


def _count(tasks: int | None) -> str:
    return ABSENT if tasks is None else str(tasks)


def _behaviour_cells(line: Sequence[BehaviourRow]) -> Row:
    metric = METRICS[line[0].metric]
    best = bold_best([row.percent for row in line], lowest=metric.lowest_is_best)
    cells = [Cell(str(line[0].budget)), Cell(metric.title)]
    for row, bold in zip(line, best, strict=True):
        cells.append(Cell(shown(row.percent, _why_none(row, metric), metric.digits), bold))
        if method_of(row.method) in METHODS_5A:
            cells.append(Cell(shown(row.paper_percent, ABSENT, metric.digits), italic=True))
    return tuple(cells)


def _why_none(row: BehaviourRow, metric: Metric) -> str:
    if row.state != "complete":
        return row.state
    return NO_COMMON_SET if metric.common_failures_only and row.common_failure_tasks is None else "no data"


def table5b(runs: Sequence[Run]) -> Table:
    """Episodic share of the memory prompt at a failure and after it (paper section 4.4)."""

    def wanted(run: Run) -> bool:
        return (run.condition.method, run.condition.budget) in paper.TABLE5B

    records: list[ShareRow] = []
    grids: list[Grid] = []
    for setting, index in blocks(runs, wanted):
        rows = [
            _share(setting, index, variant, budget)
            for method, budget in paper.TABLE5B
            for variant in variants(index, (method,))
        ]
        records += rows
        notes = (
            coverage_note(list(index.values())),
            "Means over failed executions, each with equal weight, on all tasks. A failure at an episode's last "
            f"step has no next prompt and is left out. Italics: the paper, {paper.QWEN}.",
            *measured_with(setting, paper.QWEN),
        )
        cells = (tuple(map(_share_cells, rows)),)
        grids.append(Grid(setting_title(setting), "l" + "r" * (len(HEADER_5B) - 1), HEADER_5B, cells, notes))
    caption = "Table 5b: Episodic share (%) of the memory prompt before and after a failure."
    return Table("table5b", caption, to_frame(ShareRow, records), tuple(grids))


def _share(setting: Setting | None, index: Index, method: str, budget: int) -> ShareRow:
    run = index.get((method, budget))
    complete = run is not None and run.coverage.complete
    value = episodic_share_change(e.steps for e in run.episodes.values()) if run and complete else None
    before, after = (value.before, value.after) if value else (None, None)
    published = paper.TABLE5B[method_of(method), budget]
    return ShareRow(
        **where(setting, method, budget, run),
        method_name=method_name(method),
        failed_prompt=rounded(before),
        next_prompt=rounded(after),
        change=rounded(minus(after, before)),
        paper_failed_prompt=published[0],
        paper_next_prompt=published[1],
        paper_change=rounded(published[1] - published[0], 1),
        failures=value.failures if value else None,
        tasks=value.tasks if value else None,
    )


def _share_cells(row: ShareRow) -> Row:
    why = row.state if row.state != "complete" else "no failure"
    return (
        Cell(row.method_name),
        Cell(str(row.budget)),
        Cell(shown(row.failed_prompt, why, 1)),
        Cell(shown(row.paper_failed_prompt, ABSENT, 1), italic=True),
        Cell(shown(row.next_prompt, why, 1)),
        Cell(shown(row.paper_next_prompt, ABSENT, 1), italic=True),
        Cell(ABSENT if row.change is None else signed(row.change, 1)),
        Cell(ABSENT if row.paper_change is None else signed(row.paper_change, 1), italic=True),
        Cell(_count(row.failures)),
        Cell(_count(row.tasks)),
    )
