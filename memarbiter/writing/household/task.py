"""ALFWorld's goal sentences, as a typed recipe."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memarbiter.writing.household.text import TREATMENTS

#: The kind of place that gives each property.
APPLIANCES = {"hot": "microwave", "cool": "fridge", "clean": "sinkbasin"}

#: The verb that gives each property.
VERBS = {became: verb for verb, became in TREATMENTS.items()}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a goal asks for.

    Attributes:
        thing: Kind of the target object.
        count: How many of them.
        becomes: Property they must have (``hot``, ``cool``, ``clean``), or empty.
        destination: Kind of the place they must be put in, or empty.
        lamp: Kind of the lamp under which the thing must be looked at, or empty.
    """

    thing: str
    count: int = 1
    becomes: str = ""
    destination: str = ""
    lamp: str = ""


class UnknownGoal(ValueError):
    """The goal sentence has none of the known forms."""


_PROPERTY = r"(?:(?P<becomes>hot|cool|clean) )?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"(?:put|find) (?P<two>two) (?P<thing>[a-z]+) (?:and put them )?(?:in|on) (?P<destination>[a-z]+)",
        rf"put (?:a|an|some) {_PROPERTY}(?P<thing>[a-z]+) (?:in|on) (?P<destination>[a-z]+)",
        r"(?P<verb>clean|heat|cool) some (?P<thing>[a-z]+) and put it (?:in|on) (?P<destination>[a-z]+)",
        r"look at (?P<thing>[a-z]+) under the (?P<lamp>[a-z]+)",
        r"examine the (?P<thing>[a-z]+) with the (?P<lamp>[a-z]+)",
    )
)


def parse_goal(goal: str) -> Recipe:
    """The recipe of a goal sentence.

    Raises:
        UnknownGoal: If the sentence has none of ALFWorld's forms.
    """
    text = " ".join(goal.lower().rstrip(". ").split())
    for form in _FORMS:
        if match := form.fullmatch(text):
            found = match.groupdict()
            return Recipe(
                thing=found["thing"],
                count=2 if found.get("two") else 1,
                becomes=found.get("becomes") or TREATMENTS.get(found.get("verb") or "", ""),
                destination=found.get("destination") or "",
                lamp=found.get("lamp") or "",
            )
    raise UnknownGoal(f"goal {goal!r} has none of ALFWorld's forms (see memarbiter/writing/household/task.py)")
