"""How far the episodes are: a progress bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 30.0


class EpisodeProgress:
    """Episodes done, won, success rate, time elapsed and left (``with EpisodeProgress(...) as progress``).

    Args:
        console: Where to show it.
        total: Planned episodes.
        done: Episodes that were finished before.
        won: How many of those were won.
    """

    def __init__(self, console: Console, total: int, done: int, won: int) -> None:
        self._console = console
        self._total, self._done, self._won, self._errors = total, done, won, 0
        self._before, self._start, self._last_line = done, monotonic(), monotonic()
        self._bar = Progress(
            TextColumn("{task.completed:.0f}/{task.total:.0f} episodes"),
            BarColumn(),
            TextColumn("{task.fields[won]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, completed=done, won=self._words())

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if not self._console.is_terminal:
            self._line()

    def finished(self, won: bool) -> None:
        """One more episode is finished."""
        self._done += 1
        self._won += won
        self._bar.update(self._task, completed=self._done, won=self._words())
        if not self._console.is_terminal and monotonic() - self._last_line > _SECONDS_BETWEEN_LINES:
            self._line()

    def failed(self, what: str) -> None:
        """An episode ended by an infrastructure error."""
        self._errors += 1
        self._bar.update(self._task, won=self._words())
        self._console.print(f"infrastructure error: {what}", markup=False, highlight=False, soft_wrap=True)

    def _words(self) -> str:
        rate = f"{100 * self._won / self._done:.1f} %" if self._done else "-"
        return f"won {self._won} ({rate})" + (f", {self._errors} errors" if self._errors else "")

    def _line(self) -> None:
        self._last_line = monotonic()
        elapsed = self._last_line - self._start
        played = self._done - self._before
        left = f", about {elapsed / played * (self._total - self._done) / 60:.1f} min left" if played else ""
        text = f"{self._done}/{self._total} episodes, {self._words()}, {elapsed / 60:.1f} min{left}"
        self._console.print(text, markup=False, highlight=False)
