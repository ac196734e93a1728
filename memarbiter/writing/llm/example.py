"""The one example in the prompts, from a world of its own, so that what is copied from it is recognised and dropped."""

from __future__ import annotations

from memarbiter.writing.llm.grounding import example_kinds
from memarbiter.writing.llm.schema import (
    BothQuestion,
    NeedAnswer,
    StateAnswer,
    StateQuestion,
    WriteAnswer,
    WriteQuestion,
)

ACTION = "open centrifuge 1"
OBSERVATION = "You open the centrifuge 1. In it, you see a vial 3."

_STATE = StateAnswer(
    completed_subgoals=[],
    open_subgoals=["Take a vial.", "Move the vial to a rack."],
    topics=["vial", "take"],
    entities=["centrifuge 1", "vial 3"],
    needs=[NeedAnswer(topic="vial", found=True)],
)

_FACT = WriteAnswer(
    operation="update",
    item="reference-2",
    bank="reference",
    subject="centrifuge 1",
    aspect="contents",
    value="vial 3",
    text="The centrifuge 1 is open and holds vial 3.",
    entities=["centrifuge 1", "vial 3"],
    scope=["vial"],
    status="active",
)

_EVENT = WriteAnswer(
    operation="add",
    item=None,
    bank="episodic",
    subject="open centrifuge 1",
    aspect="outcome",
    value="worked",
    text="Opening centrifuge 1 worked and showed vial 3.",
    entities=["centrifuge 1", "vial 3"],
    scope=["open"],
    status="active",
)

STATE_JSON = StateQuestion(state=_STATE).model_dump_json()
WRITES_JSON = WriteQuestion(writes=[_FACT, _EVENT]).model_dump_json()
BOTH_JSON = BothQuestion(state=_STATE, writes=[_FACT, _EVENT]).model_dump_json()

#: Kinds of things that only the example knows.
KINDS = example_kinds(f"{ACTION} {OBSERVATION} {BOTH_JSON}") | {"rack"}
