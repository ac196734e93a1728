"""The rule-based candidate writer for ALFWorld's household tasks (paper section 3.1, without a model)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memarbiter.context import DecisionContext, Evidence, Written
from memarbiter.items import Bank, CandidateWrite, MemoryItem, Status
from memarbiter.protocol import Task
from memarbiter.writing.household.parser import Stage, plan
from memarbiter.writing.household.task import APPLIANCES, Recipe, parse_goal
from memarbiter.writing.household.text import Closed, Put, Seen, Statement, Taken, entities, kind, read
from memarbiter.writing.household.world import Place, World


class HouseholdWriter:
    """A :class:`~memarbiter.context.CandidateWriter` that reads the engine's sentences."""

    def begin(self, task: Task) -> None:
        """Start a new episode.

        Raises:
            UnknownGoal: If the goal has none of ALFWorld's forms.
        """
        self._recipe = parse_goal(task.goal)
        self._plan = plan(self._recipe)
        self._world = World()
        self._stage: int | None = None
        self._treated: bool | None = None
        self._sharing: tuple[str, ...] = ()
        self._unsearched: tuple[str, ...] | None = None

    async def write(self, context: DecisionContext, known: Sequence[MemoryItem]) -> Written:
        """Candidates for all banks from the evidence in the context; what is known already is told again."""
        evidence = context.evidence
        statements = read(evidence.observation)
        self._world.tell(statements, evidence.step)
        return Written(
            (
                *self._goals(context),
                *self._constraints(evidence, statements),
                self._state(evidence),
                *self._events(context),
                *self._facts(evidence, statements),
            )
        )

    def _goals(self, context: DecisionContext) -> Iterator[CandidateWrite]:
        step = context.evidence.step
        if step == 0:
            text = f"Task: {context.goal}"
            yield CandidateWrite(Bank.GOAL, "task", text, text, "open", step, "goal")
        if context.stage == self._stage:
            return
        self._stage = context.stage
        for number, stage in enumerate(self._plan):
            yield _subgoal(number, stage, context.stage, step)

    def _constraints(self, evidence: Evidence, statements: list[Statement]) -> Iterator[CandidateWrite]:
        if evidence.step == 0:
            yield from requirements(self._recipe)
        treated = self._is_treated()
        if self._recipe.becomes and treated is not self._treated:
            self._treated = treated
            yield self._treatment(evidence.step, treated)
        if any(isinstance(statement, Closed) for statement in statements):
            yield CandidateWrite(
                Bank.CONSTRAINT,
                "doors",
                "A closed place must be opened before anything can be seen in it, taken from it or put into it.",
                "closed place",
                "open it first",
                evidence.step,
                "observation",
                scope=("open", "take", "move"),
            )
        yield from self._shared_locations(evidence)

    def _is_treated(self) -> bool:
        """Whether the thing in the hand, or else any thing of the target's kind, has the wanted property."""
        world, recipe = self._world, self._recipe
        if world.held and kind(world.held) == recipe.thing:
            return recipe.becomes in world.properties.get(world.held, ())
        return any(kind(thing) == recipe.thing and recipe.becomes in got for thing, got in world.properties.items())

    def _treatment(self, step: int, treated: bool) -> CandidateWrite:
        recipe = self._recipe
        return CandidateWrite(
            Bank.CONSTRAINT,
            "treatment",
            f"The {recipe.thing} must be {recipe.becomes} before it is delivered; "
            f"a {APPLIANCES[recipe.becomes]} makes it so.",
            recipe.thing,
            f"must be {recipe.becomes}",
            step,
            "goal",
            scope=(recipe.thing, APPLIANCES[recipe.becomes]),
            status=Status.COMPLETED if treated else Status.ACTIVE,
        )

    def _shared_locations(self, evidence: Evidence) -> Iterator[CandidateWrite]:
        # Acting on a place without going there proves that it shares the location; a refused "go to" proves nothing.
        near = tuple(sorted(self._world.near))
        if self._sharing and self._sharing != near:
            yield _shared(self._sharing, evidence.step, Status.INVALID)
        self._sharing = near if len(near) > 1 else ()
        if self._sharing:
            yield _shared(self._sharing, evidence.step, Status.ACTIVE)

    def _state(self, evidence: Evidence) -> CandidateWrite:
        world = self._world
        hand = describe(world, world.held) if world.held else "nothing"
        beside = sorted(world.near - {world.here})
        where = f"at {world.here}" if world.here else "in the middle of the room"
        next_to = f", next to {', '.join(beside)}" if beside else ""
        since = f" since step {world.arrived}" if world.here else ""
        done = [
            f"{describe(world, thing)} put in {place}"
            for thing, place in world.put_in.items()
            if kind(thing) == self._recipe.thing
        ]
        value = f"{where}{since}{next_to}, holding {hand}"
        extra = f"; {', '.join(done)}" if done else ""
        return CandidateWrite(
            Bank.TASK_STATE,
            f"snapshot {evidence.step}",
            f"Step {evidence.step}: you are {value}{extra}.",
            world.here or "room",
            f"{where}{since}, holding {hand}{extra}",
            evidence.step,
            "observation",
            entities=tuple(name for name in (world.here, world.held) if name),
        )

    def _events(self, context: DecisionContext) -> Iterator[CandidateWrite]:
        evidence = context.evidence
        if evidence.action is None:
            return
        outcome = "failed" if evidence.failed else "done"
        text = f"{evidence.action} -> {' '.join(evidence.observation.split())}"
        yield CandidateWrite(
            Bank.EPISODIC,
            text,
            text,
            evidence.action,
            outcome,
            evidence.step,
            "outcome",
            entities=entities(evidence.action),
            # An event serves the subgoal under which it happened.
            scope=(evidence.action.split(" ", 1)[0], *sorted(context.topics)),
            failed=evidence.failed,
        )

    def _facts(self, evidence: Evidence, statements: list[Statement]) -> Iterator[CandidateWrite]:
        for statement in statements:
            if isinstance(statement, Seen | Taken | Put | Closed):
                yield from self._contents(self._world.place(statement.place), evidence.step)
            if isinstance(statement, Taken):
                # Another place may have listed the thing as well; while it is in the hand it is in neither.
                for place in self._world.places.values():
                    if statement.thing in (place.things or ()):
                        yield from self._contents(place, place.step)
        unsearched = tuple(self._world.unsearched())
        if unsearched != self._unsearched:
            self._unsearched = unsearched
            yield CandidateWrite(
                Bank.REFERENCE,
                "unsearched",
                "Not searched yet: {members}",
                "Not searched yet",
                "places",
                evidence.step,
                "observation",
                members=unsearched,
                cues=unsearched,
                # What is still unsearched matters as long as something must be found.
                scope=(self._recipe.thing, *([self._recipe.lamp] if self._recipe.lamp else [])),
            )

    def _contents(self, place: Place, step: int) -> Iterator[CandidateWrite]:
        """What the place holds now: of what was seen there, that which has not been seen elsewhere since."""
        if place.things is None:
            return
        wanted = {self._recipe.thing, self._recipe.lamp}
        things = tuple(thing for thing in place.things if self._world.where(thing) == place.name)
        state = f" ({'closed' if place.closed else 'open'})" if place.openable else ""
        yield CandidateWrite(
            Bank.REFERENCE,
            f"contents of {place.name}",
            f"{place.name}{state}: {{members}}",
            f"{place.name}{state}",
            "looked into",
            step,
            "observation",
            entities=(place.name,),
            members=things,
            exclusive=True,
            cues=tuple(thing for thing in things if kind(thing) in wanted),
        )


