"""The whole reproduction on the embedded default, and what of it goes into neither engine, memory nor model."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import BenchError, Goal, Measure
from experiments.bench.scale import Scale
from experiments.records import EpisodeResult
from experiments.settings import CHECKOUT
from memarbiter import vocabulary

_PARTS = ("environment", "memory", "model")


@dataclass(frozen=True, slots=True)
class Spent:
    """What a reproduction took.

    Attributes:
        episodes: How many were played.
        play_s: Wall seconds of playing.
        report_s: Wall seconds of the report.
        play_cpu_s: Processor seconds of all processes that played.
        report_cpu_s: Processor seconds of the report.
        laps_s: Wall seconds of all episodes in engine, memory and model.
        episodes_s: Wall seconds of all episodes.
    """

    episodes: int
    play_s: float
    report_s: float
    play_cpu_s: float
    report_cpu_s: float
    laps_s: dict[str, float]
    episodes_s: float


def reproduce(scale: Scale, console: Console) -> Measure:
    """Play all conditions with both readers, and write the report."""
    spent, cores = reproduced(scale.reproduced_tasks), _cores()
    wall_s, cpu_s = spent.play_s + spent.report_s, spent.play_cpu_s + spent.report_cpu_s
    return Measure(
        name="reproduce",
        value=wall_s,
        unit="s",
        baseline=cpu_s / cores,
        ratio=wall_s / (cpu_s / cores),
        note=f"{spent.episodes} household episodes (all conditions, both readers) and the report, games generated but "
        f"not translated before; value: wall seconds of one run, baseline: its processor seconds over {cores} cores",
        detail={"episodes": spent.episodes, "play_s": spent.play_s, "report_s": spent.report_s, "cpu_s": cpu_s},
        goals=(Goal("value", "<=", 300),),
    )


def harness_overhead(scale: Scale, console: Console) -> Measure:
    """Processor time of playing that goes into neither engine, memory nor model.

    The episodes' files hold wall seconds. Those of a part are too many by the time in which its process waited for a
    processor, so the overhead is at least what is left of the processor seconds when they are taken off. The workers
    cannot have waited longer than their cores were not used by the run, which gives the most that it can be.
    """
    spent, cores = reproduced(scale.reproduced_tasks), _cores()
    laps_s = sum(spent.laps_s.values())
    idle_s = max(0.0, cores * spent.play_s - spent.play_cpu_s)
    return Measure(
        name="harness_overhead",
        value=spent.play_cpu_s - laps_s,
        unit="s",
        baseline=spent.play_cpu_s,
        ratio=(spent.play_cpu_s - laps_s) / spent.play_cpu_s,
        n=spent.episodes,
        note="n: episodes of one run; value: processor seconds of playing less the wall seconds in engine, memory and "
        "model, a lower bound, since a wall second is none of the processor's while a process waits; baseline: "
        "processor seconds of playing; the parsing of replies and the counting of prompts belong to the model",
        detail={
            **{f"{part}_s": seconds for part, seconds in spent.laps_s.items()},
            "within_episodes_s": spent.episodes_s - laps_s,
            "outside_episodes_cpu_s": spent.play_cpu_s - spent.episodes_s,
            "idle_core_s": idle_s,
            "ratio_at_most": (spent.play_cpu_s - laps_s + idle_s) / spent.play_cpu_s,
        },
        goals=(Goal("ratio", "<=", 0.1),),
    )


@cache
def reproduced(tasks: int | None) -> Spent:
    """Reproduce so many tasks (None: all) in a folder that is removed afterwards; once in a process.

    Raises:
        BenchError: If it fails.
    """
    games.chosen("household", None)  # Generating the games does not count.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runs, results, cache_folder = (Path(folder) / name for name in ("runs", "results", "cache"))
        played = ["env=household", f"out='{runs}'", *([f"env.tasks={tasks}"] if tasks else [])]
        # No game's translation is there yet; the vocabulary is.
        places = {"XDG_CACHE_HOME": str(cache_folder), "TIKTOKEN_CACHE_DIR": str(vocabulary.cache_dir())}
        play_s, play_cpu_s = _run(["experiments.reproduce", *played], places)
        report_s, report_cpu_s = _run(["analysis.report", str(runs), "--out", str(results)], {})
        timings = [_timing(path) for path in runs.glob("*/*/episodes/*.jsonl")]
    return Spent(
        episodes=len(timings),
        play_s=play_s,
        report_s=report_s,
        play_cpu_s=play_cpu_s,
        report_cpu_s=report_cpu_s,
        laps_s={part: sum(timing[part] for timing in timings) for part in _PARTS},
        episodes_s=sum(timing["total"] for timing in timings),
    )


def _run(module: Sequence[str], places: dict[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of a program of the suite with all processes that it starts."""
    before, start = getrusage(RUSAGE_CHILDREN), perf_counter()
    environment = {**os.environ, **places}
    done = subprocess.run(
        [sys.executable, "-m", *module], cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL, check=False
    )
    wall_s, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise BenchError(f"python -m {module[0]} ended with exit status {done.returncode}; see above")
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _timing(episode: Path) -> dict[str, float]:
    return EpisodeResult.model_validate_json(episode.read_bytes().splitlines()[-1]).timing


def _cores() -> int:
    return len(os.sched_getaffinity(0))
