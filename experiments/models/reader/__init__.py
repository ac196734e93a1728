"""The reader: a deterministic action model that knows only what its prompt says.

It measures *information sufficiency*: given the prompt that an LLM would get, is what the next action needs
in it? It is not a language model and its success rate is no language model's.
"""

from __future__ import annotations

from experiments.models.reader.notes import understand
from experiments.models.reader.policy import choose
from experiments.models.reader.prompt import parts
from memarbiter.chat import ModelCall, ModelReply
from memarbiter.writing.household.task import parse_goal


class Reader:
    """Reads the prompt anew at every call; nothing is kept between calls."""

    async def reply(self, call: ModelCall) -> ModelReply:
        """One thought and one action.

        Raises:
            ValueError: If the prompt lacks its task, memory or observation part, or the goal is unknown.
        """
        prompt = parts(call)
        recipe = parse_goal(prompt.goal)
        told = understand(prompt.memory, prompt.observation)
        held = told.world.held
        thought = f"I hold {held}." if held else f"I need a {recipe.thing}."
        return ModelReply(f"Thought: {thought}\nAction: {choose(told, recipe)}")
