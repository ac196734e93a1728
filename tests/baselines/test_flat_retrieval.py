"""Flat Retrieval: BM25 with the paper's parameters, safe in banks of any size."""

import asyncio
import inspect
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from rank_bm25 import BM25Okapi

from baselines.flat_retrieval import DEFAULT_RANKER, SENTENCE_PUNCTUATION, FlatRetrieval, LineIndex, words
from memarbiter import tokens
from memarbiter.protocol import MemoryPrompt, Task, Transition

CONFIGS = Path(__file__).parents[2] / "configs" / "method"
FACTS = ["drawer 1 is closed", "drawer 2 is closed", "mug 1 is on drawer 1"]


def ranked(query: str, lines: Sequence[str], punctuation: str = SENTENCE_PUNCTUATION) -> list[str]:
    return [lines[at] for at in LineIndex(lines, DEFAULT_RANKER, punctuation).rank(query)]


def shown(budget: int, goal: str, first: str, *history: tuple[str, str], memory=None) -> MemoryPrompt:
    async def episode() -> MemoryPrompt:
        method = memory or FlatRetrieval()
        method.begin(Task("t", goal, first))
        for number, (action, observation) in enumerate(history, start=1):
            await method.record(Transition(number, action, observation, failed=False))
        return await method.present(budget)

    return asyncio.run(episode())


@pytest.mark.parametrize(
    ("goal", "first"),
    [("find a mug.", ""), ("...", "?! ..."), ("", "")],
    ids=["empty bank", "punctuation only", "empty query"],
)
@pytest.mark.parametrize("name", ["flat_retrieval", "flat_retrieval_okapi"])
def test_R1_nothing_to_find_is_an_empty_result(name: str, goal: str, first: str) -> None:
    memory = instantiate(OmegaConf.load(CONFIGS / f"{name}.yaml").memory)
    prompt = shown(500, goal, first, memory=memory)
    assert (prompt.text, prompt.tokens, prompt.shed) == ("", 0, ())


def test_R1_index_without_lines_words_or_query() -> None:
    assert ranked("mug 1", []) == []
    assert ranked("mug 1", ["..."]) == []
    assert ranked(" ... ", FACTS) == []


def test_R2_exact_match_is_first_in_small_banks() -> None:
    assert ranked("drawer 1", FACTS[:1]) == ["drawer 1 is closed"]
    assert ranked("drawer 1", FACTS[:2]) == ["drawer 1 is closed", "drawer 2 is closed"]
    assert ranked("drawer 2", FACTS[:2]) == ["drawer 2 is closed", "drawer 1 is closed"]
    # Two of the three facts name drawer 1, and the longer one says "1" twice; drawer 2 comes last.
    assert ranked("drawer 1", FACTS) == ["mug 1 is on drawer 1", "drawer 1 is closed", "drawer 2 is closed"]
    assert ranked("drawer 1 is closed", FACTS)[0] == "drawer 1 is closed"


def test_R2_every_match_scores_above_zero() -> None:
    for size in (1, 2, 3):
        index = DEFAULT_RANKER([fact.split() for fact in FACTS[:size]])
        assert all(weight > 0 for weight in index.idf.values())
        assert index.get_scores(["drawer", "1"])[0] > 0


def test_R2_plain_okapi_has_the_defect_that_the_default_avoids() -> None:
    plain = LineIndex(FACTS, partial(BM25Okapi, k1=1.2, b=0.75), SENTENCE_PUNCTUATION)
    assert FACTS[plain.rank("drawer 1")[0]] == "drawer 2 is closed"


def test_R4_parameters_of_the_paper_are_in_the_configuration_and_in_force() -> None:
    for name in ("flat_retrieval", "flat_retrieval_okapi"):
        config = OmegaConf.load(CONFIGS / f"{name}.yaml")
        assert (config.memory.ranker.k1, config.memory.ranker.b) == (1.2, 0.75)
        index = instantiate(config.memory.ranker)([["mug"]])
        assert (index.k1, index.b) == (1.2, 0.75)
    assert OmegaConf.load(CONFIGS / "flat_retrieval.yaml").memory.punctuation == SENTENCE_PUNCTUATION
    default = inspect.signature(FlatRetrieval).parameters["ranker"].default
    assert default.keywords == {"k1": 1.2, "b": 0.75}


