"""The one token counter of the project: o200k_base, exact, offline (paper section 4.1).

All text is counted as ordinary text: what looks like a special token (``<|endoftext|>``) is a run of
characters like any other, and a lone surrogate counts as U+FFFD. The vocabulary is never downloaded here and
a count is never estimated; see :mod:`memarbiter.vocabulary`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache

import tiktoken

from memarbiter import vocabulary
from memarbiter.vocabulary import VocabularyMissing

__all__ = ["VocabularyMissing", "count", "fingerprint", "truncate"]

# How o200k_base splits text before merging. Spelt out here, because tiktoken's own constructor of the
# encoding deletes a vocabulary file that it does not accept and then downloads another one.
_SPLIT = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)

# Bytes of the longest token: no token can reach further than this many characters.
_LONGEST_TOKEN = 128
_CACHED_LENGTH = 2048

_SAMPLE = "Step 7. Action: move apple 3 to fridge 1.\r\n\t  <|endoftext|> naïve 東京 \U0001f9ea 0042"


def count(text: str) -> int:
    """Number of o200k_base tokens of ``text``.

    Raises:
        VocabularyMissing: If the vocabulary is not installed.
    """
    return _count_short(text) if len(text) <= _CACHED_LENGTH else len(_encoding().encode_ordinary(text))


@lru_cache(maxsize=8192)
def _count_short(text: str) -> int:
    return len(_encoding().encode_ordinary(text))


def truncate(text: str, limit: int) -> str:
    """Longest prefix of ``text`` with at most ``limit`` tokens, cut between characters (code points).

    A longer prefix can have fewer tokens than a shorter one, so the search starts one longest token beyond
    the place where the first ``limit`` tokens end.

    Raises:
        ValueError: If ``limit`` is negative.
        VocabularyMissing: If the vocabulary is not installed.
    """
    if limit < 0:
        raise ValueError(f"A token limit must be 0 or more, not {limit}.")
    if limit == 0:
        return ""
    if count(text) <= limit:
        return text
    # No need to encode a whole text of which only the beginning can be kept.
    text = text[: (limit + 1) * _LONGEST_TOKEN]
    encoding = _encoding()
    kept = len(encoding.decode(encoding.encode_ordinary(text)[:limit], errors="ignore"))
    for end in range(min(len(text), kept + _LONGEST_TOKEN), 0, -1):
        if count(text[:end]) <= limit:
            return text[:end]
    return ""


def fingerprint() -> dict[str, str]:
    """What identifies the counter: encoding, checksum of the vocabulary, tokens of a fixed sample."""
    sample = _encoding().encode_ordinary(_SAMPLE)
    return {
        "encoding": vocabulary.ENCODING,
        "vocabulary_sha256": vocabulary.SHA256,
        "sample_tokens": str(len(sample)),
        "sample_sha256": hashlib.sha256(" ".join(map(str, sample)).encode()).hexdigest(),
        "tiktoken": tiktoken.__version__,
    }


@lru_cache(maxsize=1)
def _encoding() -> tiktoken.Encoding:
    lines = vocabulary.read().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    return tiktoken.Encoding(vocabulary.ENCODING, pat_str=_SPLIT, mergeable_ranks=ranks, special_tokens={})
