"""Three real games are won by the reader with the whole history, and with MemArbiter at 500 tokens."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import hydra
import pytest
from hydra.utils import instantiate

from experiments.envs.engine import FastEngine
from experiments.models.reader import Reader
from memarbiter import tokens
from memarbiter.chat import Message, ModelCall
from memarbiter.protocol import Task, Transition, WorkingMemory

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
# Importing alfworld sets ALFWORLD_DATA where it is unset, so only the games themselves tell whether they are there.
GAMES = Path(os.environ.get("ALFWORLD_DATA", "absent")) / "json_2.1.1" / "valid_unseen"

pytestmark = [
    pytest.mark.alfworld,
    pytest.mark.skipif(not GAMES.is_dir(), reason=f"no games in {GAMES} (alfworld-download gets them)"),
]


def built(method: str) -> WorkingMemory:
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = hydra.compose("config", [f"method={method}"])
    memory: WorkingMemory = instantiate(config.method.memory)
    return memory


async def won(engine: FastEngine, game: Path, memory: WorkingMemory, budget: int) -> bool:
    """Play one game to its end or for 50 steps."""
    engine.load(game)
    introduction = engine.reset().feedback
    goal = introduction.split("Your task is to: ")[1].strip()
    observation = introduction.split("\n\n")[1]
    memory.begin(Task(game.parent.name, goal, observation))
    for step in range(1, 51):
        prompt = await memory.present(budget)
        assert prompt.tokens == tokens.count(prompt.text) <= budget
        text = f"Task: {goal}\n<memory>\n{prompt.text}\n</memory>\n<observation>\n{observation}\n</observation>"
        reply = await Reader().reply(ModelCall([Message("user", text)], game.parent.name, step))
        action = reply.text.split("Action: ")[1]
        state, _, _ = engine.step(action)
        if state["won"]:
            return True
        observation = state.feedback
        await memory.record(Transition(step, action, observation, observation == "Nothing happens."))
    return False


@pytest.mark.parametrize(("method", "budget"), [("full_history", 10**6), ("memarbiter", 500)])
@pytest.mark.parametrize("kind", ["look_at_obj_in_light", "pick_cool_then_place_in_recep", "pick_two_obj_and_place"])
def test_a_real_game_is_won(kind: str, method: str, budget: int) -> None:
    games = sorted(GAMES.glob(f"{kind}-*/*/game.tw-pddl"))
    assert games, f"no game of type {kind} under {GAMES}"
    assert asyncio.run(won(FastEngine(), games[0], built(method), budget))
