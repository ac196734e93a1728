"""The temporal presentation gate: z_{i,t} = G_b(z_{i,t-1}, d_{b,t}, eta_{i,t}, h_{i,t-1}) (paper section 3.4).

Going up is quick and going down is slow: one high score is enough to show an item more fully, while showing it less
takes ``patience`` steps in a row whose smoothed score is low. That keeps items steady under noisy scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from memarbiter.items import Band, Bank, MemoryItem
from memarbiter.protocol import Move
from memarbiter.signals import Signals

PROTECTED = frozenset({Bank.GOAL, Bank.CONSTRAINT})

#: Order of the bands, by how much of an item they show.
RANK = {Band.HIDDEN: 0, Band.AMBIENT: 1, Band.FOCAL: 2}


@dataclass(frozen=True, slots=True)
class GateThresholds:
    """Thresholds on demand x relevance, in [0, 1], and the inertia of the gate.

    Attributes:
        promote: At or above it an item becomes focal at once.
        keep_focal: A focal item whose smoothed score stays below it becomes ambient.
        show: At or above it a hidden item becomes ambient at once.
        keep_shown: An ambient item whose smoothed score stays below it becomes hidden.
        smoothing: Weight of the new score in the exponential average, in (0, 1].
        patience: Weak steps in a row that a demotion needs, at least 1.

    Raises:
        ValueError: If a value is outside its range, or a threshold for keeping lies above the one for promoting.
    """

    promote: float = 0.6
    keep_focal: float = 0.4
    show: float = 0.2
    keep_shown: float = 0.18
    smoothing: float = 0.5
    patience: int = 2

    def __post_init__(self) -> None:
        if not 0 <= self.keep_shown <= self.show <= 1 or not self.show <= self.promote <= 1:
            raise ValueError(f"thresholds must be 0 <= keep_shown <= show <= promote <= 1, not {self}")
        if not self.keep_shown <= self.keep_focal <= self.promote:
            raise ValueError(f"thresholds must be keep_shown <= keep_focal <= promote, not {self}")
        if not 0 < self.smoothing <= 1:
            raise ValueError(f"smoothing must lie in (0, 1], not {self.smoothing}")
        if self.patience < 1:
            raise ValueError(f"patience must be at least 1, not {self.patience}")

    def band(self, score: float) -> Band:
        """The band that the score alone would give."""
        if score >= self.promote:
            return Band.FOCAL
        return Band.AMBIENT if score >= self.show else Band.HIDDEN

    def floor(self, band: Band) -> float:
        """The smoothed score below which an item in this band counts as weak."""
        return self.keep_focal if band is Band.FOCAL else self.keep_shown


@dataclass(frozen=True, slots=True)
class _Presence:
    """State z and relevance history h of one item: band, smoothed score, weak steps in a row."""

    band: Band
    smoothed: float
    weak: int = 0


class PresentationGate(Protocol):
    """Assigns a band to every item at every step."""

    def begin(self) -> None:
        """Forget all presentation states."""

    def assign(self, items: Iterable[MemoryItem], signals: Signals) -> tuple[dict[str, Band], list[Move]]:
        """The band of every item by id, and the changes with their reasons."""


class TemporalGate:
    """The stateful gate.

    Args:
        thresholds: See :class:`GateThresholds`.
        roles: If True (the full method), Goal and active Constraint items never fall below ambient, and the
            newest Task State snapshot is focal. A single pool knows no roles.
    """

    def __init__(self, thresholds: GateThresholds | None = None, roles: bool = True) -> None:
        self._thresholds = thresholds or GateThresholds()
        self._roles = roles
        self._presence: dict[str, _Presence] = {}

    def begin(self) -> None:
        """Forget all presentation states."""
        self._presence = {}

    def assign(self, items: Iterable[MemoryItem], signals: Signals) -> tuple[dict[str, Band], list[Move]]:
        """One step of the gate for every item; items that are gone are forgotten."""
        presence: dict[str, _Presence] = {}
        moves: list[Move] = []
        for item in items:
            before = self._presence.get(item.id)
            after, reason = self._next(item, signals.score(item), before)
            presence[item.id] = after
            if before is None or before.band is not after.band:
                moves.append(Move(item.bank, item.id, before.band if before else "new", after.band, reason))
        self._presence = presence
        return {key: state.band for key, state in presence.items()}, moves

    def _next(self, item: MemoryItem, score: float, before: _Presence | None) -> tuple[_Presence, str]:
        if not item.active:
            return _Presence(Band.HIDDEN, 0.0), str(item.content.status)
        if self._roles and item.bank == Bank.TASK_STATE:
            return _Presence(Band.FOCAL, score), "newest snapshot"
        after, reason = self._by_score(score, before)
        if self._roles and item.bank in PROTECTED and after.band is Band.HIDDEN:
            return _Presence(Band.AMBIENT, after.smoothed, after.weak), "protected"
        return after, reason

    def _by_score(self, score: float, before: _Presence | None) -> tuple[_Presence, str]:
        limits = self._thresholds
        if before is None:
            return _Presence(limits.band(score), score), "first score"
        smoothed = limits.smoothing * score + (1 - limits.smoothing) * before.smoothed
        if RANK[limits.band(score)] > RANK[before.band]:
            return _Presence(limits.band(score), smoothed), "strong signal"
        if before.band is Band.HIDDEN or smoothed >= limits.floor(before.band):
            return _Presence(before.band, smoothed), "kept"
        if before.weak + 1 < limits.patience:
            return _Presence(before.band, smoothed, before.weak + 1), "kept"
        lower = Band.AMBIENT if before.band is Band.FOCAL else Band.HIDDEN
        return _Presence(lower, smoothed), f"weak for {limits.patience} steps"


class StatelessGate:
    """The ablation without the temporal gate: every step decides from its own scores alone."""

    def __init__(self, thresholds: GateThresholds | None = None) -> None:
        self._thresholds = thresholds or GateThresholds()
        self._shown: Mapping[str, Band] = {}

    def begin(self) -> None:
        """Forget the previous bands, which are kept for the log only."""
        self._shown = {}

    def assign(self, items: Iterable[MemoryItem], signals: Signals) -> tuple[dict[str, Band], list[Move]]:
        """The band that the present score gives; no history, no protection."""
        bands: dict[str, Band] = {}
        moves: list[Move] = []
        for item in items:
            after = self._thresholds.band(signals.score(item)) if item.active else Band.HIDDEN
            before = self._shown.get(item.id)
            if before is not after:
                moves.append(Move(item.bank, item.id, before or "new", after, "present score"))
            bands[item.id] = after
        self._shown = bands
        return bands, moves
