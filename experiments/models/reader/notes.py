"""What a prompt says, read by one set of rules whatever memory wrote it.

Two kinds of sentences are understood: the environment's own (as every flat history quotes them) and plain
notes about places, things and steps:

===========================================  ====================================================
"Step 7. Action: open drawer 2." / "Step 7:  the command was carried out at step 7, unless the line
open drawer 2"                               says "Nothing happens" or "failed"
"at drawer 2 since step 5"                   where the agent is, and since when
"next to drawer 3"                           what shares the agent's location
"holding mug 1" / "holding nothing"          what is in the hand
"mug 1 is clean" / "mug 1 (clean)"           a property that was given to a thing
"drawer 2 (open): pen 1, key 2 (step 5)"     what a place holds, and whether it is open or closed
"mug 1 is in drawer 2", "mug 1 put in ..."   the place of a thing; where it was put
"not searched yet: drawer 3, 4; fridge 1"    the places worth a visit, in that order
===========================================  ====================================================

A line belongs to the step it names, and the latest word wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from memarbiter.writing.household.text import (
    ENTITY,
    REJECTED,
    TREATMENTS,
    Arrived,
    Carrying,
    Closed,
    Delivered,
    Facing,
    PlacesListed,
    Put,
    Seen,
    Sighted,
    Statement,
    Taken,
    Treated,
    entities,
    read,
)
from memarbiter.writing.household.world import World

_STEP = re.compile(r"\bsteps? (\d+(?:, \d+)*)", re.IGNORECASE)
_COMMAND = re.compile(
    r"^\W*steps? \d+(?:, \d+)*\W+(?:action: )?"
    rf"(go to {ENTITY}|take {ENTITY} from {ENTITY}|move {ENTITY} to {ENTITY}"
    rf"|(?:heat|cool|clean|slice) {ENTITY} with {ENTITY}|(?:open|close|examine|use) {ENTITY}"
    r"|look\b|inventory\b|help\b)",
    re.IGNORECASE,
)
_FAILED = re.compile(rf"{re.escape(REJECTED.rstrip('.'))}|\bfailed\b", re.IGNORECASE)

_AT = re.compile(rf"\bat ({ENTITY})(?: since step (\d+))?", re.IGNORECASE)
_HOLDING = re.compile(rf"\bholding (nothing|{ENTITY})", re.IGNORECASE)
_PROPERTY = re.compile(
    rf"\b({ENTITY}) (?:is |\()((?:hot|cool|clean)(?:(?:, | and )(?:hot|cool|clean))*)\b", re.IGNORECASE
)
_CONTENTS = re.compile(
    rf"^\W*(?:steps? \d+(?:, \d+)*\W+)?(?:(?:on|in) )?({ENTITY})(?: \((open|closed)\))?(?:: ([^(]*))?",
    re.IGNORECASE,
)
_NEXT_TO = re.compile(rf"\bnext to ({ENTITY}(?:(?:,| and|, and) {ENTITY})*)", re.IGNORECASE)
_LYING = re.compile(rf"\b({ENTITY}) (?:is|lies) (?:in|on) ({ENTITY})", re.IGNORECASE)
_PUT = re.compile(rf"\b({ENTITY})(?: \([^)]*\))? (?:was )?put (?:in|on) ({ENTITY})", re.IGNORECASE)
_UNSEARCHED = re.compile(r"not searched yet: ([^.\n]*)", re.IGNORECASE)
_NUMBERS = re.compile(r"\b(?!steps? )([a-z]+)((?: \d+,?)+)")


@dataclass(slots=True)
class Told:
    """Everything the prompt says.

    Attributes:
        world: The room, as told.
        failed: Step of each rejected command, by command; the newest rejection counts.
        search_list: Places that the text calls unsearched, or None if it has no such list.
    """

    world: World = field(default_factory=World)
    failed: dict[str, int] = field(default_factory=dict)
    search_list: list[str] | None = None


def understand(memory: str, observation: str) -> Told:
    """Read a memory block and the current observation."""
    told = Told()
    # Step, whether it is a note (of what may be elsewhere) rather than the game's own words, and what it says.
    events: list[tuple[int, bool, Statement]] = []
    step = 0
    for line in memory.splitlines():
        if found := _STEP.search(line):
            step = int(found[1].rsplit(", ", 1)[-1])
        if listed := _UNSEARCHED.search(line):
            told.search_list = number_list(listed[1])
            events.append((step, True, PlacesListed(tuple(told.search_list))))
            continue
        command = _COMMAND.search(line)
        if command and _FAILED.search(line):
            told.failed[command[1].lower()] = step
            continue
        if command:
            events += [(step, False, statement) for statement in effects(command[1].lower())]
        events += [(step, False, statement) for statement in read(line)]
        events += [(at, True, statement) for at, statement in _notes(line, step)]
    in_time = itemgetter(0, 1)
    for (at, noted), group in groupby(sorted(events, key=in_time), key=in_time):
        told.world.tell([statement for _, _, statement in group], at, remote=noted)
    latest = max([at for at, _, _ in events] + [*told.failed.values(), 0])
    told.world.tell(read(observation), latest + 1)
    return told


def effects(command: str) -> list[Statement]:
    """What a command did, if it was carried out and nothing more is known of it."""
    named = entities(command)
    match command.split(" ", 1)[0]:
        case "go":
            return [Arrived(named[0])]
        case "take":
            return [Taken(named[0], named[1])]
        case "move":
            return [Put(named[0], named[1])]
        case "heat" | "cool" | "clean" as verb:
            return [Treated(named[0], TREATMENTS[verb])]
        case _:
            return []


def number_list(text: str) -> list[str]:
    """The places of a list that may leave out a repeated kind: "drawer 3, 4; fridge 1"."""
    return [
        f"{name} {number}" for name, numbers in _NUMBERS.findall(text.lower()) for number in re.findall(r"\d+", numbers)
    ]


def _notes(line: str, step: int) -> Iterator[tuple[int, Statement]]:
    low = line.lower()
    for place, since in _AT.findall(low):
        yield int(since or step), Arrived(place)
    for places in _NEXT_TO.findall(low):
        yield step, Facing(entities(places))
    for thing in _HOLDING.findall(low):
        yield step, Carrying(None if thing == "nothing" else thing)
    for thing, became in _PROPERTY.findall(low):
        for one in re.findall("[a-z]+", became.replace(" and ", " ")):
            yield step, Treated(thing, one)
    for thing, place in _PUT.findall(low):
        yield step, Delivered(thing, place)
    for thing, place in _LYING.findall(low):
        yield step, Sighted(thing, place)
    if contents := _CONTENTS.search(low):
        place, state, things = contents.groups()
        if things:
            yield step, Seen(place, tuple(number_list(things)), state or "")
        if state == "closed":
            yield step, Closed(place)
