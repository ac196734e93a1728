"""What has occurred in an episode: nothing else may be stored of what a model writes."""

from __future__ import annotations

import re

from memarbiter.context import topics_of

_ENTITY = re.compile(r"\b([a-z]+) (\d+)\b")
_WORD = re.compile(r"[a-z]+")

#: Words that stand before a number without naming a thing.
_COUNTING = frozenset(
    ["a", "all", "and", "any", "at", "be", "by", "count", "exactly", "find", "first", "for", "from", "has", "have", "in", "is", "it", "least", "more", "most", "move", "moved", "must", "need", "needs", "of", "on", "one", "only", "or", "other", "place", "placed", "put", "quantity", "second", "step", "steps", "take", "than", "the", "them", "to", "total", "two", "with"]
)


class Episode:
    """The words and entities that goal, observations and actions of an episode have named."""

    def __init__(self, goal: str) -> None:
        self._entities: set[str] = set()
        self._words: set[str] = set()
        self.tell(goal)

    def tell(self, text: str) -> None:
        """Take in what has been said."""
        self._words |= set(_WORD.findall(text.lower()))
        self._entities |= {f"{kind} {number}" for kind, number in _ENTITY.findall(text.lower())}

    def known(self, name: str) -> bool:
        """Whether an entity ("mug 1"), a kind or another word has occurred."""
        name = name.lower().strip()
        return (
            name in self._entities
            or (bool(_WORD.findall(name))
            and set(_WORD.findall(name)) <= self._words
            and not (_ENTITY.search(name)))
        )

    def entities(self, text: str) -> tuple[str, ...]:
        """The entities of this episode that a text names, in their order."""
        return tuple(dict.fromkeys(name for name in _entities(text) if name in self._entities))

    def topics(self, text: str) -> frozenset[str]:
        """Words and entities of a text that have occurred in this episode."""
        return frozenset(topic for topic in topics_of(text) if self.known(topic))

    def stranger(self, text: str, examples: frozenset[str]) -> str:
        """An entity of a text that never occurred, or a word that only the prompt's example knows; empty if none.

        Args:
            text: What is to be stored.
            examples: Kinds of things in the prompt's example.
        """
        for name in _entities(text):
            if name not in self._entities:
                return name
        words = set(_WORD.findall(text.lower()))
        return min((words & examples) - self._words, default="")


def _entities(text: str) -> list[str]:
    return [f"{kind} {number}" for kind, number in _ENTITY.findall(text.lower()) if kind not in _COUNTING]


def example_kinds(text: str) -> frozenset[str]:
    """The kinds of things that an example names with a number."""
    return frozenset(name.split(" ", 1)[0] for name in _entities(text))
