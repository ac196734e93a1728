"""The unstructured history that the flat methods share: one record format, one way to count, one prompt.

A record reads ``Step 3. Action: open drawer 1. Observation: You open the drawer 1. ...``, with the
environment's sentences verbatim; the first observation, which no action led to, reads ``Step 0.
Observation: ...``. The newest observation is part of the history, although the action prompt shows it as
well: the record also tells which action led to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memarbiter import tokens
from memarbiter.protocol import MemoryPrompt, Move, Task, Transition

BANK = "history"


@dataclass(frozen=True, slots=True)
class Record:
    """One piece of the history.

    Attributes:
        id: ``step-3``, or ``step-3.2`` for the second line of what was observed at step 3.
        observation: The environment's words alone.
        text: How the record stands in the prompt.
    """

    id: str
    observation: str
    text: str


def whole_records(step: int, action: str | None, observation: str) -> list[Record]:
    """One record for one step, however many lines were observed."""
    observation = observation.strip()
    return [Record(f"step-{step}", observation, _text(step, action, observation))]


def line_records(step: int, action: str | None, observation: str) -> list[Record]:
    """One record for each non-empty line that was observed; each carries the step and the action."""
    lines = [line.strip() for line in observation.splitlines() if line.strip()]
    return [
        Record(f"step-{step}.{number}", line, _text(step, action, line)) for number, line in enumerate(lines, start=1)
    ]


def _text(step: int, action: str | None, observation: str) -> str:
    cause = "" if action is None else f" Action: {action}."
    return f"Step {step}.{cause} Observation: {observation}"


class History:
    """Append-only records of the current episode, oldest first.

    Args:
        cut: How an observation becomes records: :func:`whole_records` or :func:`line_records`.
    """

    def __init__(self, cut: Callable[[int, str | None, str], list[Record]]) -> None:
        self._cut = cut
        self._records: list[Record] | None = None

    def begin(self, task: Task) -> None:
        """Forget everything and start with the first observation."""
        self._records = self._cut(0, None, task.observation)

    def add(self, step: Transition) -> None:
        """Append what one step brought."""
        self.records.extend(self._cut(step.step, step.action, step.observation))

    @property
    def records(self) -> list[Record]:
        """All records of this episode.

        Raises:
            RuntimeError: If no episode was begun.
        """
        if self._records is None:
            raise RuntimeError("No episode was begun: call begin(task) before record() and present().")
        return self._records


class WholeHistoryMemory:
    """What memories over whole records have in common: all but what they present."""

    def __init__(self) -> None:
        self._history = History(whole_records)

    def begin(self, task: Task) -> None:
        """Start an episode with the first observation as the oldest record."""
        self._history.begin(task)

    async def record(self, step: Transition) -> None:
        """Append the action and its observation."""
        self._history.add(step)


def check_budget(budget: int) -> None:
    """Raises ValueError if ``budget`` is not a number of tokens."""
    if budget < 0:
        raise ValueError(f"The memory budget must be 0 or more tokens, not {budget}.")


def joined_tokens(texts: Sequence[str]) -> int:
    """Exact o200k_base count of the texts of records, joined by line breaks.

    The counts of the parts add up exactly, each with the line break that follows it, because the encoding
    never merges across the place between a line break and the letter that a record begins with. So the
    count of an unchanged record comes from the counter's cache.
    """
    if not texts:
        return 0
    return sum(tokens.count(f"{text}\n") for text in texts[:-1]) + tokens.count(texts[-1])


def assemble(records: Sequence[Record], wanted: Sequence[Record], kept: Sequence[Record]) -> MemoryPrompt:
    """The prompt that shows ``kept``, in the given order.

    Args:
        records: All records of the episode.
        wanted: Those that would be shown if there were room for them.
        kept: Those that are shown; a text that differs from the record's own was cut short.
    """
    text = "\n".join(record.text for record in kept)
    size = tokens.count(text)
    shown = {record.id: record.text for record in kept}
    return MemoryPrompt(
        text=text,
        tokens=size,
        bank_tokens={BANK: size},
        bands={record.id: "focal" if record.id in shown else "hidden" for record in records},
        shed=tuple(
            Move(BANK, record.id, "focal", "focal", "cut short to fit the budget")
            if record.id in shown
            else Move(BANK, record.id, "focal", "hidden", "no room within the budget")
            for record in wanted
            if shown.get(record.id) != record.text
        ),
    )
