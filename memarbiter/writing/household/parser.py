"""The rule-based state parser for ALFWorld's household tasks: where the plan stands, and what it needs to know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from memarbiter.context import DecisionContext, Evidence, Need, Parsed
from memarbiter.protocol import Task
from memarbiter.writing.household.task import APPLIANCES, VERBS, Recipe, parse_goal
from memarbiter.writing.household.text import entities, kind, read
from memarbiter.writing.household.world import World


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the plan: what to do, what it is about, and the kinds of entities it needs to locate."""

    text: str
    topics: tuple[str, ...]
    needs: tuple[str, ...]


def plan(recipe: Recipe) -> tuple[Stage, ...]:
    """The stages that the recipe goes through, in order."""
    stages: list[Stage] = []
    for nth in ("first ", "second ") if recipe.count == 2 else ("",):
        stages.append(Stage(f"Find the {nth}{recipe.thing} and take it.", (recipe.thing, "take"), (recipe.thing,)))
        if recipe.becomes:
            appliance, verb = APPLIANCES[recipe.becomes], VERBS[recipe.becomes]
            text = f"{verb.capitalize()} the {recipe.thing} with a {appliance}."
            stages.append(Stage(text, (recipe.thing, verb, appliance), (appliance,)))
        if recipe.lamp:
            text = f"Hold the {recipe.thing} and use a {recipe.lamp} at the lamp's place."
            stages.append(Stage(text, (recipe.thing, "use", recipe.lamp), (recipe.lamp,)))
        else:
            text = f"Move the {nth}{recipe.thing} to a {recipe.destination}."
            topics = (recipe.thing, "move", recipe.destination)
            stages.append(Stage(text, topics, (recipe.destination,)))
    return tuple(stages)


def stages_done(recipe: Recipe, world: World) -> int:
    """How many stages of the plan are behind the agent, as far as the room is known."""
    delivered = Counter(
        place
        for thing, place in world.put_in.items()
        if kind(thing) == recipe.thing
        and kind(place) == recipe.destination
        and (not recipe.becomes or recipe.becomes in world.properties.get(thing, ()))
    )
    per_thing = 2 + bool(recipe.becomes)
    # Two things count only if they are in the same place.
    done = per_thing * min(max(delivered.values(), default=0), recipe.count)
    if world.held and kind(world.held) == recipe.thing:
        done += 1 + bool(recipe.becomes and recipe.becomes in world.properties.get(world.held, ()))
    return done


class HouseholdStateParser:
    """A :class:`~memarbiter.context.StateParser` without a model."""

    def begin(self, task: Task) -> None:
        """Start a new episode.

        Raises:
            UnknownGoal: If the goal has none of ALFWorld's forms.
        """
        self._goal = task.goal
        self._recipe = parse_goal(task.goal)
        self._plan = plan(self._recipe)
        self._world = World()
        self._failed_at: int | None = None

    async def parse(self, evidence: Evidence) -> Parsed:
        """The decision context after the evidence."""
        self._world.tell(read(evidence.observation), evidence.step)
        if evidence.failed:
            self._failed_at = evidence.step
        done = min(stages_done(self._recipe, self._world), len(self._plan))
        stage = self._plan[min(done, len(self._plan) - 1)]
        context = DecisionContext(
            goal=self._goal,
            evidence=evidence,
            subgoal=stage.text,
            stage=done,
            progress=done / len(self._plan),
            topics=frozenset(stage.topics),
            entities=self._entities(evidence),
            needs=tuple(Need(topic, not self._located(topic)) for topic in stage.needs),
            steps_since_failure=None if self._failed_at is None else evidence.step - self._failed_at,
        )
        return Parsed(context)

    def _located(self, wanted: str) -> bool:
        world = self._world
        if world.of_kind(wanted):
            return True
        return any(kind(thing) == wanted and world.where(thing) for thing in world.seen_at)

    def _entities(self, evidence: Evidence) -> frozenset[str]:
        named = entities(f"{evidence.action or ''}\n{evidence.observation if evidence.step else ''}")
        held = (self._world.held,) if self._world.held else ()
        return frozenset((*named, *held, *self._world.near))
