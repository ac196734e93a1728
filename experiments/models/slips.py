"""An action model that errs: at a seeded share of the steps it gives a wrong but well-formed command.

Whether and how it errs depends on the seed, the task and the step alone, so every method meets the same slips at
the same steps. It makes episodes longer and failures common.
"""

from __future__ import annotations

import random

from experiments.models.reader.prompt import parts
from memarbiter.chat import ChatModel, ModelCall, ModelReply
from memarbiter.writing.household.task import parse_goal
from memarbiter.writing.household.text import PlacesListed, read

#: Commands of the game's grammar, about a place of the room and a thing of the goal's kind.
_TEMPLATES = (
    "go to {place}",
    "open {place}",
    "close {place}",
    "examine {place}",
    "take {thing} from {place}",
    "move {thing} to {place}",
)


class Slips:
    """Wraps a model.

    Args:
        model: The model that answers all other steps.
        rate: Share of the steps at which it slips, in [0, 1].
        seed: Seed of the slips.

    Raises:
        ValueError: If ``rate`` is not in [0, 1].
    """

    def __init__(self, model: ChatModel, rate: float, seed: int) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"the rate of slips must lie in [0, 1], not {rate}")
        self._model = model
        self._rate = rate
        self._seed = seed
        self._rooms: dict[str, tuple[tuple[str, ...], str]] = {}

    async def reply(self, call: ModelCall) -> ModelReply:
        """A slip if one is due at this task and step, else the wrapped model's answer."""
        if call.step == 1:
            prompt = parts(call)
            self._rooms[call.task_id] = _room(prompt.observation), f"{parse_goal(prompt.goal).thing} 1"
        places, thing = self._rooms.get(call.task_id, ((), ""))
        # Text seeds are hashed by their bytes, so the draw is the same in every process.
        draw = random.Random(f"{self._seed}/{call.task_id}/{call.step}")
        if call.attempt > 1 or not places or draw.random() >= self._rate:
            return await self._model.reply(call)
        command = draw.choice(_TEMPLATES).format(place=draw.choice(places), thing=thing)
        return ModelReply(f"Thought: I try something.\nAction: {command}")


def _room(observation: str) -> tuple[str, ...]:
    """The room's places, as the first observation lists them."""
    listed = [statement.places for statement in read(observation) if isinstance(statement, PlacesListed)]
    return listed[0] if listed else ()
