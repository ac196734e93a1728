"""ALFWorld's text engine as it comes: the referee of :mod:`experiments.envs.engine`."""

from __future__ import annotations

from pathlib import Path

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
from textworld.core import GameState
from textworld.envs.pddl import PddlEnv


class StockEngine:
    """Textworld's own class with ALFWorld's names for things, as ``AlfredTWEnv`` puts them together."""

    def __init__(self) -> None:
        self._env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)))

    def load(self, path: str | Path) -> None:
        """Read a game."""
        self._env.load(str(path))

    def reset(self) -> GameState:
        """Start the loaded game from its beginning."""
        return self._env.reset()

    def step(self, command: str) -> tuple[GameState, int, bool]:
        """Send one command; returns the state after it, the score (0 or 1), and whether the game is over."""
        return self._env.step(command)
