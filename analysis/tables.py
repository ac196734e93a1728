"""Tables 2, 3 and 4 of the paper, measured beside published: success rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    budget_text,
    coverage_note,
    minus,
    rounded,
    setting_title,
    shown,
    signed,
    to_frame,
    where,
)
from analysis.comparison import by_setting
from analysis.load import Run, Setting
from analysis.metrics import Rate, success_at, success_by_type
from analysis.names import (
    ABLATIONS,
    CONTROLS,
    FAMILY,
    MAIN_METHODS,
    METHODS,
    method_key,
    method_name,
    method_of,
    method_rank,
    model_name,
    type_name,
    type_rank,
)

OVERALL = "overall"

Index = Mapping[tuple[str, int | None], Run]
"""Runs by :attr:`Run.method` and budget."""


@dataclass(frozen=True, kw_only=True)
class SuccessRow(Record):
    """SR at the step limit for one task type, or overall. Percentages are None unless the run is complete."""

    method_name: str
    task_type: str
    won: int | None
    n: int | None
    percent: float | None
    paper_percent: float | None
    difference: float | None
    paper_model: str | None


@dataclass(frozen=True, kw_only=True)
class ThresholdRow(Record):
    """SR@k of one method; ``change`` is against MemArbiter in the same column, in percentage points."""

    method_name: str
    k: int
    won: int | None
    n: int | None
    percent: float | None
    paper_percent: float | None
    difference: float | None
    change: float | None
    paper_change: float | None
    paper_model: str | None


def blocks(runs: Iterable[Run], wanted: Callable[[Run], bool]) -> list[tuple[Setting | None, Index]]:
    """The settings in which a wanted condition was run, each with its runs by method and budget.

    If there is none, one empty block, so that the published values still stand, beside "not run".
    """
    found: list[tuple[Setting | None, Index]] = []
    for setting, group in by_setting(runs).items():
        index = {(run.method, run.condition.budget): run for run in group if wanted(run)}
        if index:
            found.append((setting, index))
    return found or [(None, {})]


def budgets_of(index: Index) -> list[int]:
    """The paper's budgets and those that were run, ascending."""
    return sorted({*paper.BUDGETS, *(budget for _, budget in index if budget is not None)})


def variants(index: Index, methods: Iterable[str]) -> list[str]:
    """The rows of these methods: each way of writing that was run, or the method itself if it was not run at all."""
    found = sorted({key for key, _ in index}, key=method_rank)
    return [row for method in methods for row in [key for key in found if method_of(key) == method] or [method]]


def others(index: Index, budget: int | None) -> list[str]:
    """Methods that the paper does not know, run at this budget (None: without one)."""
    return sorted(key for key, tokens in index if tokens == budget and method_of(key) not in METHODS)


def measured_with(setting: Setting | None, paper_model: str) -> list[str]:
    """A note for a table: is the measured model the one of the published values? None if nothing was measured."""
    if setting is None:
        return []
    whose = "the paper's model" if setting.model == paper.OUR_NAMES[paper_model] else "another model than the paper's"
    return [f"Measured with {whose}: {model_name(setting.model)}."]


# Table 2 -----------------------------------------------------------------------------------------------


def table2(runs: Sequence[Run]) -> Table:
    """Success by task type (paper section 4.2), then the controls and other methods without a budget."""
    records: list[SuccessRow] = []
    grids: list[Grid] = []
    for setting, index in blocks(runs, lambda run: run.condition.method not in ABLATIONS):
        types, main = _types(index), variants(index, MAIN_METHODS)
        lines = [
            (budget, [_line(setting, index, types, m, budget) for m in (*main, *others(index, budget))])
            for budget in budgets_of(index)
        ]
        unbudgeted = [
            _line(setting, index, types, method, budget)
            for method, budget in sorted(index, key=lambda key: method_rank(key[0]))
            if method in CONTROLS or budget is None
        ]
        grids.append(_success_grid(setting_title(setting), types, lines, _main_notes(setting, index)))
        if unbudgeted:
            title = f"Controls and methods without a budget, {setting_title(setting)}"
            notes = (coverage_note([r for (m, b), r in index.items() if m in CONTROLS or b is None]),)
            grids.append(_success_grid(title, types, [(None, unbudgeted)], notes))
        for line in (*(line for _, group in lines for line in group), *unbudgeted):
            records += line
    caption = "Table 2: success rate (%) by task type at the step limit."
    return Table("table2", caption, to_frame(SuccessRow, records), tuple(grids))


