"""What a sequence of statements says about the room, the newest word winning.

The engine can list one object in several places at once (it does so in 102 of ALFWorld's 134 unseen games), so the
last sighting of a thing is its place, and a thing in the hand is in no place, whatever else still lists it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memarbiter.writing.household.text import (
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
    Switched,
    Taken,
    Treated,
    kind,
)


@dataclass(slots=True)
class Place:
    """What is known of one place; ``things`` is None while it has never been looked into."""

    name: str
    things: list[str] | None = None
    openable: bool = False
    closed: bool = False
    step: int = 0


@dataclass(slots=True)
class World:
    """The room as far as it has been told, with the step of each piece of knowledge.

    Attributes:
        places: All places by name, in the order in which they were first named.
        near: Places known to share the agent's location.
        here: The place the agent last went to.
        arrived: Step at which it went there.
        changed: Step at which the agent last changed its location or its hands; what failed before that may
            work now.
        held: The thing in the hand.
        hand_told: Step at which that was last said; -1 if it never was.
        properties: hot, cool or clean, by thing.
        taken_from: Where each thing was last picked up.
        put_in: Where each thing was put down and has not been picked up since.
        seen_at: (step, place) of each thing's newest sighting.
    """

    places: dict[str, Place] = field(default_factory=dict)
    near: set[str] = field(default_factory=set)
    here: str | None = None
    arrived: int = 0
    changed: int = 0
    held: str | None = None
    hand_told: int = -1
    properties: dict[str, set[str]] = field(default_factory=dict)
    taken_from: dict[str, str] = field(default_factory=dict)
    put_in: dict[str, str] = field(default_factory=dict)
    seen_at: dict[str, tuple[int, str]] = field(default_factory=dict)

    def place(self, name: str) -> Place:
        """The record of a place, made if it is new."""
        return self.places.setdefault(name, Place(name))

    def where(self, thing: str) -> str | None:
        """The place of a thing by its newest sighting; None if it is held or unknown."""
        if thing == self.held or thing not in self.seen_at:
            return None
        return self.seen_at[thing][1]

    def unsearched(self) -> list[str]:
        """Places that have never been looked into, in the order in which they were first named."""
        return [place.name for place in self.places.values() if place.things is None]

    def of_kind(self, wanted: str) -> list[str]:
        """All places of a kind, in the order in which they were first named."""
        return [name for name in self.places if kind(name) == wanted]

    def tell(self, statements: list[Statement], step: int, remote: bool = False) -> None:
        """Take in the statements of one observation, or of notes about places that may be elsewhere (``remote``)."""
        elsewhere = remote or any(isinstance(statement, Arrived) for statement in statements)
        for statement in statements:
            self._tell_one(statement, step, elsewhere)

    def _tell_one(self, statement: Statement, step: int, elsewhere: bool) -> None:
        match statement:
            case PlacesListed(places):
                for name in places:
                    self.place(name)
            case Arrived(name):
                self.place(name)
                if name != self.here:  # Being where one already was is no change.
                    self.here, self.near = name, {name}
                    self.arrived, self.changed = step, max(step, self.changed)
            case Facing(places):
                for name in places:
                    self.place(name)
                self.near |= set(places)
            case Seen(name, things, state):
                self._reach(name, elsewhere)
                self.place(name).openable |= bool(state)
                self._look_into(name, list(things), step)
            case Closed(name):
                self._reach(name, elsewhere)
                place = self.place(name)
                place.openable = place.closed = True
            case Taken(thing, name):
                self._reach(name, elsewhere)
                self._lift(thing, name, step)
            case Put(thing, name):
                self._reach(name, elsewhere)
                self._set_down(thing, name, step)
            case Treated(thing, became):
                self._treat(thing, became)
            case Carrying(thing):
                self.held, self.hand_told = thing, step
            case Sighted(thing, name):
                self.place(name)
                self.seen_at[thing] = (step, name)
            case Delivered(thing, name):
                self.place(name)
                self.seen_at[thing] = (step, name)
                self.put_in[thing] = name
            case Switched():
                pass

    def _reach(self, name: str, elsewhere: bool) -> None:
        # Acting on a place without having just arrived somewhere means that it shares the agent's location.
        self.place(name)
        if not elsewhere:
            self.near.add(name)
            self.here = self.here or name

    def _look_into(self, name: str, things: list[str], step: int) -> None:
        place = self.place(name)
        for thing in place.things or []:
            if self.seen_at.get(thing, (0, ""))[1] == name:
                del self.seen_at[thing]
        place.things, place.closed, place.step = things, False, step
        for thing in things:
            self.seen_at[thing] = (step, name)

    def _lift(self, thing: str, name: str, step: int) -> None:
        place = self.place(name)
        place.closed = False
        if place.things is not None:  # Acting on a place is not yet looking into it.
            place.things = [other for other in place.things if other != thing]
        self.seen_at.pop(thing, None)
        self.put_in.pop(thing, None)
        self.taken_from[thing] = name
        self.held, self.changed, self.hand_told = thing, step, step

    def _set_down(self, thing: str, name: str, step: int) -> None:
        place = self.place(name)
        place.closed = False
        if place.things is not None:
            place.things = [*(other for other in place.things if other != thing), thing]
        self.seen_at[thing] = (step, name)
        self.put_in[thing] = name
        self.held, self.changed, self.hand_told = None, step, step

    def _treat(self, thing: str, became: str) -> None:
        properties = self.properties.setdefault(thing, set())
        properties -= {"hot": {"cool"}, "cool": {"hot"}}.get(became, set())
        properties.add(became)
