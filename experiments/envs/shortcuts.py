"""Textworld's text grammar and PDDL logic without repeated work, as modules of their own.

:data:`logic` is a second instance of textworld's module in which a few functions are replaced; no word that a game says
changes. The modules of textworld itself stay as they are, so the stock engine can be played in the same process
and compared.
"""

from __future__ import annotations

import copy
from functools import cache
from importlib import util
from types import ModuleType
from typing import Any

from textworld.envs.pddl import logic as stock_logic
from textworld.envs.pddl import textgen as stock_textgen
from textworld.logic import Rule


def _instance(module: ModuleType) -> Any:
    """A second instance of a module, with globals of its own."""
    spec = util.find_spec(module.__name__)
    assert spec is not None
    assert spec.loader is not None
    second = util.module_from_spec(spec)
    spec.loader.exec_module(second)
    return second


textgen: Any = _instance(stock_textgen)
logic: Any = _instance(stock_logic)

_parse = cache(textgen._parse_and_convert)


def _symbols(found: Any) -> Any:
    """Symbols of their own, since a derivation hangs its context into them; the contexts themselves it leaves alone."""
    if isinstance(found, list):
        return [_symbols(one) for one in found]
    own = copy.copy(found)
    for part, value in vars(own).items():
        if isinstance(value, textgen.Symbol):
            setattr(own, part, _symbols(value))
    return own


def _parsed(*args: Any, **options: Any) -> Any:
    """A grammar text as symbols."""
    return _symbols(_parse(*args, **options))


class _Query(Rule):
    """A rule whose queries are parsed once; matching a state against them changes nothing in them."""

    parse_conjunctive_query = staticmethod(cache(Rule.parse_conjunctive_query))


def _copied(context: dict[str, Any]) -> dict[str, Any]:
    """A context of its own over the same entities: a derivation adds entries, and changes none."""
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


class Grammar(textgen.ContextSensitiveGrammar):
    """A grammar that knows the text it was parsed from."""

    source = "{}"

    @classmethod
    def parse(cls, text: str) -> Grammar:
        """Parse a JSON object of rules."""
        grammar: Grammar = super().parse(text)
        grammar.source = text
        return grammar


class _Translated:
    """``fast_downward`` for :mod:`logic`, where each problem is translated already.

    Textworld asks for two translations of it, the second for a planner that an expert needs at each step. No game here
    has an expert, so both are the same.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(stock_logic.fast_downward, name)

    @staticmethod
    def pddl2sas(domain: str, problem: Any, **_: Any) -> Any:
        return problem.task, problem.sas


textgen._parse_and_convert = _parsed
textgen.deepcopy = _symbols
textgen.Rule = _Query
textgen.copy_context = _copied
logic.ContextSensitiveGrammar = Grammar
logic.fast_downward = _Translated()
