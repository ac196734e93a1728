"""What every flat method and control promises: the budget, repeatability, a clean start, its wiring."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from baselines.controls import FullHistory, NoMemory
from baselines.flat_recency import FlatRecency
from baselines.flat_retrieval import FlatRetrieval
from baselines.history import History, joined_tokens, line_records, whole_records
from memarbiter import tokens
from memarbiter.protocol import MemoryPrompt, Task, Transition, WorkingMemory

CONFIGS = Path(__file__).parents[2] / "configs" / "method"
METHODS = ("flat_recency", "flat_retrieval", "flat_retrieval_okapi", "no_memory", "full_history")
BUDGETED = METHODS[:3]
WITH_MEMORY = tuple(name for name in METHODS if name != "no_memory")


def build(name: str) -> WorkingMemory:
    """The method as an experiment would build it, from its configuration."""
    return instantiate(OmegaConf.load(CONFIGS / f"{name}.yaml").memory)


def play(memory: WorkingMemory, task: Task, steps: Sequence[Transition], budget: int) -> list[MemoryPrompt]:
    """The prompts before every action of an episode, and the one after its last step."""

    async def episode() -> list[MemoryPrompt]:
        memory.begin(task)
        prompts = [await memory.present(budget)]
        for step in steps:
            await memory.record(step)
            prompts.append(await memory.present(budget))
        return prompts

    return asyncio.run(episode())


def episode(name: str, place: str, count: int = 6) -> tuple[Task, list[Transition]]:
    """A search in which the object is seen at the second step only."""
    task = Task(f"find-{name}", f"find a {name}.", f"You are in a room. You see a {place} 1, and a desk 2.")
    steps = []
    for number in range(1, count + 1):
        found = f"{name} {number}" if number == 2 else "pen 1"
        seen = f"You arrive at {place} {number}. On the {place} {number}, you see a {found}."
        steps.append(Transition(number, f"go to {place} {number}", seen, failed=False))
    return task, steps


# Surrogates, joiners, combining marks, line breaks of every kind, and strings long enough to burst a budget.
ODD = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=40)
ENGLISH = st.lists(
    st.sampled_from(["you", "see", "a", "mug", "1.", "Desk", "2,", "is", "closed", "'S", "/"]), max_size=60
)
TEXT = st.one_of(
    ODD,
    ENGLISH.map(" ".join),
    st.sampled_from(["", " ", "...", "\n\n", "a\r\nb\n", "<|endoftext|>", "x" * 3000, "\U0001f9ea" * 600, "\ud83d"]),
    st.tuples(ODD, ENGLISH.map(" ".join)).map("\n".join),
)
HISTORY = st.lists(st.tuples(TEXT, TEXT), max_size=8)


def as_steps(history: Sequence[tuple[str, str]]) -> list[Transition]:
    return [Transition(number, *pair, failed=False) for number, pair in enumerate(history, start=1)]


@pytest.mark.parametrize("name", BUDGETED)
@settings(deadline=None, max_examples=40)
@given(goal=TEXT, first=TEXT, history=HISTORY, budget=st.sampled_from([0, 1, 17, 500]))
def test_T5_budget_holds_on_the_final_text(name: str, goal: str, first: str, history, budget: int) -> None:
    for prompt in play(build(name), Task("odd", goal, first), as_steps(history), budget):
        assert prompt.tokens == tokens.count(prompt.text) <= budget
        assert prompt.bank_tokens == {"history": prompt.tokens}
        assert set(prompt.bands.values()) <= {"focal", "hidden"}
        for move in prompt.shed:
            assert prompt.bands[move.item] == move.after


@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=15)
@given(goal=TEXT, first=TEXT, history=HISTORY)
def test_same_history_gives_the_same_prompts(name: str, goal: str, first: str, history) -> None:
    task, steps = Task("odd", goal, first), as_steps(history)
    assert play(build(name), task, steps, 60) == play(build(name), task, steps, 60)


@settings(deadline=None)
@given(first=TEXT, history=HISTORY)
def test_counts_of_records_add_up_exactly(first: str, history) -> None:
    for cut in (whole_records, line_records):
        log = History(cut)
        log.begin(Task("odd", "", first))
        for step in as_steps(history):
            log.add(step)
        texts = [record.text for record in log.records]
        assert joined_tokens(texts) == tokens.count("\n".join(texts))


@pytest.mark.parametrize("name", WITH_MEMORY)
def test_M7_planted_fact_is_in_every_memory_and_not_without_one(name: str) -> None:
    task, steps = episode("mug", "shelf")
    assert "a mug 2" in play(build(name), task, steps, 500)[-1].text
    assert play(build("no_memory"), task, steps, 500)[-1].text == ""


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("budget", [70, 500])
def test_M6_nothing_of_an_earlier_episode_remains(name: str, budget: int) -> None:
    # Same places, so that a goal or an index left over from the first episode would change what is retrieved.
    marked, plain = episode("zebra", "shelf"), episode("mug", "shelf")
    for first, second in ((marked, plain), (plain, marked)):
        reused = build(name)
        play(reused, *first, budget=budget)
        assert play(reused, *second, budget=budget) == play(build(name), *second, budget=budget)
    reused = build(name)
    play(reused, *marked, budget=budget)
    assert "zebra" not in str(play(reused, *plain, budget=budget))


@pytest.mark.parametrize("memory", [FlatRecency(), FlatRetrieval(), FullHistory()], ids=lambda m: type(m).__name__)
def test_an_episode_must_be_begun(memory: WorkingMemory) -> None:
    with pytest.raises(RuntimeError, match="begin"):
        asyncio.run(memory.present(500))
    with pytest.raises(RuntimeError, match="begin"):
        asyncio.run(memory.record(Transition(1, "look", "You see nothing.", failed=False)))


@pytest.mark.parametrize("name", METHODS)
def test_negative_budget_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not -1"):
        play(build(name), *episode("mug", "shelf"), budget=-1)


@pytest.mark.parametrize("name", METHODS)
def test_configuration_names_itself_and_its_budget(name: str) -> None:
    config = OmegaConf.load(CONFIGS / f"{name}.yaml")
    assert config.name == name
    assert config.budgeted == (name in BUDGETED)


def test_full_history_ignores_the_budget_and_omits_nothing() -> None:
    task, steps = episode("mug", "shelf", count=50)
    prompt = play(FullHistory(), task, steps, budget=0)[-1]
    assert prompt.tokens == tokens.count(prompt.text) > 1000
    assert prompt.text.splitlines()[0] == f"Step 0. Observation: {task.observation}"
    assert prompt.text.splitlines()[-1] == f"Step 50. Action: {steps[-1].action}. Observation: {steps[-1].observation}"
    assert len(prompt.bands) == 51
    assert prompt.shed == ()


def test_no_memory_is_empty_whatever_happens() -> None:
    prompts = play(NoMemory(), *episode("mug", "shelf"), budget=500)
    assert {(prompt.text, prompt.tokens, len(prompt.bands)) for prompt in prompts} == {("", 0, 0)}
