"""The shape of a model's answers, and how an answer is read from its text.

Servers that apply JSON schemas keep to the shape; all others are asked for it in words, and their answers are read with
the same care.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

BankName = Literal["goal", "task_state", "constraint", "episodic", "reference"]
StatusName = Literal["active", "completed", "superseded", "invalid"]


class _Answer(BaseModel):
    # Unknown fields are left out: a model that says more than it was asked has still answered.
    model_config = ConfigDict(frozen=True, extra="ignore")


class NeedAnswer(_Answer):
    """Something that the current subgoal has to know: a kind of thing or place, and whether one has been found."""

    topic: str
    found: bool


class StateAnswer(_Answer):
    """The parsed state: subgoals behind and ahead (the first of these is the current one), and what matters now."""

    completed_subgoals: list[str]
    open_subgoals: list[str]
    topics: list[str]
    entities: list[str]
    needs: list[NeedAnswer]


class WriteAnswer(_Answer):
    """One candidate write: a new item, or a new version of the item that ``item`` names."""

    operation: Literal["add", "update"]
    item: str | None
    bank: BankName
    subject: str
    aspect: str
    value: str
    text: str
    entities: list[str]
    scope: list[str]
    status: StatusName


class StateQuestion(_Answer):
    """What the state parser is to answer."""

    state: StateAnswer


class WriteQuestion(_Answer):
    """What the candidate writer is to answer; each write is read alone, so that one bad one spoils no other."""

    writes: list[WriteAnswer]


class BothQuestion(_Answer):
    """What is answered when one question stands for both."""

    state: StateAnswer
    writes: list[WriteAnswer]


Shape = TypeVar("Shape", bound=BaseModel)

_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_LIST = re.compile(r'"writes"\s*:\s*\[\s*')
_STATE = re.compile(r'"state"\s*:\s*')
_COMMA = re.compile(r"\s*,\s*")
_DECODER = json.JSONDecoder(strict=False)
_MOST_OBJECTS = 50


def json_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer, in the strict form that servers share: every field required, no others."""
    schema = shape.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        part["additionalProperties"] = False
        part["required"] = list(part["properties"])
        part.pop("description", None)
        part.pop("title", None)
        for field in part["properties"].values():
            field.pop("title", None)
    return schema


def find(text: str, names: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The first complete JSON object of an answer that has all the named fields, and what had to be done to find it.

    Fences and prose around it do not matter; nor do braces in them. Further objects are left out. A backslash that
    escapes nothing is taken for itself. Where there is no such object, because the answer was cut off or put into
    another one, the whole entries of a ``writes`` list are taken, and the state before it if that is whole.

    Returns:
        The object (empty if there is none) and the remarks, each with a name before a colon.
    """
    mended = _ESCAPE.sub(lambda escape: escape[0] if len(escape[0]) > 1 else r"\\", text)
    for attempt in (text, mended) if mended != text else (text,):
        found = [one for one in _objects(attempt) if all(name in one for name in names)]
        if found:
            remarks = ["mended: a backslash that escapes nothing"] if attempt is not text else []
            remarks += [f"further objects left out: {len(found) - 1}"] if len(found) > 1 else []
            return found[0], remarks
    parts = _whole_parts(mended) if "writes" in names else {}
    return parts, [f"incomplete answer: {len(parts['writes'])} whole writes kept"] if parts else []


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text, in their order."""
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        found, end = _decoded(text, at)
        if found is not None:
            yield found
        at = text.find("{", end)


def _whole_parts(text: str) -> dict[str, Any]:
    """What is whole in an answer that is not: entries of its writes, and its state; empty if nothing is."""
    start = _LIST.search(text)
    if start is None:
        return {}
    label = _STATE.search(text, 0, start.start())
    state = _decoded(text, label.end())[0] if label else None
    writes = list(_entries(text, start.end()))
    if state is None:
        return {"writes": writes} if writes else {}
    return {"state": state, "writes": writes}


def _entries(text: str, at: int) -> Iterator[dict[str, Any]]:
    """The objects of a list whose first entry begins at ``at``, up to the first one that is not whole."""
    found, end = _decoded(text, at)
    while found is not None:
        yield found
        comma = _COMMA.match(text, end)
        found, end = _decoded(text, comma.end()) if comma else (None, end)


def _decoded(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """The JSON object that begins at ``at``, None if none does, and where to look on."""
    try:
        found, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + 1
    return (found, end) if isinstance(found, dict) else (None, end)


def checked(shape: type[Shape], value: Any) -> tuple[Shape | None, str]:
    """The value as a record, or why it is none."""
    try:
        return shape.model_validate(value), ""
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return None, f"{place}: {first['msg']}" if place else str(first["msg"])
