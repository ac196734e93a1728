"""What is written to disk, as typed records: the one schema that writer and analysis share.

An episode's file is JSON Lines: one :class:`EpisodeHeader`, one :class:`StepRecord` per command, one
:class:`EpisodeResult`. It is complete or absent.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

EndReason = Literal["won", "step_limit", "unparsable_limit", "context_overflow"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Condition(_Record):
    """What distinguishes the runs of one table: method, budget (None: the method has none), model, task set."""

    env: str
    model: str
    method: str
    budget: int | None
    seed: int
    writing: str | None = Field(
        default=None, description="Who parses and writes for a memory that is formed: rules, llm, merged or others."
    )


class EpisodeHeader(_Record):
    """First line of an episode's file."""

    kind: Literal["header"] = "header"
    schema_version: int = SCHEMA_VERSION
    task_id: str
    task_type: str
    game_sha256: str
    condition: Condition
    goal: str
    observation: str


class ModelUse(_Record):
    """What one model call cost, by the server's count and by ours."""

    outcome: str = Field(default="answered", description="See memarbiter.chat.Outcome.")
    prompt_tokens: int | None = Field(default=None, description="As the server counts them; None if it does not say.")
    completion_tokens: int | None = None
    own_prompt_tokens: int | None = Field(
        default=None, description="o200k_base tokens of the messages' texts, without a chat template."
    )
    failures: list[str] = Field(default=[], description="Attempts that failed before this answer, by name.")


class CallRecord(ModelUse):
    """One call for an action: the raw reply and what the action parser made of it."""

    raw: str
    command: str | None = Field(description="The command that was sent, or None if the reply was unparsable.")
    thought: str
    notes: list[str] = Field(description="What the parser had to do, e.g. 'extra actions dropped: 1'.")
    extra_actions: int = Field(default=0, description="Actions after the first one, which were dropped.")


class MemoryCall(ModelUse):
    """One call of a memory's writer or state parser; its text is in the run's ``calls/``."""

    purpose: str
    step: int = Field(description="Step of the evidence that was read; 0 is the first observation.")
    attempt: int


class Usage(_Record):
    """The calls of one purpose, added up."""

    calls: int = 0
    prompt_tokens: int | None = Field(default=0, description="None if the server did not say for some call.")
    completion_tokens: int | None = 0
    own_prompt_tokens: int = 0
    failed_attempts: int = 0
    outcomes: dict[str, int] = Field(default={}, description="Calls by outcome.")


class MemoryRecord(_Record):
    """The memory block of one step; the fields are those of ``memarbiter.protocol.MemoryPrompt``."""

    text: str
    tokens: int
    bank_tokens: dict[str, int]
    demand: dict[str, float]
    relevance: dict[str, float]
    bands: dict[str, str]
    writes: list[list[str]] = Field(description="[bank, item, policy, reason]")
    transitions: list[list[str]] = Field(description="[bank, item, before, after, reason]")
    shed: list[list[str]] = Field(description="[bank, item, before, after, reason]")


class StepRecord(_Record):
    """One command sent to the environment, with the prompt's variable parts that led to it."""

    kind: Literal["step"] = "step"
    step: int = Field(ge=1)
    observation: str = Field(description="o_t: what the agent saw when it chose the command.")
    memory: MemoryRecord
    calls: list[CallRecord] = Field(description="All model calls of this step; the last one gave the command.")
    memory_calls: list[MemoryCall] = Field(
        default=[], description="Calls of writer and state parser since the previous prompt."
    )
    command: str
    was_admissible: bool
    failed: bool
    result: str = Field(description="o_{t+1}: the environment's answer.")
    won: bool


class EpisodeResult(_Record):
    """Last line of an episode's file. ``timing`` (seconds) is the only part that differs between equal runs."""

    kind: Literal["result"] = "result"
    won: bool
    end_reason: EndReason
    steps: int = Field(description="Commands sent to the environment.")
    model_calls: int
    rejected_commands: int = Field(description="Commands answered with 'Nothing happens.'.")
    unparsable_replies: int
    extra_actions_dropped: int
    unanswered_calls: list[CallRecord] = Field(
        description="Calls after the last command, without a command; empty unless the end reason tells of them."
    )
    usage: dict[str, Usage] = Field(default={}, description="Model calls of the episode by purpose.")
    timing: dict[str, float]


class Manifest(_Record):
    """``manifest.json`` of a run's folder: everything that can change a result."""

    schema_version: int = SCHEMA_VERSION
    condition: Condition
    config: dict[str, Any] = Field(description="The resolved configuration, without secrets.")
    tasks: list[str] = Field(description="Ids of all planned tasks.")
    task_types: dict[str, str]
    step_limit: int
    task_set_sha256: str
    prompts_sha256: str
    tokenizer: dict[str, str]
    servers: dict[str, dict[str, Any]] | None = Field(
        default=None, description="What the probe found out about each model's server; None before a probe."
    )
    code: dict[str, Any] = Field(description="Git commit and dirty flag, or None where there is no checkout.")
    versions: dict[str, str]


class Status(_Record):
    """``status.json`` of a run's folder, rewritten while it runs."""

    state: Literal["running", "finished", "incomplete", "interrupted"]
    planned: int
    finished: int
    won: int
    errors: dict[str, str] = Field(description="Task id -> infrastructure error, cleared when the task is rerun.")
