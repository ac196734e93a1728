"""Measures the suite's performance: ``python -m experiments.bench`` for all measures, or one by its name.

Each measure prints one JSON object on a line of its own for each thing it measures, and a table at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from experiments.bench import concurrency
from experiments.bench.concurrency import BenchError
from experiments.console import USER_ERRORS

#: A measure is a module with `arguments`, `measures` and `table`.
MEASURES = {"concurrency": concurrency}


def main(arguments: Sequence[str]) -> int:
    """Take the measures that the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench", description="Measure the suite's performance.")
    commands = parser.add_subparsers(dest="measure", metavar="measure", required=True)
    for name, module in MEASURES.items():
        summary = (module.__doc__ or "").split("\n\n")[0]
        module.arguments(commands.add_parser(name, help=summary, description=module.__doc__))
    console, progress = Console(), Console(stderr=True)
    # Read all of them first, so that a wrong argument costs no time.
    for told in [parser.parse_args(one) for one in ([list(arguments)] if arguments else [[name] for name in MEASURES])]:
        found = []
        try:
            for one in MEASURES[told.measure].measures(told, progress):
                found.append(one)
                print(json.dumps({"measure": told.measure, **asdict(one)}), flush=True)
        except (BenchError, *USER_ERRORS) as error:
            progress.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
            return 1
        console.print(MEASURES[told.measure].table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
