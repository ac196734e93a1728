"""What an episode has brought so far, and the decision context that a parsed state makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memarbiter import tokens
from memarbiter.context import DecisionContext, Evidence, Need
from memarbiter.protocol import Task
from memarbiter.quoting import neutralise, one_line
from memarbiter.writing.llm import example
from memarbiter.writing.llm.grounding import Episode
from memarbiter.writing.llm.schema import StateAnswer

_MOST_SUBGOALS, _MOST_NAMES = 12, 24
_SUBGOAL_TOKENS = 40


class Track:
    """The trajectory of one episode.

    Attributes:
        task: The task that is played.
        episode: Words and entities that have occurred.
        history: One line for the first observation and for each step, oldest first.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.episode = Episode(task.goal)
        self.history: list[str] = []
        self._failed_at: int | None = None
        self._last: DecisionContext | None = None

    def tell(self, evidence: Evidence) -> None:
        """Take in new evidence."""
        self.episode.tell(f"{evidence.action or ''} {evidence.observation}")
        if evidence.failed:
            self._failed_at = evidence.step
        outcome = one_line(evidence.observation)
        told = f"{evidence.action} -> {outcome}" if evidence.action else outcome
        self.history.append(f"Step {evidence.step}: {told}")

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
        subgoal = ahead[0] if ahead else done[-1]
        topics = {topic.lower().strip() for topic in state.topics[:_MOST_NAMES]}
        spoken = self.episode.topics(subgoal)
        named = frozenset(name.lower().strip() for name in state.entities[:_MOST_NAMES] if self.episode.known(name))
        return DecisionContext(
            goal=self.task.goal,
            evidence=evidence,
            subgoal=subgoal,
            stage=len(done),
            progress=len(done) / (len(done) + len(ahead)),
            topics=frozenset(topic for topic in topics if self.episode.known(topic) or topic in subgoal.lower())
            or spoken,
            entities=self._here(evidence) | named,
            needs=tuple(
                Need(need.topic.lower().strip(), unresolved=not need.found)
                for need in state.needs[:_MOST_NAMES]
                if self.episode.known(need.topic)
            ),
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

    def _initial(self, evidence: Evidence) -> DecisionContext:
        goal = self.task.goal
        return DecisionContext(
            goal, evidence, goal, 0, 0.0, self.episode.topics(goal), self._here(evidence), (), steps_since_failure=None
        )

    def _here(self, evidence: Evidence) -> frozenset[str]:
        said = f"{evidence.action or ''} {evidence.observation if evidence.step else ''}"
        return frozenset(self.episode.entities(said))
