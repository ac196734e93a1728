"""What has occurred in an episode: nothing else may be stored of what a model writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memarbiter.context import topics_of

# A word with a number, and the word after them unless that has a number as well.
_NUMBERED = re.compile(r"\b([a-z]+) (\d+)\b(?=(?: ([a-z]+)\b(?! \d))?)")
_WORD = re.compile(r"[a-z]+")
_ARTICLE = re.compile(r"^(?:an?|the) ")

#: Words that stand before a number without naming a thing.
_COUNTING = frozenset(
    _WORD.findall(
        "a about action after all an and another any are around as at attempt attempts be been before being between "
        "both by can carry carrying chance contain containing contains count each every exactly few fewer find first "
        "for found from get goal had has have held hold holding holds if in into is it its just last least left less "
        "located many maximum minimum more most move moved moves moving much must need needed needs next no not now "
        "number of on once one only open opened opening opens or other out over per phase pick picked place placed "
        "places placing point possible previous put puts putting quantity remain remaining remains require required "
        "requires round same search searched second see seen sees since stage step steps still subgoal take taken "
        "takes taking task than that the them then there these they this those time times to took total try turn "
        "turns two under until up used uses using via visited was were when where which while with within without you"
    )
)


class Episode:
    """The words and entities that goal, observations and actions of an episode have named."""

    def __init__(self, goal: str) -> None:
        self._entities: set[str] = set()
        self._kinds: set[str] = set()
        self._words: set[str] = set()
        self.tell(goal)

    def tell(self, text: str) -> None:
        """Take in what has been said; to be told the same again changes nothing."""
        self._words |= set(_WORD.findall(text.lower()))
        self._entities |= set(_entities(text))
        self._kinds |= {name.split(" ", 1)[0] for name in _entities(text)}

    def entities(self, text: str) -> tuple[str, ...]:
        """The entities of this episode that a text names, in their order."""
        return tuple(dict.fromkeys(name for name in _entities(text) if name in self._entities))

    def topics(self, text: str) -> frozenset[str]:
        """Words and entities of a text that have occurred in this episode."""
        return frozenset(topic for topic in topics_of(text) if self._has(topic))

    def term(self, name: str) -> str:
        """An entity or a kind as the episode calls it: "the mug 1" is mug 1, "mugs" is mug; empty if it is unknown."""
        bare = _ARTICLE.sub("", " ".join(name.lower().split()))
        return next((form for form in (bare, *_singulars(bare)) if self._has(form)), "")

    def stranger(self, text: str, examples: frozenset[str]) -> str:
        """An entity of a text that never occurred, or a word that only the prompt's example knows; empty if none.

        Args:
            text: What is to be stored, on one line.
            examples: Kinds of things in the prompt's example.
        """
        for kind, number, after in _NUMBERED.findall(text.lower()):
            names = [f"{form} {number}" for form in (kind, *_singulars(kind))]
            if kind not in _COUNTING and not self._counts(after) and self._entities.isdisjoint(names):
                return names[0]
        words = {form for word in _WORD.findall(text.lower()) for form in (word, *_singulars(word))}
        return min((words & examples) - self._words, default="")

    def _has(self, name: str) -> bool:
        if _NUMBERED.search(name):
            return name in self._entities
        words = set(_WORD.findall(name))
        return bool(words) and words <= self._words

    def _counts(self, after: str) -> bool:
        """Whether a number before this word counts things ("grabbed 2 mugs") instead of naming one ("mug 2 stands")."""
        return after in self._kinds or any(form in self._words - _COUNTING for form in _singulars(after))


def example_kinds(text: str) -> frozenset[str]:
    """The kinds of things that an example names with a number."""
    return frozenset(name.split(" ", 1)[0] for name in _entities(text))


def _entities(text: str) -> Iterator[str]:
    return (f"{kind} {number}" for kind, number, _ in _NUMBERED.findall(text.lower()) if kind not in _COUNTING)


def _singulars(word: str) -> tuple[str, ...]:
    """What a plural can be the plural of; nothing for words that are too short or end otherwise."""
    return tuple(word[: -len(end)] for end in ("s", "es") if word.endswith(end) and len(word) > 3)
