"""Flat Retrieval: the observation lines that BM25 ranks highest (paper section 4.1).

The paper fixes k1 = 1.2, b = 0.75, lower case, whitespace tokens and the query. Two points need a decision of
our own in banks as small as an episode's:

- **Inverse document frequency.** Okapi's is zero or negative for a word that half of the lines contain, so
  that in a bank of three lines the exact match can rank last. :class:`SmoothedBM25` uses the always
  positive form known from Lucene. ``rank_bm25.BM25Okapi`` in its place gives the plain variant.
- **Sentence punctuation.** The environment ends its lists with "mug 1." and a query asks for "mug 1". Both
  sides are split at white space and lose the sentence punctuation at the edges of a word, so that neither a
  full stop nor a comma hides a match. The paper's wording to the letter, white space and nothing else, is
  ``punctuation=""``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rank_bm25 import BM25Okapi

from baselines.history import History, Record, assemble, check_budget, joined_tokens, line_records
from memarbiter.protocol import MemoryPrompt, Task, Transition

SENTENCE_PUNCTUATION = ".,:;!?"

# Builds a BM25 index from the words of each line.
Ranker = Callable[[list[list[str]]], BM25Okapi]


class SmoothedBM25(BM25Okapi):
    """BM25 with ``idf = log(1 + (N - n + 0.5) / (n + 0.5))``: positive for every word of the bank."""

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        self.idf = {word: math.log(1 + (self.corpus_size - n + 0.5) / (n + 0.5)) for word, n in nd.items()}


DEFAULT_RANKER: Ranker = partial(SmoothedBM25, k1=1.2, b=0.75)


def words(text: str, punctuation: str = SENTENCE_PUNCTUATION) -> list[str]:
    """Lower-case words between white space without ``punctuation`` at their edges; empty ones are left out."""
    return [word for raw in text.lower().split() if (word := raw.strip(punctuation))]


class LineIndex:
    """BM25 over a fixed bank of lines; bank and query pass the same tokenizer.

    Args:
        lines: The bank, oldest line first.
        ranker: Builds the BM25 index from the words of each line.
        punctuation: See :func:`words`.
    """

    def __init__(self, lines: Sequence[str], ranker: Ranker, punctuation: str) -> None:
        self._punctuation = punctuation
        bank = {position: words(line, punctuation) for position, line in enumerate(lines)}
        self._positions = [position for position, line in bank.items() if line]
        # BM25 divides by the average length of the lines, so a bank without any word has no index.
        self._bm25 = ranker([bank[position] for position in self._positions]) if self._positions else None

    def rank(self, query: str) -> list[int]:
        """Positions of the lines, best first; of equal ones the newer first.

        Lines that share no word with the query score 0 and take part. Lines without any word are never
        ranked, and a query without any word ranks nothing.
        """
        asked = words(query, self._punctuation)
        if self._bm25 is None or not asked:
            return []
        scored = zip(self._bm25.get_scores(asked), self._positions, strict=True)
        return [position for _, position in sorted(scored, reverse=True)]


class FlatRetrieval:
    """Ranks all observation lines of the episode for the current query and shows the best that fit.

    The query is goal, previous action and latest observation. A line that does not fit is skipped and the
    next one tried. The chosen lines are shown in the order of time, newest last, with their steps and
    actions.

    Args:
        ranker: Builds the BM25 index; its k1 and b are those of the method.
        punctuation: Characters that are cut off the edges of words on both sides.
    """

    def __init__(self, ranker: Ranker = DEFAULT_RANKER, punctuation: str = SENTENCE_PUNCTUATION) -> None:
        self._ranker = ranker
        self._punctuation = punctuation
        self._history = History(line_records)
        self._query = ""
        self._goal = ""
        self._index: LineIndex | None = None

    def begin(self, task: Task) -> None:
        """Start an episode with the lines of the first observation."""
        self._history.begin(task)
        self._goal = task.goal
        self._query = f"{task.goal} {task.observation}"
        self._index = None

    async def record(self, step: Transition) -> None:
        """Append the lines of the observation; they are found from the next prompt on."""
        self._history.add(step)
        self._query = f"{self._goal} {step.action} {step.observation}"
        self._index = None

    async def present(self, budget: int) -> MemoryPrompt:
        """The highest-ranked lines within ``budget``."""
        check_budget(budget)
        records = self._history.records
        if self._index is None:
            lines = [record.observation for record in records]
            self._index = LineIndex(lines, self._ranker, self._punctuation)
        ranking = self._index.rank(self._query)
        wanted = [records[position] for position in sorted(ranking)]
        return assemble(records, wanted, kept=best_within(records, ranking, budget))


def best_within(records: Sequence[Record], ranking: Sequence[int], budget: int) -> list[Record]:
    """Records in the order of time, chosen greedily by rank so that their joined texts fit the budget."""
    chosen: list[int] = []
    for position in ranking:
        trial = sorted([*chosen, position])
        if joined_tokens([records[at].text for at in trial]) <= budget:
            chosen = trial
    return [records[position] for position in chosen]
