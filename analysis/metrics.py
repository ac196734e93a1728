"""The paper's metrics (sections 4.1 and 4.4) as pure functions.

Per-episode metrics return a :class:`Share` (a count out of a count), so that a value never stands without
what it was counted from. All percentages are in percent (0 to 100).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from analysis.load import Episode, Step


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` out of ``total`` within one episode; a total of 0 means that the episode has no rate."""

    hits: int
    total: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Tasks won out of all tasks planned."""

    won: int
    planned: int
    finished: int

    @property
    def percent(self) -> float | None:
        """In percent of the planned tasks; None while a planned task is not finished, or none was planned."""
        return 100 * self.won / self.planned if 0 < self.planned == self.finished else None


@dataclass(frozen=True, slots=True)
class Macro:
    """Mean of task-level rates, each task with equal weight.

    Attributes:
        percent: The mean in percent; None if no task has a rate.
        tasks: Tasks with a rate.
        hits: Hits in all of them together.
        total: What the hits were counted from, e.g. failed executions.
    """

    percent: float | None
    tasks: int
    hits: int
    total: int


@dataclass(frozen=True, slots=True)
class ShareChange:
    """Episodic share of the memory prompt, in percent, at failed actions and at the next prompt."""

    before: float | None
    after: float | None
    failures: int
    tasks: int


def success_at(k: int, planned: Collection[str], episodes: Mapping[str, Episode]) -> Rate:
    """SR@k: planned tasks won within ``k`` commands (paper section 4.1).

    Success comes from the environment's ``won`` alone. Tasks with an infrastructure error and tasks that
    were never run stay in the denominator. ``planned`` are the ids of all tasks, or of the tasks of a type.
    """
    results = [episodes[task].result for task in planned if task in episodes]
    return Rate(sum(result.won and result.steps <= k for result in results), len(planned), len(results))


def success_by_type(k: int, task_types: Mapping[str, str], episodes: Mapping[str, Episode]) -> dict[str, Rate]:
    """SR@k of each task type that is planned, by type. ``task_types`` maps every planned task to its type."""
    of_type: dict[str, list[str]] = {}
    for task, kind in task_types.items():
        of_type.setdefault(kind, []).append(task)
    return {kind: success_at(k, tasks, episodes) for kind, tasks in of_type.items()}


def normalise(text: str) -> str:
    """Lower case, single blanks, no final full stop: the form in which actions and observations are compared."""
    return " ".join(text.lower().split()).removesuffix(".").rstrip()


def common_failure_tasks(methods: Sequence[Mapping[str, Episode]]) -> tuple[str, ...]:
    """Tasks on which every given method has at least one failed execution, sorted (paper section 4.4).

    A task that a method has not played is not among them; with no method there are none.
    """
    failing = [
        {task for task, episode in episodes.items() if any(step.failed for step in episode.steps)}
        for episodes in methods
    ]
    return tuple(sorted(set.intersection(*failing))) if failing else ()


def one_step_recovery(steps: Sequence[Step]) -> Share:
    """Failed executions whose next action the environment executed.

    A failure at the last step has no next action: it is in neither count. An episode without any other
    failure therefore has no rate.
    """
    following = [after for before, after in pairwise(steps) if before.failed]
    return Share(sum(not after.failed for after in following), len(following))


def failed_action_repetition(steps: Sequence[Step]) -> Share:
    """Failed executions whose next normalised action is the failed one; last steps as in recovery."""
    following = [(before, after) for before, after in pairwise(steps) if before.failed]
    repeated = sum(normalise(before.action) == normalise(after.action) for before, after in following)
    return Share(repeated, len(following))


def adjacent_repetition(steps: Sequence[Step]) -> Share:
    """Pairs of consecutive actions that are the same after normalising; an episode of one step has none."""
    pairs = list(pairwise(normalise(step.action) for step in steps))
    return Share(sum(before == after for before, after in pairs), len(pairs))


def state_action_recurrence(steps: Sequence[Step]) -> Share:
    """Steps whose pair of normalised pre-action observation and action stood earlier in the episode."""
    pairs = [(normalise(step.observation), normalise(step.action)) for step in steps]
    return Share(len(pairs) - len(set(pairs)), len(pairs))


def macro(shares: Iterable[Share]) -> Macro:
    """Mean of the task-level rates. Episodes without a rate (a total of 0) are left out and not counted."""
    rated = [share for share in shares if share.total > 0]
    percent = 100 * fmean(share.hits / share.total for share in rated) if rated else None
    return Macro(percent, len(rated), sum(s.hits for s in rated), sum(s.total for s in rated))


def episodic_share(step: Step) -> float:
    """Share, 0 to 1, of the memory prompt's tokens that is Episodic content; 0 for an empty prompt.

    Sections are counted alone and can exceed the whole by a token or two where they meet; 1 is the limit.
    """
    return min(1.0, step.episodic_tokens / step.memory_tokens) if step.memory_tokens else 0.0


def episodic_share_change(episodes: Iterable[Sequence[Step]]) -> ShareChange:
    """Episodic share at the prompt of a failed action and at the next prompt (paper section 4.4, Table 5b).

    Both are means over failed executions, each with equal weight (the paper measures "for each failed
    execution" and names task-level averaging for Table 5a alone). A failure at the last step has no next
    prompt and is in neither mean.
    """
    pairs = [
        [(episodic_share(before), episodic_share(after)) for before, after in pairwise(steps) if before.failed]
        for steps in episodes
    ]
    flat = [pair for task in pairs for pair in task]
    if not flat:
        return ShareChange(None, None, 0, 0)
    before, after = (100 * fmean(values) for values in zip(*flat, strict=True))
    return ShareChange(before, after, len(flat), sum(bool(task) for task in pairs))
