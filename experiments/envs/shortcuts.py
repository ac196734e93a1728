"""Shortcuts in textworld's text grammar and PDDL translation, which do the same work again and again.

They replace functions of textworld inside its own modules, for the whole process, and change no word that a game says:
a test plays games with them and, in another process, without.
"""

from __future__ import annotations

import copy
from functools import cache, lru_cache
from typing import Any

import fast_downward
from textworld.envs.pddl import logic, textgen
from textworld.logic import Rule

_parse = cache(textgen._parse_and_convert)


def _parsed(*args: Any, **options: Any) -> Any:
    """A grammar text as symbols. Each caller gets its own, since a derivation hangs its context into them."""
    return copy.deepcopy(_parse(*args, **options))


class _Query(Rule):
    """A rule whose queries are parsed once; matching a state against them changes nothing in them."""

    parse_conjunctive_query = staticmethod(cache(Rule.parse_conjunctive_query))


def _copied(context: dict[str, Any]) -> dict[str, Any]:
    """A context of its own over the same entities: a derivation adds entries, and changes none."""
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


class _Translation:
    """``fast_downward`` with one translation of a problem where textworld asks for two.

    The second, for its planner, is needed by an expert that plans anew at each step. No game here has one.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(fast_downward, name)

    @staticmethod
    def pddl2sas(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
        return _translated(domain, problem)


@lru_cache(maxsize=1)
def _translated(domain: str, problem: str) -> Any:
    return fast_downward.pddl2sas(domain, problem, verbose=False)


def install() -> None:
    """Put the shortcuts in place; doing so again changes nothing."""
    textgen._parse_and_convert = _parsed
    textgen.Rule = _Query
    textgen.copy_context = _copied
    logic.fast_downward = _Translation()
