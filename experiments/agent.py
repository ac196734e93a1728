"""The ReAct agent: one prompt frame for every method, one thought and one action for each step (paper, 2.1).

The prompt holds what the paper's agent conditions on, and nothing else: fixed instructions ``I``, goal ``g``,
current observation ``o_t`` and memory context ``P_t``. Methods differ in ``P_t`` alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from experiments.actions import parse_reply
from experiments.records import CallRecord
from memarbiter import tokens
from memarbiter.chat import ChatModel, Message, ModelCall, ModelReply, Outcome
from memarbiter.quoting import neutralise

_PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the model decided at one step.

    Attributes:
        command: The command to send; None if no reply within the allowed number could be parsed, or the prompt was
            too long for the model.
        calls: Every call that was made, in order; only the last one can carry a command.
        dropped: Further commands in the reply that gave the command.
    """

    command: str | None
    calls: tuple[CallRecord, ...]
    dropped: int

    @property
    def overflow(self) -> bool:
        """True if the prompt did not fit the model's window, which no further try can change."""
        return bool(self.calls) and self.calls[-1].outcome == Outcome.CONTEXT_OVERFLOW

    @property
    def unparsable(self) -> int:
        """Number of replies without a command; a prompt that did not fit brought no reply."""
        return sum(call.command is None for call in self.calls) - self.overflow


def render(goal: str, observation: str, memory_text: str) -> list[Message]:
    """The two messages of a step: a fixed system message, and a user message with the task's data."""
    data = {"goal": " ".join(goal.split()), "observation": observation, "memory": memory_text}
    user = _template("user.j2").render({name: neutralise(text) for name, text in data.items()})
    return [Message("system", _template("system.j2").render()), Message("user", user)]


def reminder() -> Message:
    """The further user message after a reply that could not be parsed."""
    return Message("user", _template("reminder.j2").render())


async def decide(model: ChatModel, frame: Sequence[Message], task_id: str, step: int, tries: int) -> Decision:
    """Ask for the command of a step, with a reminder after an unparsable reply, at most ``tries`` times."""
    calls: list[CallRecord] = []
    while len(calls) < tries:
        messages = [*frame, reminder()] if calls else list(frame)
        reply = await model.reply(ModelCall(messages, task_id, step, attempt=len(calls) + 1))
        call = _recorded(messages, reply)
        calls.append(call)
        if call.command is not None:
            return Decision(call.command, tuple(calls), call.extra_actions)
        if call.outcome == Outcome.CONTEXT_OVERFLOW:
            break
    return Decision(None, tuple(calls), 0)


def prompts_sha256() -> str:
    """Hash over the names and contents of all prompt templates."""
    digest = hashlib.sha256()
    for path in sorted(_PROMPTS.glob("*.j2")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _recorded(messages: Sequence[Message], reply: ModelReply) -> CallRecord:
    # A lone surrogate, half of a cut character, cannot be written as UTF-8.
    raw = reply.text.encode("utf-8", "replace").decode("utf-8")
    parsed = parse_reply(raw)
    return CallRecord(
        raw=raw,
        command=parsed.command,
        thought=parsed.thought,
        notes=list(parsed.notes),
        extra_actions=parsed.dropped,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        own_prompt_tokens=sum(tokens.count(message.content) for message in messages),
        outcome=str(reply.outcome),
        failures=list(reply.failures),
    )


@cache
def _template(name: str) -> jinja2.Template:
    loader = jinja2.FileSystemLoader(_PROMPTS)
    # The prompts are plain text: escaping for HTML would change what the model reads.
    environment = jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True
    )
    return environment.get_template(name)