def describe(world: World, thing: str) -> str:
    """The thing with what was done to it: "mug 1 (clean)"."""
    properties = ", ".join(sorted(world.properties.get(thing, ())))
    return f"{thing} ({properties})" if properties else thing


def requirements(recipe: Recipe) -> Iterator[CandidateWrite]:
    """The restrictions that the goal itself states, and the one that holds in every task."""

    def constraint(key: str, text: str, subject: str, value: str, *scope: str) -> CandidateWrite:
        return CandidateWrite(Bank.CONSTRAINT, key, text, subject, value, 0, "goal", scope=scope)

    yield constraint("hands", "You can hold only one thing at a time.", "hands", "one thing", "take")
    if recipe.count == 2:
        text = f"Two different {recipe.thing}s must end up in the same {recipe.destination}."
        yield constraint("quantity", text, recipe.thing, "two, same place", recipe.thing, recipe.destination)
    elif recipe.destination:
        text = f"The {recipe.thing} must end up in or on a {recipe.destination}; no other place counts."
        yield constraint("place", text, recipe.thing, f"to a {recipe.destination}", "move", recipe.destination)
    if recipe.lamp:
        text = f"The {recipe.thing} must be in your hand when the {recipe.lamp} is turned on."
        yield constraint("lamp", text, recipe.thing, "in hand under the lamp", "use", recipe.lamp)


def _shared(places: tuple[str, ...], step: int, status: Status) -> CandidateWrite:
    """The restriction that holds while the agent stands where several places are."""
    return CandidateWrite(
        Bank.CONSTRAINT,
        f"shared location of {', '.join(places)}",
        f"{' and '.join(places)} share one location: from one of them the other is acted on directly, "
        "and going there is refused.",
        ", ".join(places),
        "one location",
        step,
        "outcome",
        entities=places,
        scope=places,
        status=status,
    )


def _subgoal(number: int, stage: Stage, current: int, step: int) -> CandidateWrite:
    if number < current:
        status, word = Status.COMPLETED, "done"
    else:
        status, word = Status.ACTIVE, "now" if number == current else "later"
    text = f"{'Now' if number == current else 'Later'}: {stage.text}"
    return CandidateWrite(
        Bank.GOAL,
        f"stage {number}",
        text,
        f"{word}: {stage.text}",
        word,
        step,
        "goal",
        scope=stage.topics,
        status=status,
    )
