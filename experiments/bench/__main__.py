"""Measures how the suite performs: ``python -m experiments.bench`` for all measures, or some by their names.

Each measure prints one JSON object on a line of its own, and all of them a table at the end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.bench.scale import FULL, QUICK
from experiments.bench.suite import MEASURES, ON_REQUEST, named, run
from experiments.settings import CHECKOUT

_EPILOG = """\
measures:
{measures}

The beginning of several names stands for all of them (memory_step, concurrency). Those marked * are taken only when
they are named. A goal that is missed is stated; the exit status tells only of measures that could not be taken.
"""


def main(arguments: Sequence[str]) -> int:
    """Take the measures that the command line asks for; returns the exit status."""
    told = _parser().parse_args(arguments)
    if unknown := [name for name in told.measures if not named(name)]:
        _parser().error(f"unknown measure '{unknown[0]}'; there are: {', '.join(MEASURES)}")
    chosen = [one for name in told.measures for one in named(name)] or [
        one for one in MEASURES if one not in ON_REQUEST
    ]
    scale = QUICK if told.quick else FULL
    scale = replace(
        scale,
        concurrency_tasks=told.tasks or scale.concurrency_tasks,
        concurrency_latency_s=told.latency or scale.concurrency_latency_s,
    )
    whole = CHECKOUT / "results" / "bench.json" if scale == FULL and not told.measures else None
    return run(list(dict.fromkeys(chosen)), scale, told.out or whole)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.bench",
        description="Measure how the suite performs, and print one JSON object for each measure and a table.",
        epilog=_EPILOG.format(measures="\n".join(f"  {name}{' *' if name in ON_REQUEST else ''}" for name in MEASURES)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("measures", nargs="*", metavar="measure", help="which (default: all)")
    parser.add_argument("--quick", action="store_true", help="small samples, for a fast look")
    parser.add_argument(
        "--out",
        type=Path,
        help="JSON file of the figures (default: results/bench.json for all measures at full size, else none)",
    )
    served = parser.add_argument_group("the simulated server of concurrency_*")
    served.add_argument(
        "--tasks", type=_positive(int), help=f"household tasks to play (default: {FULL.concurrency_tasks})"
    )
    served.add_argument(
        "--latency", type=_positive(float), help=f"seconds of each answer (default: {FULL.concurrency_latency_s:g})"
    )
    return parser


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        if (value := kind(text)) <= 0:
            raise ValueError(text)
        return value

    number.__name__ = "positive number"
    return number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
