"""The state parser that asks a language model (paper section 3)."""

from __future__ import annotations

from memarbiter.chat import ChatModel
from memarbiter.context import Evidence, Parsed
from memarbiter.protocol import Task
from memarbiter.writing.llm.question import Material, Question
from memarbiter.writing.llm.schema import StateQuestion
from memarbiter.writing.llm.track import Track


class LLMStateParser:
    """A :class:`~memarbiter.context.StateParser` by one question for each step.

    Args:
        model: Who is asked.
        input_tokens: Most o200k_base tokens of a question; the oldest history gives way.
        repairs: Further questions after an answer that cannot be read.
    """

    def __init__(self, model: ChatModel, input_tokens: int = 2600, repairs: int = 1) -> None:
        self._question = Question(model, "parse", StateQuestion, input_tokens, repairs)

    def begin(self, task: Task) -> None:
        """Start a new episode."""
        self._track = Track(task)

    async def parse(self, evidence: Evidence) -> Parsed:
        """The decision context after the evidence; the last one, brought up to date, if the answer is unusable."""
        track = self._track
        state, history = track.state_before(evidence.step), track.before(evidence.step)
        material = Material(track.task.id, track.task.goal, evidence, state, history=history)
        answer, problems = await self._question.ask(material)
        track.tell(evidence)
        context, wrong = track.parsed(evidence, answer)
        return Parsed(context, tuple(f"parse: {problem}" for problem in (*problems, *wrong)))