def _types(index: Index) -> dict[str, int]:
    """Planned tasks by type; the paper's types first. Without a run, the paper's sizes."""
    planned = [run.manifest.task_types for run in index.values()][:1]
    if not planned:
        return dict(paper.CATEGORY_SIZES)
    found = list(planned[0].values())
    return {kind: found.count(kind) for kind in sorted({*paper.CATEGORY_SIZES, *found}, key=type_rank)}


def _line(
    setting: Setting | None, index: Index, types: Mapping[str, int], method: str, budget: int | None
) -> list[SuccessRow]:
    run = index.get((method, budget))
    rates: dict[str, Rate] = {}
    if run:
        plan, limit = run.manifest.task_types, run.manifest.step_limit
        rates = {**success_by_type(limit, plan, run.episodes), OVERALL: success_at(limit, plan, run.episodes)}
    published = paper.TABLE2.get((budget, method_of(method))) if budget is not None else None
    values = {**published.by_type, OVERALL: published.overall} if published else {}
    complete = run is not None and run.coverage.complete
    rows = []
    for kind in (*types, OVERALL):
        rate = rates.get(kind)
        percent = rate.percent if rate and complete else None
        rows.append(
            SuccessRow(
                **where(setting, method, budget, run),
                method_name=method_name(method),
                task_type=kind,
                won=rate.won if rate else None,
                n=rate.planned if rate else None,
                percent=rounded(percent),
                paper_percent=values.get(kind),
                difference=rounded(minus(percent, values.get(kind)), 2),
                paper_model=paper.QWEN if kind in values else None,
            )
        )
    return rows


def _success_grid(
    title: str,
    types: Mapping[str, int],
    lines: Sequence[tuple[int | None, Sequence[Sequence[SuccessRow]]]],
    notes: tuple[str, ...],
) -> Grid:
    sizes = [f"{type_name(kind)} ({size})" for kind, size in types.items()]
    header = ("Budget", "Method", *sizes, f"Overall ({sum(types.values())})", "Won")
    groups = tuple(_success_group(budget, group) for budget, group in lines)
    return Grid(title, "ll" + "r" * (len(types) + 2), header, groups, notes)


def _success_group(budget: int | None, lines: Sequence[Sequence[SuccessRow]]) -> tuple[Row, ...]:
    columns = zip(*lines, strict=True)  # without a budget there is nothing that the methods compete under
    best = [bold_best([None if budget is None else row.percent for row in column]) for column in columns]
    rows: list[Row] = []
    for line, bold in zip(lines, zip(*best, strict=True), strict=True):
        first, last = line[0], line[-1]
        cells = [Cell(shown(row.percent, ABSENT), mark) for row, mark in zip(line[:-1], bold[:-1], strict=True)]
        won = ABSENT if last.won is None else f"{last.won}/{last.n}"
        overall = Cell(shown(last.percent, last.state), bold[-1])
        rows.append((Cell(budget_text(budget)), Cell(first.method_name), *cells, overall, Cell(won)))
        if last.paper_percent is not None:
            values = (Cell(shown(row.paper_percent, ABSENT), italic=True) for row in line)
            rows.append((Cell(""), Cell(f"paper, {last.paper_model}", italic=True), *values, Cell("")))
    return tuple(rows)


def _main_notes(setting: Setting | None, index: Index) -> tuple[str, ...]:
    runs = [run for (_, budget), run in index.items() if budget is not None]
    sizes = "/".join(str(size) for size in paper.CATEGORY_SIZES.values())
    return (
        coverage_note(runs),
        f"Rows in italics are the paper's Table 2: {paper.QWEN} on its {paper.TASKS} tasks ({sizes}). "
        "Bold marks the best measured value under each budget.",
        *measured_with(setting, paper.QWEN),
    )


# Tables 3 and 4 ----------------------------------------------------------------------------------------


def table3(runs: Sequence[Run]) -> Table:
    """The second action model at 500 tokens (paper section 4.2)."""

    def wanted(run: Run) -> bool:
        known = run.condition.method not in (*ABLATIONS, *CONTROLS)
        return known and run.condition.model == paper.GPT_MODEL and run.condition.budget == paper.ABLATION_BUDGET

    caption = f"Table 3: cross-model validation, {paper.GPT} as the action model, {paper.ABLATION_BUDGET} tokens."
    return _threshold_table("table3", caption, blocks(runs, wanted), paper.TABLE3, paper.GPT)


