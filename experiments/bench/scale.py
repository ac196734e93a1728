"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sample sizes of all measures.

    Attributes:
        timed_games: Games on which the engines are timed, spread over the task types.
        timed_steps: Commands on each.
        compared_games: Games of each task set on which the engines' words are compared; None for all.
        compared_steps: Random commands on each.
        passes: How often the long history is given to each memory.
        short_history: Steps after which a memory's step is timed first.
        long_history: Steps after which it is timed again.
        short_window: Steps around the former that are timed.
        long_window: Steps around the latter that are timed.
        counted_episodes: Episodes whose texts are counted.
        concurrency_tasks: Tasks that are played on the simulated server.
        concurrency_latency_s: Seconds that each of its answers takes.
        settled_episodes: Episodes after which a process has all that it needs.
        episodes: Episodes that it plays in all.
        reproduced_tasks: Tasks of a reproduction; None for all.
    """

    timed_games: int
    timed_steps: int
    compared_games: int | None
    compared_steps: int
    passes: int
    short_history: int
    long_history: int
    short_window: int
    long_window: int
    counted_episodes: int
    concurrency_tasks: int
    concurrency_latency_s: float
    settled_episodes: int
    episodes: int
    reproduced_tasks: int | None


FULL = Scale(
    timed_games=24,
    timed_steps=50,
    compared_games=None,
    compared_steps=40,
    passes=3,
    short_history=50,
    long_history=1000,
    short_window=41,
    long_window=201,
    counted_episodes=24,
    concurrency_tasks=134,
    concurrency_latency_s=4.0,
    settled_episodes=20,
    episodes=200,
    reproduced_tasks=None,
)

QUICK = Scale(
    timed_games=4,
    timed_steps=20,
    compared_games=2,
    compared_steps=12,
    passes=1,
    short_history=50,
    long_history=1000,
    short_window=41,
    long_window=201,
    counted_episodes=4,
    concurrency_tasks=12,
    concurrency_latency_s=0.5,
    settled_episodes=5,
    episodes=25,
    reproduced_tasks=6,
)
