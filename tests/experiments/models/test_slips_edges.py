"""Slips of episodes that are played one after another, or at the same time, with one model object."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from experiments.models.slips import Slips
from memarbiter.chat import Message, ModelCall, ModelReply

HALL = "Looking quickly around you, you see a desk 1, a drawer 1, and a shelf 1."
KITCHEN = "Looking quickly around you, you see a fridge 1, a oven 1, and a cabinet 1."


class Sure:
    """Never errs."""

    async def reply(self, call: ModelCall) -> ModelReply:
        return ModelReply("Action: look")


def calls(task: str, room: str, steps: int = 30) -> list[ModelCall]:
    """The calls of an episode; as in a real one, only the first of them names the places."""
    frame = "Task: put a mug in shelf.\n<memory>\n\n</memory>\n<observation>\n{}\n</observation>"
    texts = [frame.format(room), *[frame.format("Nothing happens.")] * (steps - 1)]
    return [ModelCall([Message("user", text)], task, step) for step, text in enumerate(texts, start=1)]


def replies(model: Slips, asked: Iterable[ModelCall]) -> list[str]:
    return [asyncio.run(model.reply(one)).text for one in asked]


def alone(task: str, room: str) -> list[str]:
    return replies(Slips(Sure(), 1.0, 42), calls(task, room))


def test_E6_an_episode_after_another_has_its_own_room() -> None:
    model = Slips(Sure(), 1.0, 42)
    assert replies(model, calls("a", HALL)) == alone("a", HALL)
    assert replies(model, calls("b", KITCHEN)) == alone("b", KITCHEN)
    assert not {"desk", "drawer", "shelf"} & set(" ".join(alone("b", KITCHEN)).split())


def test_E6_episodes_at_the_same_time_do_not_mix() -> None:
    model = Slips(Sure(), 1.0, 42)
    pairs = zip(calls("a", HALL), calls("b", KITCHEN), strict=True)
    mixed = replies(model, [one for pair in pairs for one in pair])
    assert mixed[::2] == alone("a", HALL)


def test_without_a_list_of_places_there_is_no_slip() -> None:
    assert set(alone("a", "You see nothing.")) == {"Action: look"}
