"""A smaller task set that still looks like the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from experiments.envs.base import TaskInfo, TaskSetError


def spread(tasks: Sequence[TaskInfo], n: int) -> list[TaskInfo]:
    """``n`` of the tasks, the same ones every time: evenly over the types, and evenly within each type.

    Types with few tasks are used up before others get more than their even part. The order of ids is kept.

    Raises:
        TaskSetError: If there are fewer than ``n`` tasks, or ``n`` is below 1.
    """
    if not 1 <= n <= len(tasks):
        raise TaskSetError(f"env.tasks={n} is not possible: the set has {len(tasks)} tasks; choose 1 to {len(tasks)}")
    by_type: dict[str, list[TaskInfo]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.id):
        by_type[task.type].append(task)
    quota = dict.fromkeys(sorted(by_type), 0)
    while sum(quota.values()) < n:
        # The type that has the fewest tasks so far and can still give one.
        neediest = min((kind for kind in quota if quota[kind] < len(by_type[kind])), key=lambda kind: quota[kind])
        quota[neediest] += 1
    chosen = [
        by_type[kind][index * len(by_type[kind]) // count] for kind, count in quota.items() for index in range(count)
    ]
    return sorted(chosen, key=lambda task: task.id)
