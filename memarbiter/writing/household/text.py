"""The sentences of ALFWorld's text engine, as typed statements.

``read`` turns an observation into the statements it makes, in their order. It knows the sentence forms of
the games of release 2.1.2 and later (``move X to Y``); what it does not know it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

#: A thing or a place as the game names it: one word and a number ("mug 1", "sinkbasin 2"). "step 3" is none.
ENTITY = r"(?!steps? )[a-z]+ \d+"
_ENTITY = re.compile(rf"\b{ENTITY}\b")

REJECTED = "Nothing happens."

#: The property that each treating verb gives to the thing, by verb.
TREATMENTS = {"heat": "hot", "cool": "cool", "clean": "clean"}


@dataclass(frozen=True, slots=True)
class PlacesListed:
    """The room's places, as the first observation lists them."""

    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """The agent went to a place."""

    place: str


@dataclass(frozen=True, slots=True)
class Facing:
    """The places at the agent's location."""

    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a place holds; ``state`` is ``open`` for a thing that can be closed, else empty."""

    place: str
    things: tuple[str, ...]
    state: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """The place is closed: what it holds cannot be seen."""

    place: str


@dataclass(frozen=True, slots=True)
class Taken:
    """The agent picked a thing up."""

    thing: str
    place: str


@dataclass(frozen=True, slots=True)
class Put:
    """The agent moved the held thing to a place."""

    thing: str
    place: str


@dataclass(frozen=True, slots=True)
class Treated:
    """A thing became hot, cool or clean."""

    thing: str
    became: str


@dataclass(frozen=True, slots=True)
class Switched:
    """A lamp was turned on or off."""

    thing: str
    on: bool


@dataclass(frozen=True, slots=True)
class Carrying:
    """What the agent holds; None for empty hands."""

    thing: str | None


@dataclass(frozen=True, slots=True)
class Sighted:
    """A thing is in a place; nothing is said of what else is there. Notes say this, the game does not."""

    thing: str
    place: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """A thing was put in a place at some earlier time. Notes say this, the game does not."""

    thing: str
    place: str


Statement = (
    PlacesListed | Arrived | Facing | Seen | Closed | Taken | Put | Treated | Switched | Carrying | Sighted | Delivered
)


def entities(text: str) -> tuple[str, ...]:
    """All entities that the text names, in order, each once."""
    return tuple(dict.fromkeys(_ENTITY.findall(text.lower())))


def kind(entity: str) -> str:
    """The type of an entity: "mug" for "mug 1"."""
    return entity.rsplit(" ", 1)[0]


def read(observation: str) -> list[Statement]:
    """The statements an observation makes, in the order of its text."""
    found: list[tuple[int, Statement]] = []
    for pattern, build in _FORMS:
        found += [(match.start(), build(match)) for match in pattern.finditer(observation)]
    return [statement for _, statement in sorted(found, key=lambda pair: pair[0])]


_Form = tuple[re.Pattern[str], Callable[[re.Match[str]], Statement]]
_E = rf"({ENTITY})"

_FORMS: tuple[_Form, ...] = (
    (
        re.compile(r"quickly around you, you see ([^.]*)\."),
        lambda m: PlacesListed(entities(m[1])),
    ),
    (re.compile(rf"You arrive at {_E}\."), lambda m: Arrived(m[1])),
    (re.compile(r"You are facing ([^.]*)\. Next to it"), lambda m: Facing(entities(m[1]))),
    (re.compile(rf"On the {_E}, you see ([^.]*)\."), lambda m: Seen(m[1], entities(m[2]))),
    (
        re.compile(rf"The {_E} is open\. In it, you see ([^.]*)\."),
        lambda m: Seen(m[1], entities(m[2]), "open"),
    ),
    (re.compile(rf"The {_E} is closed\."), lambda m: Closed(m[1])),
    (re.compile(rf"You close the {_E}\."), lambda m: Closed(m[1])),
    (re.compile(rf"You pick up the {_E} from the {_E}\."), lambda m: Taken(m[1], m[2])),
    (re.compile(rf"You move the {_E} to the {_E}\."), lambda m: Put(m[1], m[2])),
    (
        re.compile(rf"You (heat|cool|clean) the {_E} using the {_E}\."),
        lambda m: Treated(m[2], TREATMENTS[m[1]]),
    ),
    (re.compile(rf"You turn (on|off) the {_E}\."), lambda m: Switched(m[2], m[1] == "on")),
    (re.compile(rf"You are carrying: an? {_E}\."), lambda m: Carrying(m[1])),
    (re.compile(r"You are not carrying anything\."), lambda m: Carrying(None)),
)
