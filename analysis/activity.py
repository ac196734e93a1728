"""Proof from the episode files that every part of the memory acts, and that every ablation shows different text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from analysis.cells import (
    Cell,
    Grid,
    Record,
    Table,
    condition_name,
    coverage_note,
    rounded,
    setting_title,
    shown,
    to_frame,
    where,
)
from analysis.comparison import by_setting
from analysis.load import Episode, Event, Run
from analysis.names import ABLATIONS, FAMILY, method_key, method_name

KINDS = {
    "write": "Updates of a bank",
    "problem": "Extraction problems: what could not be used of a model's answer",
    "gate": "Changes of band by the gate",
    "shed": "Reduced for lack of budget",
}


@dataclass(frozen=True, kw_only=True)
class ActivityRow(Record):
    """How often a rule fired in a run, and in how many of its episodes."""

    kind: str
    bank: str
    change: str
    reason: str
    count: int
    episodes: int


@dataclass(frozen=True, kw_only=True)
class DifferenceRow(Record):
    """An ablation against the full method: steps with an equal history so far, and those with other text.

    ``tasks`` were finished by both; ``differing_tasks`` of them show other text at one such step at least.
    """

    method_name: str
    tasks: int
    differing_tasks: int
    steps: int
    differing_steps: int
    percent: float | None


def activity(runs: Iterable[Run]) -> Table:
    """Counts of every update, gate and shedding rule per run, over its finished episodes."""
    records: list[ActivityRow] = []
    grids: list[Grid] = []
    for setting, group in by_setting(runs).items():
        counted = {
            condition_name(run.method, run.condition.budget): (run, event_counts(run))
            for run in group
            if run.condition.method in FAMILY or any(episode.events for episode in run.episodes.values())
        }
        if not counted:
            continue
        records += [row for run, counts in counted.values() for row in _activity_rows(run, counts)]
        counts_by_name = {name: counts for name, (_, counts) in counted.items()}
        note = coverage_note([run for run, _ in counted.values()])
        grids.append(_activity_grid(setting_title(setting), counts_by_name, note))
    caption = "Activity: how often every rule of the memory fired, in all finished episodes."
    return Table("activity", caption, to_frame(ActivityRow, records), tuple(grids))


def event_counts(run: Run) -> Counter[Event]:
    """All events of a run's episodes, counted."""
    total: Counter[Event] = Counter()
    for episode in run.episodes.values():
        total.update(episode.events)
    return total


def _activity_rows(run: Run, counts: Counter[Event]) -> list[ActivityRow]:
    condition = where(run.setting, run.method, run.condition.budget, run)
    return [
        ActivityRow(
            **condition,
            kind=event.kind,
            bank=event.bank,
            change=event.change,
            reason=event.reason,
            count=counts[event],
            episodes=sum(event in episode.events for episode in run.episodes.values()),
        )
        for event in sorted(counts, key=_event_rank)
    ]


def _activity_grid(title: str, counts: dict[str, Counter[Event]], note: str) -> Grid:
    groups = []
    for kind, words in KINDS.items():
        events = sorted({event for found in counts.values() for event in found if event.kind == kind})
        totals = [sum(n for event, n in found.items() if event.kind == kind) for found in counts.values()]
        first = (Cell(words, bold=True), *(Cell("") for _ in range(2)), *(Cell(str(n), bold=True) for n in totals))
        rows = [
            (Cell(e.bank), Cell(e.change), Cell(e.reason), *(Cell(str(found[e])) for found in counts.values()))
            for e in events
        ]
        groups.append((first, *rows))
    header = ("Bank", "Change", "Reason", *counts)
    return Grid(title, "lll" + "r" * len(counts), header, tuple(groups), (note,))


def _event_rank(event: Event) -> tuple[int, Event]:
    return (list(KINDS).index(event.kind), event)


def prompt_differences(runs: Iterable[Run]) -> Table:
    """Each ablation against the full method at the same setting, budget and writing.

    Compared are the memory texts of the same task and step, as long as all earlier commands are equal: there
    the two memories have seen the same, and differ only by what the ablation takes away.
    """
    records: list[DifferenceRow] = []
    grids: list[Grid] = []
    for setting, group in by_setting(runs).items():
        index = {(run.method, run.condition.budget): run for run in group}
        pairs = [
            (run, index[full])
            for run in group
            if run.condition.method in ABLATIONS
            and (full := (method_key("memarbiter", run.condition.writing), run.condition.budget)) in index
        ]
        if not pairs:
            continue
        rows = [_difference(run, full) for run, full in pairs]
        records += rows
        header = ("Ablation", "Tasks", "with other text", "Steps", "with other text", "%")
        cells = tuple(_difference_cells(row) for row in rows)
        notes = (coverage_note([run for pair in pairs for run in pair]),)
        grids.append(Grid(setting_title(setting), "lrrrrr", header, (cells,), notes))
    caption = "Ablations: memory text against the full method, at steps with an equal history."
    return Table("ablations", caption, to_frame(DifferenceRow, records), tuple(grids))


def equal_history_steps(first: Episode, second: Episode) -> list[bool]:
    """For each step both episodes reach with the same commands behind them: do the memory texts differ?"""
    pairs = list(zip(first.steps, second.steps, strict=False))
    same = sum(1 for _ in takewhile(lambda pair: pair[0].action == pair[1].action, pairs))
    return [a.memory_digest != b.memory_digest for a, b in pairs[: same + 1]]


def _difference(run: Run, full: Run) -> DifferenceRow:
    common = [task for task in run.episodes if task in full.episodes]
    tasks = [equal_history_steps(run.episodes[task], full.episodes[task]) for task in common]
    steps, differing = sum(map(len, tasks)), sum(map(sum, tasks))
    return DifferenceRow(
        **where(run.setting, run.method, run.condition.budget, run),
        method_name=method_name(run.method),
        tasks=len(tasks),
        differing_tasks=sum(map(any, tasks)),
        steps=steps,
        differing_steps=differing,
        percent=rounded(100 * differing / steps if steps else None),
    )


def _difference_cells(row: DifferenceRow) -> tuple[Cell, ...]:
    counts: Sequence[int] = (row.tasks, row.differing_tasks, row.steps, row.differing_steps)
    name = condition_name(row.method, row.budget)
    return (Cell(name), *(Cell(str(count)) for count in counts), Cell(shown(row.percent, "no data")))
