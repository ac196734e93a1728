"""What the model calls of every condition cost: by the server's count, by ours, and how they ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.cells import (
    Cell,
    Grid,
    Record,
    Row,
    Table,
    condition_name,
    rounded,
    setting_title,
    shown,
    to_frame,
    where,
)
from analysis.comparison import by_setting
from analysis.load import Episode, Run
from analysis.names import method_name
from experiments.records import Usage
from memarbiter.chat import Outcome

LARGE_GAP = 1.3
NOT_TOLD = "not told"
PURPOSES = ("act", "parse", "write", "parse_and_write")

HEADER = (
    "Condition",
    "Purpose",
    "Calls",
    "per step",
    "Prompt tokens per step: server",
    "ours",
    "Server/ours",
    "Completion tokens per step",
    "Failed attempts",
    "Cut (%)",
    "Other outcomes",
)


@dataclass(frozen=True, kw_only=True)
class CallsRow(Record):
    """The calls of one purpose in one run.

    ``calls``, ``steps``, ``failed_attempts`` and the outcomes are totals over the ``recorded_episodes``: the finished
    ones whose file says what was called. So are ``own_prompt_tokens``. The server's tokens are those of the episodes in
    which it told its count for every call, ``prompt_told_episodes`` and ``completion_told_episodes`` of them; None if
    there is no such episode. Each figure per step, and ``server_to_own``, is over one and the same set of episodes.
    """

    method_name: str
    purpose: str
    calls: int
    steps: int
    calls_per_step: float | None
    server_prompt_tokens: int | None
    own_prompt_tokens: int
    completion_tokens: int | None
    server_prompt_tokens_per_step: float | None
    own_prompt_tokens_per_step: float | None
    server_to_own: float | None
    completion_tokens_per_step: float | None
    failed_attempts: int
    answered: int
    cut: int
    cut_percent: float | None
    thought_only: int
    empty: int
    refused: int
    no_choice: int
    context_overflow: int
    recorded_episodes: int
    prompt_told_episodes: int
    completion_told_episodes: int

    @property
    def large_gap(self) -> bool:
        """True if the server counts so many more tokens that a prompt which fits by our count need not fit."""
        return self.server_to_own is not None and self.server_to_own > LARGE_GAP


def accounting(runs: Sequence[Run]) -> Table:
    """Model calls per condition and purpose, over its finished episodes."""
    records: list[CallsRow] = []
    grids: list[Grid] = []
    for setting, group in by_setting(runs).items():
        rows = [(run, call_rows(run)) for run in group]
        records += [row for _, found in rows for row in found]
        groups = tuple(tuple(map(_cells, found)) for _, found in rows if found)
        if any(run.episodes for run in group):
            align = "ll" + "r" * (len(HEADER) - 3) + "l"
            grids.append(Grid(setting_title(setting), align, HEADER, groups, _notes(rows)))
    caption = "Model calls: how many, how long, and how they ended, in all finished episodes."
    return Table("accounting", caption, to_frame(CallsRow, records), tuple(grids))


def call_rows(run: Run) -> list[CallsRow]:
    """One row per purpose that the run called a model for; none if its files do not say."""
    recorded = _recorded(run)
    found = {purpose for episode in recorded for purpose in episode.result.usage}
    order = [*(name for name in PURPOSES if name in found), *sorted(found.difference(PURPOSES))]
    return [_row(run, recorded, purpose) for purpose in order]


def gap_warning(rows: Iterable[CallsRow]) -> str | None:
    """A sentence that names the rows in which the server counts far more tokens than we do; None if there are none."""
    wide = [f"{_name(row)}, {row.purpose} ({row.server_to_own:.2f})" for row in rows if row.large_gap]
    if not wide:
        return None
    return (
        f"Warning: the server counts more than {LARGE_GAP} times the tokens that we count: {'; '.join(wide)}. Budgets "
        "of different models are alike in our count only, and a prompt that fits by our count may not fit the window."
    )


def _recorded(run: Run) -> list[Episode]:
    """Finished episodes that say what was called: files from before calls were added up do not."""
    return [episode for episode in run.episodes.values() if episode.result.usage]


def _row(run: Run, episodes: Sequence[Episode], purpose: str) -> CallsRow:
    uses = [(episode.result.usage.get(purpose, Usage()), episode.result.steps) for episode in episodes]
    steps, calls = sum(n for _, n in uses), sum(use.calls for use, _ in uses)
    prompt, completion = _told(uses, "prompt_tokens"), _told(uses, "completion_tokens")
    own = sum(use.own_prompt_tokens for use, _ in uses)
    server = sum(use.prompt_tokens or 0 for use, _ in prompt)
    written = sum(use.completion_tokens or 0 for use, _ in completion)
    ended: dict[str, Any] = {
        outcome.name.lower(): sum(use.outcomes.get(outcome, 0) for use, _ in uses) for outcome in Outcome
    }
    return CallsRow(
        **where(run.setting, run.method, run.condition.budget, run),
        **ended,
        method_name=method_name(run.method),
        purpose=purpose,
        calls=calls,
        steps=steps,
        calls_per_step=_ratio(calls, steps),
        server_prompt_tokens=server if prompt else None,
        own_prompt_tokens=own,
        completion_tokens=written if completion else None,
        server_prompt_tokens_per_step=_ratio(server, sum(n for _, n in prompt)),
        own_prompt_tokens_per_step=_ratio(own, steps),
        server_to_own=_ratio(server, sum(use.own_prompt_tokens for use, _ in prompt)),
        completion_tokens_per_step=_ratio(written, sum(n for _, n in completion)),
        failed_attempts=sum(use.failed_attempts for use, _ in uses),
        cut_percent=_ratio(100 * ended["cut"], calls),
        recorded_episodes=len(uses),
        prompt_told_episodes=len(prompt),
        completion_told_episodes=len(completion),
    )


def _told(uses: Iterable[tuple[Usage, int]], count: str) -> list[tuple[Usage, int]]:
    """Uses, with their episode's steps, of which the server told this count; none if they are all without a call."""
    told = [(use, steps) for use, steps in uses if getattr(use, count) is not None]
    return told if any(use.calls for use, _ in told) else []


