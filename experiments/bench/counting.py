"""What counting tokens costs: the project's counter against the bare encoder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter
from unittest.mock import patch

from hydra.utils import instantiate
from rich.console import Console

from experiments.bench import games
from experiments.bench.measure import BenchError, Measure, faster
from experiments.bench.memory import BUDGET
from experiments.bench.scale import Scale
from experiments.bench.workers import each
from experiments.envs.base import TaskInfo
from experiments.episode import play
from experiments.models.reader import Reader
from memarbiter import tokens


def token_counting(scale: Scale, console: Console) -> Measure:
    """Count all that is counted in an episode, in its order."""
    tasks = games.chosen("household", scale.counted_episodes)
    texts = list(each(counted_texts, tasks, console, "token_counting: episodes"))
    pairs = list(each(timed_counts, texts, console, "token_counting", fresh=True))
    return faster(
        "token_counting",
        pairs,
        note=f"all texts that {len(tasks)} household episodes (memarbiter, budget {BUDGET}) have counted, each episode "
        "in a process whose counter is empty; baseline: tiktoken without a cache; ratio: baseline over value",
        texts_per_episode=sum(map(len, texts)) / len(texts),
        different_texts_per_episode=sum(len(set(one)) for one in texts) / len(texts),
    )


def counted_texts(task: TaskInfo) -> list[str]:
    """The texts whose tokens an episode counts, in their order: lines of the memory, memory blocks, prompts."""
    settings = games.composed("env=household", "method=memarbiter", f"budget={BUDGET}", "model=reader")
    env, memory = games.task_set("household").make(), instantiate(settings.method.memory)
    texts, real = list[str](), tokens.count

    def noted(text: str) -> int:
        texts.append(text)
        return real(text)

    with patch.object(tokens, "count", noted):
        asyncio.run(play(task, settings.condition, env, memory, Reader(), settings.limits))
    return texts


def timed_counts(texts: Sequence[str]) -> tuple[float, float]:
    """Seconds that the bare encoder and the counter take for the texts.

    Raises:
        BenchError: If they do not agree.
    """
    # The very encoder that the counter uses: tiktoken's own constructor of it would download the vocabulary.
    encoding = tokens._encoding()
    start = perf_counter()
    bare = [len(encoding.encode_ordinary(text)) for text in texts]
    middle = perf_counter()
    counted = [tokens.count(text) for text in texts]
    end = perf_counter()
    if bare != counted:
        raise BenchError("token_counting: the counter and the bare encoder do not agree")
    return middle - start, end - middle
