"""How full a model's server is kept: the wall time of many episodes against the longest one's chain of calls.

The calls of one episode follow each other, so no run can be shorter than its longest chain of calls. With a server
that answers any number of requests at once (:mod:`experiments.bench.server`), all that a run takes beyond that is the
suite's own doing: starting workers, loading games, waiting for a processor.

*Wall time* runs from the moment at which the servers have been asked who they are and the workers are about to start,
until the last episode's file is there. Starting the workers and loading the games belong to it; generating the task
set, checking it, and the probe's questions do not.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import BenchError, Measure
from experiments.bench.scale import Scale
from experiments.bench.server import LOAD_PATH, MODEL, Simulated
from experiments.console import play_all
from experiments.models.llm.ledger import StoredCall, read_calls
from experiments.models.llm.servers import running
from experiments.settings import Settings

_BUDGET = 500
_INTERRUPTED = 130
_URL = "http://127.0.0.1:${free_port:bench}/v1"

#: What is played: settings on top of the model's.
CASES = {
    "flat_recency": ["method=flat_recency"],
    "memarbiter": ["method=memarbiter", "parser=rules", "writer=rules"],
    "memarbiter_llm": ["method=memarbiter", "parser=llm", "writer=llm"],
}


@dataclass(frozen=True, slots=True)
class Figures:
    """One measure.

    Attributes:
        case: What was played, a name in :data:`CASES`.
        episodes: How many.
        latency_s: Seconds from a request to its answer.
        wall_s: Seconds from the start of the workers to the end of the last episode.
        chain_calls: Calls of the episode with the most.
        chain_s: Their latency: what the run takes at least.
        chain_measured_s: The longest sum of an episode's calls as its client saw them.
        ratio: ``wall_s`` over ``chain_s``.
        ratio_measured: ``wall_s`` over ``chain_measured_s``.
        calls: Calls of all episodes.
        failed_attempts: Requests that had to be repeated.
        mean_in_flight: Calls that the server had in hand on average over ``wall_s``.
        most_in_flight: The most of them at once.
        client_cpu_s: Processor seconds of the run's processes, from reading the task set to the last file.
        server_cpu_s: Processor seconds of the simulated server.
        cores: Cores that could be used.
        load_before: Processes that wanted a core on average over the minute before.
    """

    case: str
    episodes: int
    latency_s: float
    wall_s: float
    chain_calls: int
    chain_s: float
    chain_measured_s: float
    ratio: float
    ratio_measured: float
    calls: int
    failed_attempts: int
    mean_in_flight: float
    most_in_flight: int
    client_cpu_s: float
    server_cpu_s: float
    cores: int
    load_before: float


def concurrency(case: str, scale: Scale, console: Console) -> Measure:
    """Play a case on the simulated server.

    Raises:
        BenchError: If the run could not be finished.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = composed(case, scale.concurrency_tasks, Path(folder))
        found = measured(case, settings, scale.concurrency_latency_s, console)
    return Measure(
        name=f"concurrency_{case}",
        value=found.wall_s,
        unit="s",
        baseline=found.chain_s,
        ratio=found.ratio,
        n=found.episodes,
        note=f"n: episodes; value: wall seconds of one run on a simulated server that answers any number of requests "
        f"after {found.latency_s:g} s, baseline: the answers of the longest episode, one after the other",
        detail={name: figure for name, figure in asdict(found).items() if name not in ("case", "episodes", "ratio")},
    )


def composed(case: str, tasks: int, out: Path) -> Settings:
    """The settings of ``experiments.run`` for a case, on the simulated server."""
    values = {
        "env": "household",
        "env.tasks": tasks,
        "model": "qwen3_6_27b",
        "model.name": MODEL,
        "model.base_url": f"'{_URL}'",
        "model.server": "null",
        "budget": _BUDGET,
        "out": f"'{out}'",
    }
    return games.composed(*(f"{name}={value}" for name, value in values.items()), *CASES[case])


def measured(case: str, settings: Settings, latency_s: float, console: Console) -> Figures:
    """Play a run on a simulated server that is started for it.

    Args:
        case: The run's name in the figures.
        settings: The run; its model must be one with a server, on a free port of this machine.
        latency_s: Seconds of each answer.
        console: Where the run shows how far it is.

    Raises:
        BenchError: If the run could not be finished.
    """
    url, load_before = settings.model["base_url"], os.getloadavg()[0]
    with running(Simulated(latency_s), url):
        before = _cpu_s()
        if status := play_all(lambda: [settings], console):
            if status == _INTERRUPTED:
                raise KeyboardInterrupt
            raise BenchError(f"{case}: the run ended with exit status {status}; see above")
        client_cpu_s = _cpu_s() - before
        load = _told(url.removesuffix("/v1") + LOAD_PATH)
    folder = Path(settings.out)
    episodes = [list(read_calls(path)) for path in sorted(folder.glob("calls/*.jsonl"))]
    wall_s = _wall_s(folder)
    chain_calls = max(map(len, episodes))
    chain_measured_s = max(sum(call.seconds for call in calls) for calls in episodes)
    calls = sum(map(len, episodes))
    return Figures(
        case=case,
        episodes=len(episodes),
        latency_s=latency_s,
        wall_s=round(wall_s, 2),
        chain_calls=chain_calls,
        chain_s=chain_calls * latency_s,
        chain_measured_s=round(chain_measured_s, 2),
        ratio=round(wall_s / (chain_calls * latency_s), 3),
        ratio_measured=round(wall_s / chain_measured_s, 3),
        calls=calls,
        failed_attempts=_failed(episodes),
        mean_in_flight=round(calls * latency_s / wall_s, 1),
        most_in_flight=load["most_in_flight"],
        client_cpu_s=round(client_cpu_s, 1),
        server_cpu_s=round(load["cpu_s"], 1),
        cores=len(os.sched_getaffinity(0)),
        load_before=round(load_before, 2),
    )


def _wall_s(folder: Path) -> float:
    """From the manifest, which is complete when the servers have answered the probe, to the last episode's file."""
    ends = [path.stat().st_mtime_ns for path in folder.glob("episodes/*.jsonl")]
    return (max(ends) - (folder / "manifest.json").stat().st_mtime_ns) / 1e9


def _failed(episodes: Sequence[Sequence[StoredCall]]) -> int:
    return sum(len(call.failures) for calls in episodes for call in calls)


def _cpu_s() -> float:
    """Processor seconds of this process and of its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _told(url: str) -> dict[str, Any]:
    with build_opener(ProxyHandler({})).open(url, timeout=30) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


#: Each case by the name of its measure.
CASES_BY_NAME = {f"concurrency_{case}": partial(concurrency, case) for case in CASES}