def _ratio(count: int, total: int) -> float | None:
    return rounded(count / total) if total else None


def _cells(row: CallsRow) -> Row:
    gap = " (large gap)" if row.large_gap else ""
    ended = {outcome: getattr(row, outcome.name.lower()) for outcome in Outcome if outcome is not Outcome.ANSWERED}
    return (
        Cell(_name(row)),
        Cell(row.purpose),
        Cell(str(row.calls)),
        Cell(shown(row.calls_per_step, "no step")),
        Cell(_per_step(row, row.server_prompt_tokens_per_step, row.prompt_told_episodes)),
        Cell(shown(row.own_prompt_tokens_per_step, "no step", 1)),
        Cell(shown(row.server_to_own, NOT_TOLD) + gap),
        Cell(_per_step(row, row.completion_tokens_per_step, row.completion_told_episodes)),
        Cell(str(row.failed_attempts)),
        Cell(shown(row.cut_percent, "no call")),
        Cell(", ".join(f"{outcome}: {count}" for outcome, count in ended.items() if count) or "none"),
    )


def _per_step(row: CallsRow, per_step: float | None, episodes: int) -> str:
    if episodes == 0:
        return NOT_TOLD
    part = "" if episodes == row.recorded_episodes else f" ({episodes}/{row.recorded_episodes})"
    return shown(per_step, "no step", 1) + part


def _name(row: CallsRow) -> str:
    return condition_name(row.method, row.budget)


def _notes(rows: Sequence[tuple[Run, Sequence[CallsRow]]]) -> tuple[str, ...]:
    silent = [run for run, _ in rows if len(_recorded(run)) < len(run.episodes)]
    names = ", ".join(condition_name(run.method, run.condition.budget) for run in silent)
    warning = gap_warning(row for _, found in rows for row in found)
    return (
        *([warning] if warning else []),
        "The budget of the memory block is counted by us, in o200k_base tokens. Ours is this count for the whole text "
        "of the messages; the server counts with its own tokenizer and adds its chat template. Not told: the server "
        "gave no count, which is not 0. In brackets: the episodes in which it gave one for every call, where these "
        "are not all. Cut: length stops, in percent of the calls.",
        *([f"Some or all episodes of {names} do not say what was called, and are left out."] if silent else []),
    )