def test_R4_a_new_fact_is_found_at_the_next_step() -> None:
    async def episode() -> tuple[str, str]:
        memory = FlatRetrieval()
        memory.begin(Task("t", "find a mug.", "You are in a room."))
        before = (await memory.present(500)).text
        await memory.record(Transition(1, "go to desk 1", "On the desk 1, you see a Mug 3.", failed=False))
        return before, (await memory.present(500)).text

    before, after = asyncio.run(episode())
    assert "Mug 3" not in before
    assert "Step 1. Action: go to desk 1. Observation: On the desk 1, you see a Mug 3." in after


def test_R4_capitals_and_full_stops_hide_no_match() -> None:
    lines = ["On the Desk 1, you see a Mug 10.", "On the Desk 1, you see a Mug 1.", "On the Desk 1, you see a Mug 11."]
    assert ranked("mug 1", [line.replace("Desk 1", "Desk 5") for line in lines])[0].endswith("Mug 1.")
    assert words("You see a Mug 1.") == words("you SEE a mug 1,") == ["you", "see", "a", "mug", "1"]


def test_R4_the_number_is_a_word_of_its_own() -> None:
    lines = ["mug 10 is here", "mug 1 is here", "mug 11 is here"]
    assert ranked("mug 1", lines)[0] == "mug 1 is here"


def test_whitespace_only_tokens_are_one_setting_away() -> None:
    assert words("You see a Mug 1.", "") == ["you", "see", "a", "mug", "1."]
    assert ranked("mug 1", ["a spoon 1 lies here", "you see a mug 1."], "")[0] == "you see a mug 1."


def test_query_is_goal_previous_action_and_latest_observation() -> None:
    first = "A spoon 1 lies far off.\nA ladle 2 lies far off.\nA kettle 3 lies far off.\nA plate 4 lies far off."
    room = tokens.count("Step 0. Observation: A spoon 1 lies far off.") + 15
    assert "spoon 1" in shown(room, "find spoon 1", first, ("x", "y")).text
    assert "A ladle 2" in shown(room, "q", first, ("go to ladle 2", "y")).text
    assert "kettle 3" in shown(2 * room, "q", first, ("x", "You see a kettle 3.")).text
    assert "A ladle 2" not in shown(room, "q", first, ("go to ladle 2", "y"), ("x", "y")).text


def test_ties_go_to_the_newest() -> None:
    line = "Step 1. Action: look. Observation: Nothing happens."
    prompt = shown(tokens.count(line), "nothing", "", *[("look", "Nothing happens.")] * 5)
    assert prompt.text == line.replace("Step 1", "Step 5")
    assert ranked("spoon", FACTS) == FACTS[::-1]  # no line matches: all score 0


def test_M3_chosen_lines_stand_in_the_order_of_time() -> None:
    prompt = shown(
        500,
        "put a mug in shelf.",
        "You are in a room.",
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see a mug 1."),
        ("take mug 1 from desk 1", "You pick up the mug 1 from the desk 1."),
        ("move mug 1 to shelf 2", "You move the mug 1 to the shelf 2."),
        ("go to desk 1", "You arrive at desk 1. On the desk 1, you see nothing."),
    )
    assert [line.split(".")[0] for line in prompt.text.splitlines()] == [f"Step {k}" for k in range(5)]


def test_a_line_that_does_not_fit_is_skipped_and_the_next_tried() -> None:
    long = "mug 1 mug 1 " + "and a spoon " * 60
    prompt = shown(40, "mug 1", long, ("look", "A mug 1 is here."), ("x", "y"))
    assert "A mug 1 is here." in prompt.text
    assert prompt.bands["step-0.1"] == "hidden"
    assert [move.item for move in prompt.shed] == ["step-0.1"]


def test_T5_a_budget_too_small_for_any_line_gives_nothing() -> None:
    prompt = shown(5, "mug 1", "A mug 1 is here, on the desk 1.")
    assert (prompt.text, prompt.tokens) == ("", 0)
    assert len(prompt.shed) == 1


def test_every_line_of_an_observation_carries_its_step_and_action() -> None:
    prompt = shown(500, "help", "", ("help", "Available commands:\n\n  look\n  inventory"))
    assert prompt.text.splitlines() == [
        f"Step 1. Action: help. Observation: {line}" for line in ("Available commands:", "look", "inventory")
    ]
    assert list(prompt.bands) == ["step-1.1", "step-1.2", "step-1.3"]
