"""What textworld works out of a game's texts before it can be played, kept on disk.

Translating a PDDL problem and parsing the grammar take a hundred times longer than reading their result. Both depend on
the texts alone, so a file is named by their hash: it can never belong to another game, and any number of processes
may write it at once. A file that is damaged is made anew, and where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fast_downward
from fast_downward.translate.pddl.conditions import Atom
from pydantic import TypeAdapter

from experiments.envs.shortcuts import logic

FORMAT = 1
"""Raised whenever the same texts give other content, or the content another form."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A name with its PDDL type: an object, or an action's parameter."""

    name: str
    type_name: str


@dataclass(frozen=True, slots=True)
class Operator:
    """An action of the PDDL domain."""

    name: str
    parameters: tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class TypeName:
    """A PDDL type and those above it."""

    name: str
    supertype_names: tuple[str, ...]


@dataclass(frozen=True)
class PddlTask:
    """The parts of a translated task that a state is built from, under the names that ``fast_downward`` gives them."""

    actions: tuple[Operator, ...]
    types: tuple[TypeName, ...]
    objects: tuple[Typed, ...]
    facts: tuple[tuple[str, tuple[str, ...]], ...]

    @cached_property
    def init(self) -> list[Any]:
        """The facts at the start, without identities and costs, which a state leaves out."""
        return [Atom(predicate, arguments) for predicate, arguments in self.facts]


@dataclass(frozen=True, slots=True)
class Command:
    """How an action is typed, and which rule of the grammar answers it."""

    name: str
    template: str
    feedback_rule: str
    pddl: str
    grammar: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A game's translated problem and parsed grammar.

    Attributes:
        task: The translated task.
        sas: The same for the planner library.
        commands: The commands by their action.
        rules: The rules of the grammar, a JSON object.
    """

    task: PddlTask
    sas: str
    commands: dict[str, Command]
    rules: str


_FILE = TypeAdapter(Prepared)


def default_folder() -> Path:
    """``memarbiter/games`` in the user's cache folder (``$XDG_CACHE_HOME``, else ``~/.cache``)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "memarbiter" / "games"


def prepared(game: Mapping[str, Any], folder: Path) -> Prepared:
    """What is worked out of a game's texts, from ``folder`` if it is there.

    Args:
        game: Content of a ``game.tw-pddl`` file.
        folder: Where results are kept; made if it is absent.
    """
    texts = (*_made_by(), game["pddl_domain"], game["pddl_problem"], game["grammar"])
    key = hashlib.sha256(b"".join(f"{len(text)}:{text}".encode() for text in texts)).hexdigest()
    path = folder / f"{key}.json.gz"
    # ValueError: not in the form of this module, which a bit that flipped within a file also leads to.
    with suppress(OSError, EOFError, zlib.error, ValueError):
        return _FILE.validate_json(gzip.decompress(path.read_bytes()))
    worked_out = prepare(game)
    with suppress(OSError):
        _write(path, gzip.compress(_FILE.dump_json(worked_out), compresslevel=3))
    return worked_out


def prepare(game: Mapping[str, Any]) -> Prepared:
    """Translate a game's problem and parse its grammar."""
    arguments = sys.argv
    try:
        task, sas = fast_downward.pddl2sas(game["pddl_domain"], game["pddl_problem"], verbose=False)
    finally:
        # The translator's options are read from there.
        sys.argv = arguments
    commands, grammar = logic._parse_and_convert(game["grammar"], rule_name="pddlStart")
    return Prepared(
        PddlTask(
            actions=tuple(Operator(action.name, _typed(action.parameters)) for action in task.actions),
            types=tuple(TypeName(one.name, tuple(one.supertype_names)) for one in task.types),
            objects=_typed(task.objects),
            facts=tuple(
                (fact.predicate, tuple(fact.args))
                for fact in task.init
                if isinstance(fact, Atom) and fact.predicate != "="
            ),
        ),
        sas,
        {
            name: Command(one.name, one.template, one.feedback_rule, one.pddl, one.grammar)
            for name, one in commands.items()
        },
        grammar.source,
    )


@cache
def _made_by() -> tuple[str, ...]:
    return str(FORMAT), version("fast_downward_textworld"), version("textworld")


def _typed(named: Any) -> tuple[Typed, ...]:
    return tuple(Typed(one.name, one.type_name) for one in named)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
