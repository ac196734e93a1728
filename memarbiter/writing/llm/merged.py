"""State and candidate writes by one question: half the calls of parser and writer."""

from __future__ import annotations

from collections.abc import Sequence

from memarbiter.chat import ChatModel
from memarbiter.context import Evidence
from memarbiter.formation import Formed
from memarbiter.items import MemoryItem
from memarbiter.protocol import Task
from memarbiter.writing.llm.candidates import candidates, task_write
from memarbiter.writing.llm.question import Material, Question
from memarbiter.writing.llm.schema import BothQuestion
from memarbiter.writing.llm.track import Track
from memarbiter.writing.llm.writer import item_lines


class LLMFormation:
    """A :class:`~memarbiter.formation.Formation` by one question for each step.

    It differs from the paper's two questions in what the writes are made from: the model reads the state that it has
    just written itself, not one that was checked and put in order in between.

    Args:
        model: Who is asked.
        input_tokens: Most o200k_base tokens of a question; oldest history and items give way.
        repairs: Further questions after an answer that cannot be read.
    """

    def __init__(self, model: ChatModel, input_tokens: int = 2600, repairs: int = 1) -> None:
        self._question = Question(model, "parse_and_write", BothQuestion, input_tokens, repairs)

    def begin(self, task: Task) -> None:
        """Start a new episode."""
        self._track = Track(task)

    async def form(self, evidence: Evidence, known: Sequence[MemoryItem]) -> Formed:
        """Context and candidates; the last context and no candidates if the answer is unusable."""
        track = self._track
        goal = track.task.goal
        state, history = track.state_before(evidence.step), track.before(evidence.step)
        material = Material(track.task.id, goal, evidence, state, item_lines(known), history)
        answer, problems = await self._question.ask(material)
        track.tell(evidence)
        context, wrong = track.parsed(evidence, answer)
        made, unusable = candidates(answer["writes"], context, known, track.episode) if answer else ([], [])
        first = [task_write(goal, evidence.step)] if evidence.action is None else []
        every = tuple(f"parse_and_write: {problem}" for problem in (*problems, *wrong, *unusable))
        return Formed(context, (*first, *made), every)
