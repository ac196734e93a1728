"""One episode, from the first observation to its end. Knows nothing about batches or files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from experiments.accounting import usage
from experiments.agent import Decision, decide, render
from experiments.deadline import deadline
from experiments.envs.base import Environment, Outcome, TaskInfo
from experiments.models.llm.ledger import Ledger
from experiments.records import Condition, EndReason, EpisodeHeader, EpisodeResult, MemoryCall, MemoryRecord, StepRecord
from memarbiter import tokens
from memarbiter.chat import ChatModel
from memarbiter.protocol import MemoryPrompt, Move, Task, Transition, WorkingMemory
from memarbiter.quoting import neutralise

UNLIMITED = 2**31 - 1
"""Budget of a method that has none: more tokens than any episode can fill."""


class BudgetBroken(Exception):
    """A memory presented more tokens than it may, or miscounted them: a fault of the memory's code."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When an episode ends without a win, and how long the environment may take.

    Attributes:
        steps: Commands sent to the environment.
        unparsable: Unparsable replies in the whole episode.
        env_step_s: Seconds for one answer of the environment; more is an infrastructure error.
    """

    steps: int = 50
    unparsable: int = 10
    env_step_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Episode:
    """A complete episode, as its file holds it."""

    header: EpisodeHeader
    steps: tuple[StepRecord, ...]
    result: EpisodeResult


async def play(
    task: TaskInfo,
    condition: Condition,
    env: Environment,
    memory: WorkingMemory,
    model: ChatModel,
    limits: Limits,
    ledger: Ledger | None = None,
) -> Episode:
    """Play one task to its end: won, step limit, limit of unparsable replies, or a prompt too long for the model.

    Args:
        task: What is played.
        condition: What distinguishes this run from others.
        env: Where it is played.
        memory: The memory, used for this episode alone.
        model: Who chooses the commands.
        limits: When to end without a win.
        ledger: Where the memory's own model calls are found; None if nobody keeps them.

    Raises:
        DeadlineExceeded: If the environment takes longer than ``limits.env_step_s``.
        BudgetBroken: If the memory breaks its budget.
    """
    clock = _Clock()
    with clock.lap("environment"), deadline(limits.env_step_s, f"starting {task.id}"):
        opening = env.begin(task.id)
    # Markers are taken out before the memory is told, so that what it counts is what the prompt will hold. The id is
    # opaque: a task's own id names the folder of its game.
    told = Task(
        hashlib.sha256(task.id.encode()).hexdigest()[:12], neutralise(opening.goal), neutralise(opening.observation)
    )
    memory.begin(told)
    observation, steps, decisions = opening.observation, list[StepRecord](), list[Decision]()
    memory_calls = list[MemoryCall]()
    end: EndReason | None = None
    while end is None:
        with clock.lap("memory"):
            prompt = await _present(memory, condition.budget)
        asked = ledger.memory_calls() if ledger else []
        memory_calls += asked
        frame = render(opening.goal, observation, prompt.text)
        tries = limits.unparsable - sum(decision.unparsable for decision in decisions)
        with clock.lap("model"):
            decision = await decide(model, frame, task.id, len(steps) + 1, tries)
        decisions.append(decision)
        if decision.command is None:
            end = "context_overflow" if decision.overflow else "unparsable_limit"
            break
        with clock.lap("environment"), deadline(limits.env_step_s, f"step {len(steps) + 1} of {task.id}"):
            outcome = env.step(decision.command)
        steps.append(_step(len(steps) + 1, observation, prompt, asked, decision, outcome))
        observation = neutralise(outcome.observation)
        with clock.lap("memory"):
            await memory.record(
                Transition(len(steps), neutralise(decision.command), observation, outcome.failed, outcome.won)
            )
        if outcome.won:
            end = "won"
        elif len(steps) == limits.steps:
            end = "step_limit"
    header = EpisodeHeader(
        task_id=task.id,
        task_type=task.type,
        game_sha256=task.sha256,
        condition=condition,
        goal=opening.goal,
        observation=opening.observation,
    )
    timing = clock.seconds() | (ledger.seconds() if ledger else {})
    return Episode(header, tuple(steps), _result(end, steps, decisions, memory_calls, timing))


async def _present(memory: WorkingMemory, budget: int | None) -> MemoryPrompt:
    limit = UNLIMITED if budget is None else budget
    prompt = await memory.present(limit)
    counted = tokens.count(prompt.text)
    shown = tokens.count(neutralise(prompt.text))
    if prompt.tokens != counted or max(counted, shown) > limit:
        raise BudgetBroken(
            f"{type(memory).__name__} presented {counted} tokens ({shown} as the prompt quotes them) and reported "
            f"{prompt.tokens}; the budget is {limit}"
        )
    return prompt


def _step(
    number: int,
    observation: str,
    prompt: MemoryPrompt,
    memory_calls: list[MemoryCall],
    decision: Decision,
    outcome: Outcome,
) -> StepRecord:
    assert decision.command is not None
    return StepRecord(
        step=number,
        observation=observation,
        memory=_memory_record(prompt),
        calls=list(decision.calls),
        memory_calls=memory_calls,
        command=decision.command,
        was_admissible=outcome.was_admissible,
        failed=outcome.failed,
        result=outcome.observation,
        won=outcome.won,
    )


def _memory_record(prompt: MemoryPrompt) -> MemoryRecord:
    return MemoryRecord(
        text=prompt.text,
        tokens=prompt.tokens,
        bank_tokens=dict(prompt.bank_tokens),
        demand=_rounded(prompt.demand),
        relevance=_rounded(prompt.relevance),
        bands=dict(prompt.bands),
        writes=[[write.bank, write.item, write.policy, write.reason] for write in prompt.writes],
        transitions=[_moved(move) for move in prompt.transitions],
        shed=[_moved(move) for move in prompt.shed],
    )


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    # For the log only; four digits are more than anyone reads, and a third of the bytes.
    return {name: round(value, 4) for name, value in values.items()}


def _moved(move: Move) -> list[str]:
    return [move.bank, move.item, move.before, move.after, move.reason]


def _result(
    end: EndReason,
    steps: Sequence[StepRecord],
    decisions: Sequence[Decision],
    memory_calls: Sequence[MemoryCall],
    timing: dict[str, float],
) -> EpisodeResult:
    return EpisodeResult(
        won=any(step.won for step in steps),
        end_reason=end,
        steps=len(steps),
        model_calls=sum(len(decision.calls) for decision in decisions),
        rejected_commands=sum(step.failed for step in steps),
        unparsable_replies=sum(decision.unparsable for decision in decisions),
        extra_actions_dropped=sum(decision.dropped for decision in decisions),
        unanswered_calls=[call for decision in decisions if decision.command is None for call in decision.calls],
        usage=usage((call for decision in decisions for call in decision.calls), memory_calls),
        timing=timing,
    )


class _Clock:
    """Seconds spent in each part of an episode, and since its start."""

    def __init__(self) -> None:
        self._start = perf_counter()
        self._spent: dict[str, float] = defaultdict(float)

    @contextmanager
    def lap(self, part: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self._spent[part] += perf_counter() - start

    def seconds(self) -> dict[str, float]:
        return {**self._spent, "total": perf_counter() - self._start}
