"""A short episode with a model that answers well, and the memories that play it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from scripted import GOAL, ROOM, Script, contents, entry, event, snapshot, state

from memarbiter.arbiter import MemArbiter
from memarbiter.assembly import Assembler, ByRelevance
from memarbiter.bands import BankTemplates, UniformTemplate
from memarbiter.banks import FunctionalBanks, Store
from memarbiter.chat import ModelCall
from memarbiter.formation import Formation, ParseThenWrite
from memarbiter.gate import TemporalGate
from memarbiter.protocol import MemoryPrompt, Task, Transition
from memarbiter.signals import PoolSignals, RoleSignals
from memarbiter.writing.llm.merged import LLMFormation
from memarbiter.writing.llm.parser import LLMStateParser
from memarbiter.writing.llm.writer import LLMWriter

REFUSED = "Nothing happens."
EPISODE = [
    ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."),
    ("go to desk 1", REFUSED),
    ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
    ("go to shelf 2", "You arrive at shelf 2. On the shelf 2, you see nothing."),
    ("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2."),
]

FIND, MOVE = "Find the mug and take it.", "Move the mug to a shelf."
SOUGHT = state(ahead=[FIND, MOVE])
SEEN = state(ahead=[FIND, MOVE], needs=[{"topic": "mug", "found": True}], entities=["mug 1"])
HELD = state([FIND], [MOVE], topics=["move", "shelf"], needs=[{"topic": "shelf", "found": True}])
STATES = [SOUGHT, SEEN, SEEN, HELD, HELD, state([FIND, MOVE], [])]
ROOM_FACT = entry(
    subject="room",
    aspect="contents",
    value="desk 1, desk 2, shelf 1, shelf 2",
    text="The room has desk 1, desk 2, shelf 1, shelf 2.",
)
STAGES = [
    entry("goal", subject="stage 1", aspect="status", value="open", text=FIND, scope=["mug", "take"]),
    entry("goal", subject="stage 2", aspect="status", value="open", text=MOVE, scope=["mug", "move"]),
]
RULE = entry(
    "constraint",
    subject="mug",
    aspect="place",
    value="to a shelf",
    text="The mug must end up on a shelf.",
    scope=["mug"],
)
WRITES: list[list[dict[str, Any]]] = [
    [*STAGES, RULE, snapshot("in the middle of the room"), ROOM_FACT],
    [snapshot("at desk 1"), event("go to desk 1"), contents("desk 1", "mug 1", "pen 1")],
    [event("go to desk 1", "was refused"), contents("desk 1")],
    [snapshot("at desk 1, holding mug 1"), event("take mug 1 from desk 1"), contents("desk 1", "pen 1")],
    [snapshot("at shelf 2, holding mug 1"), event("go to shelf 2"), contents("shelf 2")],
    [snapshot("at shelf 2"), event("move mug 1 to shelf 2"), contents("shelf 2", "mug 1")],
]


def well(call: ModelCall) -> str:
    """The answer of a model that does as it is asked."""
    parts = {"state": STATES[call.step], "writes": WRITES[call.step]}
    wanted = {"parse": ["state"], "write": ["writes"]}.get(call.purpose, ["state", "writes"])
    return json.dumps({name: parts[name] for name in wanted})


def separate(model: Script) -> Formation:
    return ParseThenWrite(LLMStateParser(model), LLMWriter(model))


FORMATIONS: list[Callable[[Script], Formation]] = [separate, LLMFormation]


def memory(formation: Formation, banks: Store | None = None) -> MemArbiter:
    """The full method around a formation, or the one without banks around a pool."""
    if banks is None:
        assembler = Assembler(BankTemplates(), ByRelevance())
        return MemArbiter(formation, FunctionalBanks(), RoleSignals(), TemporalGate(), assembler)
    assembler = Assembler(UniformTemplate(), ByRelevance())
    return MemArbiter(formation, banks, PoolSignals(), TemporalGate(roles=False), assembler)


async def play(
    arbiter: MemArbiter, script: Sequence[tuple[str, str]] = EPISODE, budget: int = 500, goal: str = GOAL
) -> list[MemoryPrompt]:
    """All prompts of an episode, the first one before any action."""
    arbiter.begin(Task("t", goal, ROOM))
    prompts = [await arbiter.present(budget)]
    for number, (action, answer) in enumerate(script, start=1):
        await arbiter.record(Transition(number, action, answer, answer == REFUSED))
        prompts.append(await arbiter.present(budget))
    return prompts


def told(arbiter: MemArbiter, script: Sequence[tuple[str, str]] = EPISODE, budget: int = 500) -> list[MemoryPrompt]:
    return asyncio.run(play(arbiter, script, budget))


def lines(prompt: MemoryPrompt, section: str) -> list[str]:
    return prompt.text.partition(f"## {section}\n")[2].partition("\n##")[0].splitlines()


def skipped(prompt: MemoryPrompt) -> list[str]:
    return [write.reason for write in prompt.writes if write.policy == "skip"]


def block(call: ModelCall, tag: str) -> list[str]:
    """The lines of a tag in the user message."""
    return call.messages[1].content.partition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0].splitlines()
