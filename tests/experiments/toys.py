"""A tiny deterministic world, models and a memory, importable by workers through `_target_`."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.envs.base import Opening, Outcome, TaskInfo
from memarbiter import tokens
from memarbiter.chat import ModelCall, ModelReply
from memarbiter.protocol import EMPTY_PROMPT, MemoryPrompt, Task, Transition

REJECTED = "Nothing happens."
TYPES = ("pick_and_place_simple", "look_at_obj_in_light")


def info(number: int) -> TaskInfo:
    """Task number ``number``: its goal lies that many steps down the corridor."""
    name = f"corridor-{number}"
    return TaskInfo(name, TYPES[number % 2], hashlib.sha256(name.encode()).hexdigest())


class Corridor:
    """Rooms in a row; "go to room n" works for the next room, and the last room wins."""

    def __init__(self, trouble: str = "", marker: str = "") -> None:
        self._trouble = trouble
        self._marker = marker

    def begin(self, task_id: str) -> Opening:
        self._last = int(task_id.rsplit("-", 1)[1])
        self._here = 0
        extra = f" You see a {self._marker}." if task_id == "corridor-1" and self._marker else ""
        return Opening(f"You are in room 0.{extra}", f"reach room {self._last}", self._admissible())

    def step(self, command: str) -> Outcome:
        if self._trouble.endswith("slow"):
            time.sleep(0.01)
        if self._trouble and self._last == 2:
            self._misbehave()
        admissible = command in self._admissible()
        if admissible and command != "look":
            self._here += 1
        observation = f"You are in room {self._here}." if admissible else REJECTED
        return Outcome(observation, self._here >= self._last, not admissible, admissible, self._admissible())

    def _admissible(self) -> tuple[str, ...]:
        return ("look", f"go to room {self._here + 1}")

    def _misbehave(self) -> None:
        path = Path(self._trouble)
        if path.name.startswith("raise"):
            if path.exists():
                raise RuntimeError("the engine broke")
        elif path.name.startswith("die") and path.exists():
            os._exit(9)
        elif path.name.startswith("sleep"):
            time.sleep(0.05)


class CorridorTasks:
    """Tasks 1 to ``count``. ``trouble`` names a file: while it exists, task 2 raises, or kills its process."""

    def __init__(self, count: int = 4, trouble: str = "", marker: str = "") -> None:
        self._count, self._trouble, self._marker = count, trouble, marker

    def tasks(self) -> Sequence[TaskInfo]:
        return [info(number) for number in range(1, self._count + 1)]

    def make(self) -> Corridor:
        return Corridor(self._trouble, self._marker)


class Walker:
    """Goes one room further at every step; it reads the current room from the prompt."""

    async def reply(self, call: ModelCall) -> ModelReply:
        here = call.messages[1].content.rsplit("You are in room ", 1)[1].split(".")[0]
        return ModelReply(f"Thought: on.\nAction: go to room {int(here) + 1}")


class Script:
    """Gives the replies of a function of the call, and keeps the calls."""

    def __init__(self, replies: Callable[[ModelCall], str]) -> None:
        self._replies = replies
        self.calls: list[ModelCall] = []

    async def reply(self, call: ModelCall) -> ModelReply:
        self.calls.append(call)
        return ModelReply(self._replies(call))


class ListMemory:
    """Shows every observation, as long as the budget holds."""

    def begin(self, task: Task) -> None:
        self._lines = [task.observation]

    async def record(self, step: Transition) -> None:
        self._lines.append(f"{step.action} -> {step.observation}")

    async def present(self, budget: int) -> MemoryPrompt:
        text = tokens.truncate("\n".join(self._lines), budget)
        return MemoryPrompt(text, tokens.count(text))


class Blank:
    """Shows nothing."""

    def begin(self, task: Task) -> None:
        pass

    async def record(self, step: Transition) -> None:
        pass

    async def present(self, budget: int) -> MemoryPrompt:
        return EMPTY_PROMPT
