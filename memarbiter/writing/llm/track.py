"""What an episode has brought so far, and the decision context that a parsed state makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memarbiter import tokens
from memarbiter.context import DecisionContext, Evidence, Need
from memarbiter.protocol import Task
from memarbiter.quoting import neutralise, one_line
from memarbiter.writing.llm import example
from memarbiter.writing.llm.grounding import Episode
from memarbiter.writing.llm.schema import NeedAnswer, StateAnswer, checked

_MOST_SUBGOALS, _MOST_NAMES = 12, 24
_SUBGOAL_TOKENS = 40


class Track:
    """The trajectory of one episode.

    Attributes:
        task: The task that is played.
        episode: Words and entities that have occurred.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.episode = Episode(task.goal)
        self._lines: dict[int, str] = {}
        self._failed_at: int | None = None
        self._last: DecisionContext | None = None
        self._plans: dict[int, str] = {}

    def before(self, step: int) -> tuple[str, ...]:
        """One line for the first observation and for each step up to this one, oldest first."""
        return tuple(line for number, line in self._lines.items() if number < step)

    def state_before(self, step: int) -> str:
        """The subgoals of the last usable state before this step, in words; empty if there is none."""
        return next((plan for number, plan in reversed(self._plans.items()) if number < step), "")

    def tell(self, evidence: Evidence) -> None:
        """Take in new evidence; to be told the same again changes nothing."""
        self.episode.tell(f"{evidence.action or ''} {evidence.observation}")
        if evidence.failed:
            self._failed_at = evidence.step
        outcome = one_line(evidence.observation)
        told = outcome if evidence.action is None else f"{evidence.action} -> {outcome}"
        self._lines[evidence.step] = f"Step {evidence.step}: {told}"

    def parsed(self, evidence: Evidence, answer: Mapping[str, Any]) -> tuple[DecisionContext, list[str]]:
        """The decision context from a model's answer, which may be empty, and what of it could not be used."""
        state, wrong = checked(StateAnswer, answer.get("state")) if answer else (None, "")
        context, problems = self.context(evidence, state)
        return context, [f"malformed state: {wrong}", *problems] if wrong else problems

    def context(self, evidence: Evidence, state: StateAnswer | None) -> tuple[DecisionContext, list[str]]:
        """The decision context, and what of the state could not be used.

        Without a usable state the last one stands: a failed question changes nothing that is known.
        """
        problems: list[str] = []
        context = self._from(evidence, state, problems) if state else None
        if context is None:
            context = replace(self._last or self._initial(evidence), evidence=evidence, entities=self._here(evidence))
        since = None if self._failed_at is None else evidence.step - self._failed_at
        self._last = replace(context, steps_since_failure=since)
        return self._last, problems

    def _from(self, evidence: Evidence, state: StateAnswer, problems: list[str]) -> DecisionContext | None:
        done = self._grounded(state.completed_subgoals, problems)
        ahead = self._grounded(state.open_subgoals, problems)
        if not done and not ahead:
            problems.append("state without a subgoal: the last one is kept")
            return None
        told = (("Completed", done), ("Open", ahead))
        self._plans[evidence.step] = "\n".join(f"{word}: {' '.join(texts)}" for word, texts in told if texts)
        subgoal = ahead[0] if ahead else done[-1]
        return DecisionContext(
            goal=self.task.goal,
            evidence=evidence,
            subgoal=subgoal,
            stage=len(done),
            progress=len(done) / (len(done) + len(ahead)),
            topics=self._topics(state.topics, subgoal) or self.episode.topics(subgoal),
            entities=self._here(evidence) | self._terms(state.entities),
            needs=self._needs(state.needs),
            steps_since_failure=None,
        )

    def _grounded(self, subgoals: Iterable[str], problems: list[str]) -> list[str]:
        kept = []
        for subgoal in list(subgoals)[:_MOST_SUBGOALS]:
            text = tokens.truncate(one_line(neutralise(subgoal)), _SUBGOAL_TOKENS)
            if stranger := self.episode.stranger(text, example.KINDS):
                problems.append(f"never occurred: {stranger}")
            elif text:
                kept.append(text)
        return kept

    def _topics(self, names: Iterable[str], subgoal: str) -> frozenset[str]:
        # The verb of a subgoal need not have occurred before.
        spoken = frozenset(word.lower().strip() for word in names) & frozenset(subgoal.lower().rstrip(".").split())
        return self._terms(names) | spoken

    def _terms(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(filter(None, (self.episode.term(name) for name in list(names)[:_MOST_NAMES])))

    def _needs(self, answers: Iterable[NeedAnswer]) -> tuple[Need, ...]:
        told = ((self.episode.term(answer.topic), answer.found) for answer in list(answers)[:_MOST_NAMES])
        # Of one topic there is one need; the last word on it counts.
        found = {topic: known for topic, known in told if topic}
        return tuple(Need(topic, unresolved=not known) for topic, known in found.items())

    def _initial(self, evidence: Evidence) -> DecisionContext:
        goal = self.task.goal
        return DecisionContext(
            goal, evidence, goal, 0, 0.0, self.episode.topics(goal), self._here(evidence), (), steps_since_failure=None
        )

    def _here(self, evidence: Evidence) -> frozenset[str]:
        said = f"{evidence.action or ''} {evidence.observation if evidence.step else ''}"
        return frozenset(self.episode.entities(said))
