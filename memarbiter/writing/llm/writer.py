"""The candidate writer that asks a language model: the paper's ``W`` (section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from memarbiter.bands import full_form
from memarbiter.chat import ChatModel
from memarbiter.context import DecisionContext, Written
from memarbiter.items import MemoryItem
from memarbiter.protocol import Task
from memarbiter.writing.llm.candidates import candidates, task_write
from memarbiter.writing.llm.grounding import Episode
from memarbiter.writing.llm.question import Material, Question
from memarbiter.writing.llm.schema import WriteQuestion


class LLMWriter:
    """A :class:`~memarbiter.context.CandidateWriter` by one question for each step.

    Args:
        model: Who is asked.
        input_tokens: Most o200k_base tokens of a question; the items that were written longest ago give way first.
        repairs: Further questions after an answer that cannot be read.
    """

    def __init__(self, model: ChatModel, input_tokens: int = 2600, repairs: int = 1) -> None:
        self._question = Question(model, "write", WriteQuestion, input_tokens, repairs)

    def begin(self, task: Task) -> None:
        """Start a new episode."""
        self._task = task
        self._episode = Episode(task.goal)

    async def write(self, context: DecisionContext, known: Sequence[MemoryItem]) -> Written:
        """Candidate writes for the evidence in the context; none if the answer is unusable."""
        evidence = context.evidence
        material = Material(self._task.id, self._task.goal, evidence, state_lines(context), item_lines(known))
        answer, problems = await self._question.ask(material)
        self._episode.tell(f"{evidence.action or ''} {evidence.observation}")
        made, wrong = candidates(answer["writes"], context, known, self._episode) if answer else ([], [])
        first = [task_write(self._task.goal, evidence.step)] if evidence.action is None else []
        return Written((*first, *made), tuple(f"write: {problem}" for problem in (*problems, *wrong)))


def state_lines(context: DecisionContext) -> str:
    """The parsed part of the context, in words."""
    needs = ", ".join(f"{need.topic} ({'not found' if need.unresolved else 'found'})" for need in context.needs)
    lines = (
        f"Subgoal: {context.subgoal}",
        f"Progress: {context.progress:.0%}",
        f"Entities: {', '.join(sorted(context.entities))}" if context.entities else "",
        f"Needs: {needs}" if needs else "",
    )
    return "\n".join(line for line in lines if line)


def item_lines(known: Sequence[MemoryItem]) -> list[str]:
    """The items that still hold, each with its id in front of its full form, least recently written first."""
    active = sorted((item for item in known if item.active), key=lambda item: item.latest)
    return [f"[{item.id}] {full_form(item)}" for item in active]
