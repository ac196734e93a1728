"""Sections, order, what gives way, and the budget (paper section 3.5)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from helpers import item, write
from hypothesis import given, settings
from hypothesis import strategies as st

from memarbiter import tokens
from memarbiter.assembly import Assembler, ByRelevance, FixedShares, Shedding, Shown, last_failure
from memarbiter.bands import BankTemplates
from memarbiter.items import Band, Bank, MemoryItem
from memarbiter.protocol import MemoryPrompt
from memarbiter.signals import Signals

RANK = {"focal": 2, "ambient": 1, "hidden": 0}
EQUAL = dict.fromkeys(Bank, 0.2)


def fact(name: str, bank: Bank = Bank.REFERENCE, step: int = 1, **changes: object) -> MemoryItem:
    text = f"{name} is a thing that was seen in its place and takes a whole line of the memory"
    return item(name, write(bank, key=name, text=text, subject=name, value=f"{name} cue", **changes), (step,))


def shown(items: Sequence[MemoryItem], bands: Sequence[Band], relevance: Sequence[float]) -> Shown:
    return Shown(
        items={str(bank): [one for one in items if one.bank == bank] for bank in Bank},
        bands={one.id: band for one, band in zip(items, bands, strict=True)},
        signals=Signals(
            {str(bank): 1.0 for bank in Bank},
            {one.id: value for one, value in zip(items, relevance, strict=True)},
        ),
        last_failure=last_failure(items),
    )


def assemble(page: Shown, budget: int, shedding: Shedding | None = None) -> MemoryPrompt:
    return Assembler(BankTemplates(), shedding or ByRelevance()).assemble(page, budget)


TEXTS = st.one_of(
    st.text(alphabet=st.characters(codec=None, exclude_categories=()), min_size=1, max_size=60),
    st.sampled_from(
        ["x" * 5000, "\ud83d", "\U0001f9ea" * 300, "<|endoftext|>", "a\r\n\r\nb", "drawer 1, " * 200, "\n"]
    ),
)


@st.composite
def pages(draw: st.DrawFn) -> Shown:
    """Any items in any bands."""
    count = draw(st.integers(0, 12))
    items = [
        item(
            f"i{number}",
            write(
                draw(st.sampled_from(list(Bank))),
                key=str(number),
                text=draw(TEXTS),
                subject=draw(TEXTS),
                value=draw(TEXTS),
                failed=draw(st.booleans()),
            ),
            (draw(st.integers(0, 50)),),
        )
        for number in range(count)
    ]
    bands = [draw(st.sampled_from(list(Band))) for _ in items]
    return shown(items, bands, [draw(st.floats(0, 1)) for _ in items])


@pytest.mark.parametrize("shedding", [ByRelevance(), FixedShares(EQUAL)], ids=["by_relevance", "fixed_shares"])
@settings(deadline=None, max_examples=80)
@given(page=pages(), budget=st.sampled_from([0, 1, 2, 17, 60, 500]) | st.integers(0, 800))
def test_T5_the_budget_holds_on_the_final_text(shedding: Shedding, page: Shown, budget: int) -> None:
    prompt = assemble(page, budget, shedding)
    assert prompt.tokens == tokens.count(prompt.text) <= budget
    assert set(prompt.bands) == set(page.bands)
    assert all(RANK[prompt.bands[name]] <= RANK[band] for name, band in page.bands.items())
    lowered = {name for name, band in page.bands.items() if prompt.bands[name] is not band}
    assert {move.item for move in prompt.shed} == lowered


@settings(deadline=None, max_examples=80)
@given(page=pages())
def test_nothing_gives_way_while_the_budget_holds_everything(page: Shown) -> None:
    prompt = assemble(page, 10**6)
    assert prompt.shed == ()
    assert prompt.bands == page.bands


@pytest.mark.parametrize("budget", [0, 1])
def test_T5_a_budget_of_nothing_shows_nothing(budget: int) -> None:
    one = fact("mug")
    prompt = assemble(shown([one], [Band.FOCAL], [1.0]), budget)
    assert (prompt.text, prompt.tokens) == ("", 0)
    assert [(move.before, move.after) for move in prompt.shed] == [("focal", "ambient"), ("ambient", "hidden")]


def test_T5_exactly_the_size_fits_and_one_less_does_not() -> None:
    page = shown([fact("mug"), fact("pen")], [Band.FOCAL] * 2, [0.9, 0.1])
    # Lines are sized with their line break, so a text may need one token of slack.
    full = assemble(page, 10**6)
    assert assemble(page, full.tokens + 1).text == full.text
    assert assemble(page, full.tokens - 1).text != full.text


@pytest.mark.parametrize("shedding", [ByRelevance(), FixedShares(EQUAL)], ids=["by_relevance", "fixed_shares"])
def test_a_negative_budget_is_refused(shedding: Shedding) -> None:
    with pytest.raises(ValueError, match="-1"):
        assemble(shown([], [], []), -1, shedding)


def test_sections_stand_in_order_focal_first_then_by_relevance() -> None:
    items = [fact(f"{bank}-{name}", bank) for bank in reversed(Bank) for name in ("low", "high", "cue", "top", "gone")]
    bands = [Band.FOCAL, Band.FOCAL, Band.AMBIENT, Band.AMBIENT, Band.HIDDEN] * len(Bank)
    prompt = assemble(shown(items, bands, [0.1, 0.5, 0.8, 0.9, 1.0] * len(Bank)), 10**6)
    expected = []
    for bank in Bank:
        expected.append(f"## {bank.replace('_', ' ').capitalize()}")
        expected += [f"{bank}-{name}" for name in ("high", "low", "top", "cue")]
    lines = prompt.text.splitlines()
    assert len(lines) == len(expected)
    assert all(want in line for want, line in zip(expected, lines, strict=True))


def test_a_bank_with_nothing_to_show_has_no_heading() -> None:
    prompt = assemble(shown([fact("mug"), fact("g", Bank.GOAL)], [Band.FOCAL, Band.HIDDEN], [1.0, 1.0]), 500)
    assert prompt.text.splitlines()[0] == "## Reference"
    assert prompt.bank_tokens["goal"] == 0
    assert prompt.bank_tokens["reference"] == tokens.count(prompt.text)


def test_the_least_relevant_item_gives_way_first_to_ambient_then_hidden() -> None:
    items = [fact(name) for name in ("best", "middle", "worst")]
    page = shown(items, [Band.FOCAL] * 3, [0.9, 0.5, 0.1])
    moves = assemble(page, 1).shed
    assert [(move.item, move.before, move.after) for move in moves] == [
        (name, before, after)
        for name in ("worst", "middle", "best")
        for before, after in (("focal", "ambient"), ("ambient", "hidden"))
    ]
    one_less = assemble(page, assemble(page, 10**6).tokens - 3)
    assert one_less.bands == {"best": "focal", "middle": "focal", "worst": "ambient"}


def test_among_equals_the_older_gives_way_first() -> None:
    items = [fact("new", step=9), fact("old", step=2)]
    assert assemble(shown(items, [Band.AMBIENT] * 2, [0.5, 0.5]), 0).shed[0].item == "old"


def test_goal_constraint_and_last_failure_go_last() -> None:
    protected = [fact("goal", Bank.GOAL), fact("rule", Bank.CONSTRAINT)]
    failures = [fact(f"failure {step}", Bank.EPISODIC, step, failed=True) for step in (3, 8)]
    others = [fact("state", Bank.TASK_STATE), fact("event", Bank.EPISODIC), fact("fact")]
    items = [*protected, *failures, *others]
    page = shown(items, [Band.AMBIENT] * len(items), [0.01, 0.01, 0.01, 0.01, 1.0, 1.0, 1.0])
    order = [move.item for move in assemble(page, 0).shed]
    assert order[0] == "failure 3"  # An older failure is an event like any other.
    assert set(order[:4]) == {"failure 3", "state", "event", "fact"}
    assert set(order[4:]) == {"goal", "rule", "failure 8"}


def test_what_is_protected_is_shortened_in_turn_but_hidden_last() -> None:
    items = [fact("goal", Bank.GOAL), fact("fact")]
    moves = assemble(shown(items, [Band.FOCAL] * 2, [0.1, 0.9]), 0).shed
    assert [(move.item, str(move.after)) for move in moves] == [
        ("goal", "ambient"),
        ("fact", "ambient"),
        ("fact", "hidden"),
        ("goal", "hidden"),
    ]


def test_the_last_failure_is_the_newest_failed_event() -> None:
    failed = [fact(f"f{step}", Bank.EPISODIC, step, failed=True) for step in (3, 8, 5)]
    assert last_failure([*failed, fact("event", Bank.EPISODIC, 9)]) == "f8"
    assert last_failure([fact("event", Bank.EPISODIC, 9)]) is None


@settings(deadline=None, max_examples=40)
@given(page=pages(), budget=st.integers(0, 400))
def test_fixed_shares_keep_each_bank_within_its_share(page: Shown, budget: int) -> None:
    shares = {"goal": 0.1, "task_state": 0.1, "constraint": 0.2, "episodic": 0.35, "reference": 0.25}
    prompt = assemble(page, budget, FixedShares(shares))
    for bank, share in shares.items():
        assert prompt.bank_tokens[bank] <= int(share * budget) or prompt.bank_tokens[bank] == 0


def test_a_bank_without_a_share_is_left_out() -> None:
    page = shown([fact("mug"), fact("g", Bank.GOAL)], [Band.FOCAL] * 2, [1.0, 1.0])
    prompt = assemble(page, 500, FixedShares({"goal": 1.0}))
    assert prompt.bands == {"mug": "hidden", "g": "focal"}


def test_shares_that_exceed_the_whole_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.20"):
        FixedShares({"goal": 0.6, "reference": 0.6})


def test_a_negative_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="'goal' is negative"):
        FixedShares({"goal": -0.1})
