"""``summary.md`` and ``manifest.json`` of a report: what was run, with what, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from analysis import paper
from analysis.accounting import call_rows, gap_warning
from analysis.cells import Cell, Grid, Table, budget_text, shown
from analysis.load import Run
from analysis.metrics import success_at
from analysis.names import CHANCE_MODELS, DETERMINISTIC_READERS, method_name, model_name
from analysis.render import markdown, markdown_escape, markdown_grid

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
`activity.md` counts what every part of the memory did, `ablations.md` how often each ablation shows other text,
`accounting.md` what the model calls cost and how they ended."""

CHANCE_LABEL = """\
**`local_cpu` is no baseline.** SmolLM2-135M-Instruct is a language model small enough for a CPU, and plays at chance
level. Its rows prove that the whole path works, from prompt to parsed answer to table, and nothing else: no
difference between them says anything about a method."""

WRITING = """\
Behind a method's name stands who parses the state and writes the candidates for its memory: (llm) a language model,
in two questions per step as in the paper; (merged) a language model, in one question; any other mark names the parts.
MemArbiter and its ablations without a mark are written by rules."""


def summary(runs: Sequence[Run], tables: Sequence[Table]) -> str:
    """The whole of ``summary.md``."""
    parts = ["# Results", *_labels(runs), SOURCES, *_cautions(runs)]
    parts += ["## What was run", markdown_grid(_conditions(runs)), "## With what", markdown_grid(_facts(runs))]
    parts += ["## Figure 3", "![Success rate under different step limits](figure3.png)"]
    return "\n\n".join([*parts, *(markdown(table, level=2).rstrip("\n") for table in tables)]) + "\n"


def _labels(runs: Sequence[Run]) -> Iterator[str]:
    """What kind of models acted, and what the marks behind a method's name mean; as far as it occurs."""
    models = list(dict.fromkeys(run.condition.model for run in runs))
    if any(model in DETERMINISTIC_READERS for model in models):
        yield READER_LABEL
    if language_models := [markdown_escape(model) for model in models if model not in DETERMINISTIC_READERS]:
        yield f"Language models that acted: {', '.join(language_models)}."
    if any(model in CHANCE_MODELS for model in models):
        yield CHANCE_LABEL
    if any(run.method != run.condition.method for run in runs):
        yield WRITING


def _cautions(runs: Sequence[Run]) -> Iterator[str]:
    """What keeps a number from being taken at its face value."""
    if incomplete := [run for run in runs if not run.coverage.complete]:
        yield (
            f"**{len(incomplete)} of {len(runs)} conditions are incomplete and have no headline number.** "
            "Run the same command again to play what is missing."
        )
    if overflows := sum(run.overflows for run in runs):
        yield (
            f"**{overflows} of {sum(len(run.episodes) for run in runs)} finished episodes ended because the prompt did "
            "not fit the model's window.** They count as not won, but tell of the window, not of what the agent did: "
            "see the column Overflows."
        )
    if warning := gap_warning(row for run in runs for row in call_rows(run)):
        yield markdown_escape(warning)


def _conditions(runs: Sequence[Run]) -> Grid:
    some_overflow = any(run.overflows for run in runs)
    rows = []
    for run in runs:
        condition, counts = run.condition, run.coverage
        rate = success_at(run.manifest.step_limit, run.manifest.tasks, run.episodes)
        texts = (
            model_name(condition.model),
            condition.env,
            str(condition.seed),
            budget_text(condition.budget),
            method_name(run.method),
            *(str(n) for n in (counts.planned, counts.finished, counts.errors, counts.missing, rate.won)),
            shown(rate.percent, counts.state),
            *([str(run.overflows)] if some_overflow else []),
        )
        rows.append(tuple(Cell(text) for text in texts))
    header: tuple[str, ...] = (
        "Model",
        "Task set",
        "Seed",
        "Budget",
        "Method",
        "Planned",
        "Finished",
        "Errors",
        "Missing",
        "Won",
    )
    header += ("Success (%)", "Overflows") if some_overflow else ("Success (%)",)
    return Grid("What was run", "llrrl" + "r" * (len(header) - 5), header, (tuple(rows),))


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
            **{f"Server ({role})": _server(facts) for role, facts in (manifest.servers or {}).items()},
        }
        for name, text in found.items():
            if text not in facts.setdefault(name, []):
                facts[name].append(text)
    rows = [(Cell(name), Cell("; or ".join(texts))) for name, texts in facts.items()]
    return Grid("With what", "ll", ("Fact", "Value"), (tuple(rows),))


def _server(facts: Mapping[str, Any]) -> str:
    return _pairs({key: value for key, value in _without_paths(dict(facts)).items() if not isinstance(value, dict)})


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
