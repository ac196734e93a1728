"""Prompt assembly: bank sections, focal before ambient, within the token budget (paper section 3.5).

The paper leaves open what gives way when the gate shows more than the budget holds. Two policies:
:class:`ByRelevance` reduces the least relevant item first, wherever it stands; :class:`FixedShares` gives each bank a
constant part of the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memarbiter import tokens
from memarbiter.gate import PROTECTED, RANK
from memarbiter.items import Band, Bank, MemoryItem
from memarbiter.protocol import MemoryPrompt, Move
from memarbiter.signals import Signals

_LOWER = {Band.FOCAL: Band.AMBIENT, Band.AMBIENT: Band.HIDDEN}


class Renderer(Protocol):
    """Renders an item in a band as one line."""

    def render(self, item: MemoryItem, band: Band) -> str:
        """The line; empty for a hidden item."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The items with their signals and the bands that the gate gave them."""

    items: Mapping[str, Sequence[MemoryItem]]
    bands: Mapping[str, Band]
    signals: Signals
    last_failure: str | None


class Page:
    """A prompt in the making: which item stands in which band, and what that costs.

    The sizes are sums over lines counted alone. They can differ by a few tokens from the count of the joined
    text, so whoever needs certainty counts :meth:`text` itself.
    """

    def __init__(self, shown: Shown, renderer: Renderer) -> None:
        self._shown = shown
        self._renderer = renderer
        self.bands = dict(shown.bands)
        self.shed: list[Move] = []
        self._line_sizes = {item.id: self._line_size(item) for items in shown.items.values() for item in items}

    def lower(self, item: MemoryItem, reason: str) -> None:
        """Show the item one band lower."""
        before = self.bands[item.id]
        self.bands[item.id] = _LOWER[before]
        self._line_sizes[item.id] = self._line_size(item)
        self.shed.append(Move(item.bank, item.id, before, self.bands[item.id], reason))

    def section(self, bank: str) -> str:
        """The bank's section: heading, focal items, ambient items, each by relevance; empty if all are hidden."""
        lines = [self._line(item) for item in self._ordered(bank)]
        return "\n".join([_heading(bank), *lines]) if lines else ""

    def section_size(self, bank: str) -> int:
        """Tokens of the section, line by line."""
        lines = sum(self._line_sizes[item.id] for item in self._shown.items[bank])
        return lines and lines + tokens.count(_heading(bank) + "\n")

    def size(self) -> int:
        """Tokens of all sections, line by line."""
        return sum(self.section_size(bank) for bank in self._shown.items)

    def text(self) -> str:
        """The whole memory block."""
        return "\n".join(section for section in map(self.section, self._shown.items) if section)

    def _line(self, item: MemoryItem) -> str:
        # One line for each item, so that no text can pass for a heading or for another item.
        return f"- {' '.join(self._renderer.render(item, self.bands[item.id]).split())}"

    def _line_size(self, item: MemoryItem) -> int:
        return 0 if self.bands[item.id] is Band.HIDDEN else tokens.count(self._line(item) + "\n")

    def _ordered(self, bank: str) -> list[MemoryItem]:
        visible = [item for item in self._shown.items[bank] if self.bands[item.id] is not Band.HIDDEN]
        relevance = self._shown.signals.relevance
        return sorted(visible, key=lambda i: (self.bands[i.id] is Band.AMBIENT, -relevance[i.id], i.latest))


class Shedding(Protocol):
    """Decides what gives way until the page fits."""

    def fit(self, page: Page, shown: Shown, budget: int) -> None:
        """Lower items of the page until its text counts at most ``budget`` tokens."""


class ByRelevance:
    """The least relevant item gives way first, to ambient, then to hidden.

    Goals, active constraints and the last failure can lose their full form in this order like all others, but
    they are hidden only after everything else is gone.
    """

    def fit(self, page: Page, shown: Shown, budget: int) -> None:
        """Lower items until the text fits."""
        for item, floor, reason in self._order(shown):
            while RANK[page.bands[item.id]] > RANK[floor]:
                if page.size() <= budget and tokens.count(page.text()) <= budget:
                    return
                page.lower(item, reason)

    def _order(self, shown: Shown) -> Iterator[tuple[MemoryItem, Band, str]]:
        items = [item for items in shown.items.values() for item in items]
        last = {item.id for item in items if item.bank in PROTECTED or item.id == shown.last_failure}
        # Among equals, who can only become shorter goes before who would vanish.
        by_score = sorted(items, key=lambda i: (shown.signals.score(i), i.id not in last, i.latest))
        for item in by_score:
            yield item, Band.AMBIENT if item.id in last else Band.HIDDEN, "least relevant"
        for item in by_score:
            yield item, Band.HIDDEN, "nothing else left"


class FixedShares:
    """The ablation's fixed allocation: each bank may fill a constant part of the budget, however much it needs.

    Args:
        shares: Part of the budget by bank name; they add up to at most 1.

    Raises:
        ValueError: If a share is negative, or they add up to more than 1.
    """

    def __init__(self, shares: Mapping[str, float]) -> None:
        if wrong := [bank for bank, share in shares.items() if share < 0]:
            raise ValueError(f"the share of {wrong[0]!r} is negative: {shares[wrong[0]]}")
        if sum(shares.values()) > 1 + 1e-9:
            raise ValueError(f"the banks' shares add up to {sum(shares.values()):.2f}, more than the whole budget")
        self._shares = dict(shares)

    def fit(self, page: Page, shown: Shown, budget: int) -> None:
        """Lower the least relevant items of each bank until its section fits its share."""
        for bank, items in shown.items.items():
            share = int(self._shares.get(bank, 0.0) * budget)
            for item in sorted(items, key=lambda i: (shown.signals.relevance[i.id], i.latest)):
                while page.bands[item.id] is not Band.HIDDEN and page.section_size(bank) > share:
                    page.lower(item, "over the bank's share")
        ByRelevance().fit(page, shown, budget)


class Assembler:
    """Turns the gate's output into the memory prompt ``P_t``."""

    def __init__(self, renderer: Renderer, shedding: Shedding) -> None:
        self._renderer = renderer
        self._shedding = shedding

    def assemble(self, shown: Shown, budget: int) -> MemoryPrompt:
        """The prompt within ``budget`` tokens, without writes and gate transitions.

        Raises:
            ValueError: If ``budget`` is negative.
        """
        if budget < 0:
            raise ValueError(f"a memory budget cannot be negative: {budget}")
        page = Page(shown, self._renderer)
        self._shedding.fit(page, shown, budget)
        text = page.text()
        return MemoryPrompt(
            text=text,
            tokens=tokens.count(text),
            bank_tokens={bank: tokens.count(page.section(bank)) for bank in shown.items},
            bands=page.bands,
            relevance=shown.signals.relevance,
            demand=shown.signals.demand,
            shed=tuple(page.shed),
        )


def last_failure(items: Iterable[MemoryItem]) -> str | None:
    """Id of the newest failed event, or None."""
    failures = [item for item in items if item.content.failed and item.content.bank is Bank.EPISODIC]
    return max(failures, key=lambda item: item.latest).id if failures else None


def _heading(bank: str) -> str:
    return f"## {bank.replace('_', ' ').capitalize()}"
