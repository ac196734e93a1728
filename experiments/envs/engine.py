"""ALFWorld's own text engine (textworld's PDDL environment) without repeated work.

The rules, the planner library and the text grammar are textworld's, and every answer is word for word that of the stock
class, :class:`experiments.envs.stock.StockEngine` (tests and a benchmark compare them). What does not change is not
done again:

- A game's translation and its parsed grammar are kept on disk (:mod:`experiments.envs.prepared`).
- Grammar texts and queries are parsed once (:mod:`experiments.envs.shortcuts`).
- The text of a command depends only on the arguments that its template names, so it is derived once, not for every
  admissible command of every step.
- A reset restores the state that the load has built.
"""

from __future__ import annotations

import gc
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import textworld
from alfworld.agents.utils.misc import Demangler
from textworld.core import GameState
from textworld.envs.pddl import PddlEnv

from experiments.envs.prepared import Prepared, default_folder, prepared
from experiments.envs.shortcuts import Grammar, logic


class _Logic(logic.GameLogic):
    """A game's commands and grammar, without parsing them again."""

    def __init__(self, domain: str, game: Prepared) -> None:
        self.domain = domain
        self.grammar = Grammar.parse(game.rules)
        self.actions = game.commands
        self.types = textworld.logic.TypeHierarchy()


class _RestartableState(logic.PddlState):
    """A PDDL state that can go back to its beginning."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._initial_facts = list(self.facts)

    def restart(self) -> None:
        self._facts: dict[Any, set[Any]] = defaultdict(set)
        self._vars_by_name: dict[str, Any] = {}
        self._vars_by_type: dict[str, set[Any]] = defaultdict(set)
        self._var_counts: Counter[str] = Counter()
        self.add_facts(self._initial_facts)
        self.downward_lib.load_sas(self.sas.encode("utf-8"))


class FastEngine(PddlEnv):
    """Plays ``game.tw-pddl`` files.

    Textworld's parsers and planner are not thread-safe: all engines of a process have to be in one thread.

    Args:
        cache: Folder of the prepared games; by default one in the user's cache folder.
    """

    def __init__(self, cache: Path | None = None) -> None:
        super().__init__(textworld.EnvInfos(won=True, admissible_commands=True))
        self._cache = cache or default_folder()
        self._commands: dict[tuple[str, ...], str] = {}

    def load(self, path: str | Path) -> None:
        """Read a game."""
        # Translating makes so many objects that the collector would run again and again, over those of all other games
        # of the process each time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._load(path)
        finally:
            if collecting:
                gc.enable()

    def _load(self, path: str | Path) -> None:
        self._game_file = str(path)
        with open(path, encoding="utf-8") as file:
            self._game_data = json.load(file)
        self.walkthrough = self._game_data.get("walkthrough")
        game = prepared(self._game_data, self._cache)
        self._logic = _Logic(self._game_data["pddl_domain"], game)
        self._pddl_state = _RestartableState(self.downward_lib, game, self._logic)
        self._entity_infos = self._get_entity_infos()
        names = Demangler(game_infos=self._entity_infos, shuffle=False)
        for info in self._entity_infos.values():
            info.name = names.demangle_alfred_name(info.id)
        self._names = {name: info.name for name, info in self._entity_infos.items()}
        self._commands = {}

    def reset(self) -> GameState:
        """Start the loaded game from its beginning."""
        self._pddl_state.restart()
        self.prev_state = None
        self.state = GameState()
        self._last_action = None
        self._moves = 0
        self.state.feedback = self._logic.grammar.derive("#intro#", self._context({}))
        self.state.raw = self.state.feedback
        self._gather_infos()
        return self.state

    def _gather_infos(self) -> None:
        actions = self._pddl_state.all_applicable_actions()
        commands = [self._command(action) for action in actions]
        self.state["won"] = self._pddl_state.check_goal()
        self.state["lost"] = False
        self.state["last_action"] = None
        self.state["_last_action"] = self._last_action
        self.state["_valid_actions"] = actions
        self.state["_valid_commands"] = commands
        self.state["admissible_commands"] = sorted(set(commands))

    def _command(self, action: Any) -> str:
        named = _words(action.command_template)
        key = (action.name, *(variable.name for holder, variable in action.mapping.items() if holder.name in named))
        if key not in self._commands:
            template = self._logic.grammar.derive(action.command_template, self._context(action.mapping))
            action.command_template = template
            self._commands[key] = action.format_command(self._names)
        return self._commands[key]

    def _context(self, mapping: Any) -> dict[str, Any]:
        variables = {holder.name: self._entity_infos[variable.name] for holder, variable in mapping.items()}
        return {
            "state": self._pddl_state,
            "facts": (),  # No rule of a grammar can reach them: queries go to the state.
            "variables": variables,
            "mapping": mapping,
            "entity_infos": self._entity_infos,
        }


@cache
def _words(template: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", template))


def play(engine: FastEngine, commands: Iterable[str]) -> bool:
    """Send the commands to a freshly reset engine; True if the goal is met at the end."""
    engine.reset()
    for command in commands:
        engine.step(command)
    return bool(engine.state["won"])