def table4(runs: Sequence[Run]) -> Table:
    """The ablations at 500 tokens (paper section 4.3)."""

    def wanted(run: Run) -> bool:
        return run.condition.method in paper.TABLE4 and run.condition.budget == paper.ABLATION_BUDGET

    caption = f"Table 4: ablations, {paper.ABLATION_BUDGET} tokens."
    return _threshold_table("table4", caption, blocks(runs, wanted), paper.TABLE4, paper.QWEN)


def _threshold_table(
    name: str,
    caption: str,
    parts: Sequence[tuple[Setting | None, Index]],
    published: Mapping[str, tuple[float, float]],
    paper_model: str,
) -> Table:
    records: list[ThresholdRow] = []
    grids: list[Grid] = []
    for setting, index in parts:
        methods = (*variants(index, published), *others(index, paper.ABLATION_BUDGET))
        pairs = [_thresholds(setting, index, method, published, paper_model) for method in methods]
        records += [row for pair in pairs for row in pair]
        notes = (
            coverage_note(list(index.values())),
            f"Changes are in percentage points against MemArbiter{_WHICH if len(_full(index)) > 1 else ''}. Italics: "
            f"the paper, {paper_model}, {paper.TASKS} tasks; in brackets the differences of its rates.",
            *measured_with(setting, paper_model),
        )
        grids.append(_threshold_grid(setting_title(setting), pairs, notes))
    return Table(name, caption, to_frame(ThresholdRow, records), tuple(grids))


_WHICH = " with the same writing, and for methods without one against its first row"


def _full(index: Index) -> list[str]:
    return variants(index, ("memarbiter",))


def _reference(index: Index, run: Run) -> Run | None:
    """The full method to compare with: the same in all but the method, so with the same writing if the run has one."""
    writing, formed = run.condition.writing, run.condition.writing or run.condition.method in FAMILY
    method = method_key("memarbiter", writing) if formed else _full(index)[0]
    return index.get((method, run.condition.budget))


def _thresholds(
    setting: Setting | None,
    index: Index,
    method: str,
    published: Mapping[str, tuple[float, float]],
    paper_model: str,
) -> list[ThresholdRow]:
    run = index.get((method, paper.ABLATION_BUDGET))
    full = _reference(index, run) if run else None
    printed = published.get(method_of(method))
    rows = []
    for position, k in enumerate((paper.EARLY_STEPS, paper.STEP_LIMIT)):
        rate = success_at(k, run.manifest.tasks, run.episodes) if run else None
        reference = success_at(k, full.manifest.tasks, full.episodes).percent if full else None
        percent = rate.percent if rate else None
        value = printed[position] if printed else None
        is_full = method_of(method) == "memarbiter"
        rows.append(
            ThresholdRow(
                **where(setting, method, paper.ABLATION_BUDGET, run),
                method_name=method_name(method),
                k=k,
                won=rate.won if rate else None,
                n=rate.planned if rate else None,
                percent=rounded(percent),
                paper_percent=value,
                difference=rounded(minus(percent, value), 2),
                change=None if is_full else rounded(minus(percent, reference)),
                paper_change=None if is_full else rounded(minus(value, published["memarbiter"][position]), 2),
                paper_model=None if value is None else paper_model,
            )
        )
    return rows


def _threshold_grid(title: str, pairs: Sequence[Sequence[ThresholdRow]], notes: tuple[str, ...]) -> Grid:
    header = ["Method"]
    for row in pairs[0]:
        header += [f"SR@{row.k} ↑", "Won", "Change", "Paper"]
    return Grid(title, "l" + "r" * (len(header) - 1), tuple(header), (tuple(map(_threshold_row, pairs)),), notes)


def _threshold_row(pair: Sequence[ThresholdRow]) -> Row:
    cells = [Cell(pair[0].method_name)]
    for row in pair:
        printed = shown(row.paper_percent, ABSENT)
        if row.paper_change is not None:
            printed += f" ({signed(row.paper_change)})"
        cells += [
            Cell(shown(row.percent, row.state)),
            Cell(ABSENT if row.won is None else f"{row.won}/{row.n}"),
            Cell(ABSENT if row.change is None else signed(row.change)),
            Cell(printed, italic=True),
        ]
    return tuple(cells)
