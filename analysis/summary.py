"""``summary.md`` and ``manifest.json`` of a report: what was run, with what, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from analysis import paper
from analysis.cells import Cell, Grid, Table, budget_text, shown
from analysis.load import Run
from analysis.metrics import success_at
from analysis.names import DETERMINISTIC_READERS, method_name, model_name
from analysis.render import markdown, markdown_grid

READER_LABEL = """\
**`reader` is not a language model.** It is a deterministic program: an LLM's prompt goes in, and a plan that is
fixed for each task type decides what comes out. Its numbers measure *information sufficiency*: where it fails, the
prompt lacked a fact. `reader_slips` is this program with seeded wrong commands in between, for the sake of
failures. Neither says how well an LLM would act; set beside the paper's numbers, only the direction of a difference
can be compared, not its size."""

SOURCES = f"""\
Measured values come from the episode files of the runs below, one complete file per episode; success is what
the environment confirmed, over all planned tasks. Published values are those of the paper's Tables 2-5, of
its own models ({paper.QWEN}; in Table 3 {paper.GPT}), never of ours. The paper gives Figure 3's curves as a drawing
only, so that `figure3.png` marks the points its tables print. `episodes.csv` has one row per episode,
`activity.md` counts what every part of the memory did, `ablations.md` how often each ablation shows other text."""


def summary(runs: Sequence[Run], tables: Sequence[Table]) -> str:
    """The whole of ``summary.md``."""
    readers = any(run.condition.model in DETERMINISTIC_READERS for run in runs)
    incomplete = [run for run in runs if not run.coverage.complete]
    parts = ["# Results", *([READER_LABEL] if readers else []), SOURCES]
    if incomplete:
        parts.append(
            f"**{len(incomplete)} of {len(runs)} conditions are incomplete and have no headline number.** "
            "Run the same command again to play what is missing."
        )
    parts += ["## What was run", markdown_grid(_conditions(runs)), "## With what", markdown_grid(_facts(runs))]
    parts += ["## Figure 3", "![Success rate under different step limits](figure3.png)"]
    return "\n\n".join([*parts, *(markdown(table, level=2).rstrip("\n") for table in tables)]) + "\n"


def _conditions(runs: Iterable[Run]) -> Grid:
    rows = []
    for run in runs:
        condition, counts = run.condition, run.coverage
        rate = success_at(run.manifest.step_limit, run.manifest.tasks, run.episodes)
        texts = (
            model_name(condition.model),
            condition.env,
            str(condition.seed),
            budget_text(condition.budget),
            method_name(condition.method),
            *(str(n) for n in (counts.planned, counts.finished, counts.errors, counts.missing, rate.won)),
            shown(rate.percent, counts.state),
        )
        rows.append(tuple(Cell(text) for text in texts))
    header = ("Model", "Task set", "Seed", "Budget", "Method", "Planned", "Finished", "Errors", "Missing", "Won")
    return Grid("What was run", "llrrlrrrrrr", (*header, "Success (%)"), (tuple(rows),))


def _facts(runs: Sequence[Run]) -> Grid:
    facts: dict[str, list[str]] = {}
    for run in runs:
        manifest = run.manifest
        found = {
            "Step limit": str(manifest.step_limit),
            "Task set (sha256)": manifest.task_set_sha256,
            "Prompts (sha256)": manifest.prompts_sha256,
            "Code": _pairs(manifest.code),
            "Token counter": _pairs(manifest.tokenizer),
            "Versions": _pairs(manifest.versions),
        }
        for name, text in found.items():
            if text not in facts.setdefault(name, []):
                facts[name].append(text)
    rows = [(Cell(name), Cell("; or ".join(texts))) for name, texts in facts.items()]
    return Grid("With what", "ll", ("Fact", "Value"), (tuple(rows),))


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(values.items()))


def provenance(runs: Sequence[Run]) -> dict[str, Any]:
    """The manifests of all runs, small: what is equal in all stands once under ``common``.

    Task lists are left out (their hash stays), and so are all values that are a path or a file URL of the machine.
    """
    manifests = [_without_paths(_small(run)) for run in runs]
    first = manifests[0]
    common = {key: value for key, value in first.items() if all(m[key] == value for m in manifests)}
    rest = [{key: value for key, value in m.items() if key not in common} for m in manifests]
    return {"common": common, "runs": rest}


def _small(run: Run) -> dict[str, Any]:
    manifest = run.manifest.model_dump(mode="json", exclude={"tasks", "task_types"})
    counts = run.coverage
    return {**manifest, "planned": counts.planned, "finished": counts.finished, "state": counts.state}


def _without_paths(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_paths(item) for key, item in value.items() if not _is_path(item)}
    if isinstance(value, list):
        return [_without_paths(item) for item in value if not _is_path(item)]
    return value


def _is_path(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    absolute = PurePosixPath(value).is_absolute() or PureWindowsPath(value).is_absolute()
    return absolute or value.startswith(("~", "file:"))
