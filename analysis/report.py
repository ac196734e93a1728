"""Tables, figure and summary from the runs of a folder: ``python -m analysis.report <runs> --out <results>``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pandas as pd
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from analysis.accounting import accounting
from analysis.activity import activity, prompt_differences
from analysis.behaviour import table5a, table5b
from analysis.cells import Record, Table, budget_text, rounded, setting_title, shown, to_frame, where
from analysis.comparison import by_setting
from analysis.figures import curves, figure3, pdf_bytes, png_bytes
from analysis.files import write_bytes, write_csv, write_text
from analysis.load import LoadError, Run, load_runs
from analysis.metrics import success_at
from analysis.names import method_name
from analysis.render import markdown, tex
from analysis.summary import provenance, summary
from analysis.tables import table2, table3, table4

PAPER_TABLES: Sequence[Callable[[Sequence[Run]], Table]] = (table2, table3, table4, table5a, table5b)
EVIDENCE: Sequence[Callable[[Sequence[Run]], Table]] = (activity, prompt_differences, accounting)


@dataclass(frozen=True, kw_only=True)
class EpisodeRow(Record):
    """One finished episode. Model calls, commands and rejected commands are separate counts."""

    task_id: str
    task_type: str
    won: bool
    end_reason: str
    steps: int
    model_calls: int
    rejected_commands: int
    unparsable_replies: int
    extra_actions_dropped: int
    memory_tokens_mean: float | None
    memory_tokens_max: int | None


def write_report(runs: Sequence[Run], out: Path) -> list[Path]:
    """Write everything to ``out`` and return the paths, in the order written.

    Equal runs give equal bytes. The figure files also depend on the version of matplotlib.

    Raises:
        LoadError: If runs of one setting cannot be compared. Nothing is written then.
        OSError: If a file cannot be written.
    """
    tables = [build(runs) for build in PAPER_TABLES]
    evidence = [build(runs) for build in EVIDENCE]
    frames = {table.name: table.frame for table in (*tables, *evidence)}
    frames |= {"figure3": curves(runs), "episodes": episode_frame(runs)}
    figure = figure3(runs)
    texts = {f"{table.name}.md": markdown(table) for table in (*tables, *evidence)}
    texts |= {f"{table.name}.tex": tex(table) for table in tables}
    texts["manifest.json"] = json.dumps(provenance(runs), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    texts["summary.md"] = summary(runs, tables)
    for name, frame in frames.items():
        write_csv(out / f"{name}.csv", frame)
    write_bytes(out / "figure3.png", png_bytes(figure))
    write_bytes(out / "figure3.pdf", pdf_bytes(figure))
    for name, text in texts.items():
        write_text(out / name, text)
    return [out / name for name in (*(f"{name}.csv" for name in frames), "figure3.png", "figure3.pdf", *texts)]


def episode_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """One row per finished episode, in the order of the plan."""
    return to_frame(EpisodeRow, (row for run in runs for row in _episode_rows(run)))


def _episode_rows(run: Run) -> Iterable[EpisodeRow]:
    condition = where(run.setting, run.method, run.condition.budget, run)
    for task, episode in run.episodes.items():
        result, tokens = episode.result, [step.memory_tokens for step in episode.steps]
        yield EpisodeRow(
            **condition,
            task_id=task,
            task_type=episode.header.task_type,
            won=result.won,
            end_reason=result.end_reason,
            steps=result.steps,
            model_calls=result.model_calls,
            rejected_commands=result.rejected_commands,
            unparsable_replies=result.unparsable_replies,
            extra_actions_dropped=result.extra_actions_dropped,
            memory_tokens_mean=rounded(fmean(tokens)) if tokens else None,
            memory_tokens_max=max(tokens, default=None),
        )


def _print(console: Console, runs: Sequence[Run], written: Sequence[Path]) -> None:
    for setting, group in by_setting(runs).items():
        some_overflow = any(run.overflows for run in group)
        table = RichTable("Budget", "Method", "Finished", "Errors", "Missing", "Success (%)")
        if some_overflow:
            table.add_column("Overflows")
        table.title = Text(setting_title(setting))
        for run in group:
            counts = run.coverage
            rate = success_at(run.manifest.step_limit, run.manifest.tasks, run.episodes)
            cells = (
                budget_text(run.condition.budget),
                method_name(run.method),
                f"{counts.finished}/{counts.planned}",
                str(counts.errors),
                str(counts.missing),
                shown(rate.percent, counts.state),
                *([str(run.overflows)] if some_overflow else []),
            )
            table.add_row(*map(Text, cells))
        console.print(table)
    console.print(Text(f"{len(written)} files written to {written[0].parent}; begin with summary.md"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns 0, or 2 with a message where the runs or the folders cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis.report",
        description="Write the paper's Tables 2-5 and Figure 3 from the runs of a folder, beside the paper's "
        "own numbers, together with episodes.csv, the activity of every memory part, the model calls and summary.md.",
        epilog="Conditions that are not complete get no headline number; play what is missing with the "
        "command that played the rest.",
    )
    parser.add_argument("runs", type=Path, help="folder that holds the runs, at any depth")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results; made if absent")
    options = parser.parse_args(arguments)
    errors = Console(stderr=True, soft_wrap=True)
    if options.out.resolve().is_relative_to(options.runs.resolve()):
        errors.print(Text(f"{options.out} lies within {options.runs}; name a folder for the results outside it"))
        return 2
    try:
        runs = load_runs(options.runs)
        written = write_report(runs, options.out)
    except (LoadError, OSError) as error:
        errors.print(Text(str(error)))
        return 2
    _print(Console(), runs, written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
