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

_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu])')
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
    escapes nothing is taken for itself. Of a ``writes`` list that was cut off, the complete entries are taken.

    Returns:
        The object (empty if there is none) and the remarks, each with a name before a colon.
    """
    remarks = []
    candidates = [(text, "")] + ([(_BAD_ESCAPE.sub(r"\\\\", text), "bad escape mended")] if "\\" in text else [])
    for attempt, remark in candidates:
        found = [one for one in _objects(attempt) if all(name in one for name in names)]
        if found:
            remarks += [remark] if remark else []
            remarks += [f"further objects left out: {len(found) - 1}"] if len(found) > 1 else []
            return found[0], remarks
    if "writes" in names and (cut := _complete_parts(text)) is not None:
        return cut, [f"cut off: {len(cut['writes'])} complete writes kept"]
    return {}, []


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text, in their order."""
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(found, dict):
                yield found
        at = text.find("{", end)


def _complete_parts(text: str) -> dict[str, Any] | None:
    """Of an answer that was cut off: its state if that is whole, and the whole ones of its writes; None without writes."""
    start = re.search(r'"writes"\s*:\s*\[', text)
    if start is None:
        return None
    state = re.search(r'"state"\s*:\s*', text)
    whole = next(_objects(text[state.end() : start.start()]), None) if state else None
    return {"writes": list(_objects(text[start.end() :])), **({"state": whole} if whole else {})}


def checked(shape: type[Shape], value: Any) -> tuple[Shape | None, str]:
    """The value as a record, or why it is none."""
    try:
        return shape.model_validate(value), ""
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return None, f"{place}: {first['msg']}" if place else str(first["msg"])
