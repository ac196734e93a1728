"""The interface between the agent and a text environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class TaskSetError(Exception):
    """The task set cannot be used as it is: the message names the folder, what was found and the cure."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The start of an episode: first observation (without the goal line), goal, and admissible commands."""

    observation: str
    goal: str
    admissible: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The environment's answer to one command.

    Attributes:
        observation: The answer.
        won: True if the goal is met. This is the only source of success: step limits never set it.
        failed: True if the environment rejected the command ("Nothing happens.").
        was_admissible: True if the command stood in the admissible list before it was sent.
        admissible: The admissible commands after it; for the log, never for the agent.
    """

    observation: str
    won: bool
    failed: bool
    was_admissible: bool
    admissible: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task of a set: its stable id (usable as a file name), its type, and the hash of its game."""

    id: str
    type: str
    sha256: str


class TaskSet(Protocol):
    """The tasks of one split, each exactly once, in the order of their ids."""

    def tasks(self) -> Sequence[TaskInfo]:
        """All tasks, sorted by id."""

    def make(self) -> Environment:
        """An environment that can play any task of the set. One per process, used by one thread."""


class Environment(Protocol):
    """Plays one task at a time."""

    def begin(self, task_id: str) -> Opening:
        """Start the named task from its beginning."""

    def step(self, command: str) -> Outcome:
        """Send one command."""


class Engine(Protocol):
    """Plays game files; its states are textworld's ``GameState``. Engines of a process share one thread."""

    def load(self, path: str | Path) -> None:
        """Read a game."""

    def reset(self) -> Any:
        """Start the loaded game from its beginning."""

    def step(self, command: str) -> tuple[Any, int, bool]:
        """Send one command; returns the state after it, the score (0 or 1), and whether the game is over."""
