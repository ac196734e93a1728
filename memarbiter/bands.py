"""The two renderings of an item: focal (full content) and ambient (a cue), one template pair per bank.

Paper section 3.2: the ambient form comes from a deterministic, bank-specific template that keeps key entities,
relations or state. An item in any bank can be shown in either form without being extracted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from memarbiter.items import Band, Bank, MemoryItem

Render = Callable[[MemoryItem], str]

#: Most steps of a merged event that are named one by one.
_STEPS_NAMED = 3

#: Where a fact's text lists its members.
_MEMBERS = "{members}"


def listing(members: Iterable[str]) -> str:
    """All members: "pen 1, key 2"; "nothing" if there are none."""
    return ", ".join(members) or "nothing"


def compact(members: Iterable[str]) -> str:
    """All members, each kind named once: "drawer 3, 4; fridge 1"; "nothing" if there are none."""
    kinds = groupby(members, key=lambda member: member.rsplit(" ", 1)[0])
    groups = (f"{name} {', '.join(member.rsplit(' ', 1)[-1] for member in same)}" for name, same in kinds)
    return "; ".join(groups) or "nothing"


def _text(item: MemoryItem) -> str:
    content = item.content
    return content.text.replace(_MEMBERS, listing(content.members)) if _lists(item) else content.text


def _lists(item: MemoryItem) -> bool:
    # Only facts list members; elsewhere, braces are what somebody said.
    return item.content.bank is Bank.REFERENCE and _MEMBERS in item.content.text


def _subject(item: MemoryItem) -> str:
    return item.content.subject


def _state_cue(item: MemoryItem) -> str:
    return f"Step {item.latest}: {item.content.value}"


def _constraint_cue(item: MemoryItem) -> str:
    return f"{item.content.subject}: {item.content.value}"


def _steps(item: MemoryItem) -> str:
    shown = ", ".join(map(str, item.steps[-_STEPS_NAMED:]))
    return f"{'Steps' if len(item.steps) > 1 else 'Step'} {shown}"


def _event(item: MemoryItem) -> str:
    return f"{_steps(item)}: {_text(item)}"


def _event_cue(item: MemoryItem) -> str:
    return f"{_steps(item)}: {item.content.subject} ({item.content.value})"


def _fact(item: MemoryItem) -> str:
    return f"{_text(item)} (step {item.latest})"


def _fact_cue(item: MemoryItem) -> str:
    content = item.content
    if not _lists(item):
        return f"{content.subject}: {content.value} (step {item.latest})"
    kept = [member for member in content.members if member in content.cues]
    rest = len(content.members) - len(kept)
    shown = compact(kept) if kept else ("nothing needed" if content.members else "nothing")
    more = f"; {rest} more" if kept and rest else ""
    when = f" (step {item.latest})" if kept and content.exclusive else ""
    return f"{content.subject}: {shown}{more}{when}"


#: Focal and ambient template of each bank.
TEMPLATES: Mapping[str, tuple[Render, Render]] = {
    Bank.GOAL: (_text, _subject),
    Bank.TASK_STATE: (_text, _state_cue),
    Bank.CONSTRAINT: (_text, _constraint_cue),
    Bank.EPISODIC: (_event, _event_cue),
    Bank.REFERENCE: (_fact, _fact_cue),
}


def full_form(item: MemoryItem) -> str:
    """The focal form of an item, whatever bank or pool holds it."""
    focal, _ = TEMPLATES[item.content.bank]
    return focal(item)


class BankTemplates:
    """Renders an item by its bank's own template pair."""

    def render(self, item: MemoryItem, band: Band) -> str:
        """One line of text; empty for a hidden item."""
        if band is Band.HIDDEN:
            return ""
        focal, ambient = TEMPLATES[item.bank]
        return (focal if band is Band.FOCAL else ambient)(item)


class UniformTemplate:
    """The rendering without functional banks: one template pair for every item."""

    def render(self, item: MemoryItem, band: Band) -> str:
        """One line of text; empty for a hidden item."""
        if band is Band.HIDDEN:
            return ""
        return (_event if band is Band.FOCAL else _event_cue)(item)
