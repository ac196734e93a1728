"""Each update policy, and the check that every candidate passes (paper section 3.1)."""

from __future__ import annotations

import pytest
from helpers import write

from memarbiter.banks import FunctionalBanks, SinglePool, invalid
from memarbiter.items import Bank, CandidateWrite, MemoryItem, Status


class Store(FunctionalBanks):
    """Five banks that know the entities of the tests."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(["mug 1", "pen 1", "desk 1", "shelf 2", "drawer 1"])

    def put(self, *candidates: CandidateWrite) -> list[str]:
        """The policies that the candidates met."""
        return [made.policy for made in self.update(candidates, [])]

    def only(self, bank: Bank) -> MemoryItem:
        """The single item of a bank."""
        (found,) = self.items()[bank]
        return found


def place(name: str, *things: str, step: int = 1) -> CandidateWrite:
    return write(key=name, text=f"{name}: {{members}}", members=things, exclusive=True, step=step)


@pytest.mark.parametrize("bank", list(Bank))
def test_a_new_candidate_is_inserted(bank: Bank) -> None:
    store = Store()
    assert store.put(write(bank)) == ["insert"]
    assert store.only(bank).bank == bank


@pytest.mark.parametrize("bank", [Bank.GOAL, Bank.CONSTRAINT, Bank.EPISODIC, Bank.REFERENCE])
def test_the_same_candidate_is_merged_and_keeps_its_steps(bank: Bank) -> None:
    store = Store()
    assert store.put(write(bank, step=1), write(bank, step=4)) == ["insert", "merge"]
    assert store.only(bank).steps == (1, 4)


@pytest.mark.parametrize("bank", [Bank.GOAL, Bank.CONSTRAINT, Bank.REFERENCE])
def test_another_text_for_the_same_key_revises(bank: Bank) -> None:
    store = Store()
    assert store.put(write(bank), write(bank, text="news", step=3)) == ["insert", "revise"]
    assert store.only(bank).content.text == "news"
    assert store.only(bank).steps == (3,)


@pytest.mark.parametrize(
    ("status", "policy"),
    [(Status.COMPLETED, "complete"), (Status.SUPERSEDED, "supersede"), (Status.INVALID, "invalidate")],
)
def test_a_change_of_status_is_named(status: Status, policy: str) -> None:
    store = Store()
    constraint = write(Bank.CONSTRAINT)
    assert store.put(constraint, write(Bank.CONSTRAINT, status=status)) == ["insert", policy]
    assert not store.only(Bank.CONSTRAINT).active
    assert store.put(constraint) == ["reactivate"]
    assert store.only(Bank.CONSTRAINT).active


def test_task_state_keeps_the_newest_snapshot_and_the_one_it_superseded() -> None:
    store = Store()
    snapshots = [write(Bank.TASK_STATE, key=str(step), text=f"at {step}", step=step) for step in (1, 2, 3)]
    assert store.put(*snapshots) == ["insert", "supersede", "insert", "supersede", "insert"]
    old, new = store.items()[Bank.TASK_STATE]
    assert (old.content.text, old.content.status) == ("at 2", Status.SUPERSEDED)
    assert (new.content.text, new.active) == ("at 3", True)


def test_an_old_snapshot_is_rejected() -> None:
    store = Store()
    late, early = (write(Bank.TASK_STATE, key=str(step), step=step) for step in (5, 4))
    assert store.put(late, early) == ["insert", "reject"]


def test_events_stay_in_the_order_of_time() -> None:
    store = Store()
    store.put(*(write(Bank.EPISODIC, key=name, text=name, step=step) for step, name in enumerate("abca")))
    assert [one.content.text for one in store.items()[Bank.EPISODIC]] == ["b", "c", "a"]
    assert store.items()[Bank.EPISODIC][-1].steps == (0, 3)


def test_a_thing_has_one_current_place() -> None:
    store = Store()
    store.put(place("desk 1", "mug 1", "pen 1"))
    assert store.put(place("shelf 2", "mug 1", step=2)) == ["insert", "resolve"]
    desk, shelf = store.items()[Bank.REFERENCE]
    assert desk.content.members == ("pen 1",)
    assert shelf.content.members == ("mug 1",)


def test_lists_that_are_not_exclusive_are_left_alone() -> None:
    store = Store()
    store.put(write(key="unsearched", members=("desk 1", "shelf 2")))
    assert store.put(place("drawer 1", "mug 1")) == ["insert"]


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (write(text=" "), "empty"),
        (write(key=""), "empty"),
        (write(entities=("zebra 9",)), "never seen: zebra 9"),
        (write(members=("mug 1", "zebra 9")), "never seen: zebra 9"),
        (write(failed=True), "a failed command proves no fact"),
    ],
)
def test_invalid_candidates_are_rejected_with_a_reason(candidate: CandidateWrite, reason: str) -> None:
    assert invalid(candidate, {"mug 1"}) == reason
    store = Store()
    assert store.put(candidate) == ["reject"]
    assert not any(store.items().values())


def test_what_was_tried_may_be_remembered_whatever_it_named() -> None:
    event = write(Bank.EPISODIC, text="open zebra 9", entities=("zebra 9",), failed=True)
    assert Store().put(event) == ["insert"]


def test_entities_become_known_with_the_evidence_that_names_them() -> None:
    store = Store()
    fact = write(entities=("zebra 9",))
    assert [made.policy for made in store.update([fact], ["zebra 9"])] == ["insert"]


def test_a_merged_item_does_not_grow_for_ever() -> None:
    store = Store()
    store.put(*(write(Bank.EPISODIC, step=step) for step in range(1000)))
    assert len(store.only(Bank.EPISODIC).steps) < 20
    assert store.only(Bank.EPISODIC).latest == 999


def test_beginning_forgets_everything() -> None:
    store = Store()
    store.put(write())
    store.begin([])
    assert not any(store.items().values())
    assert store.put(write(entities=("mug 1",))) == ["reject"]


def test_the_pool_has_one_policy_for_all_roles() -> None:
    pool = SinglePool()
    pool.begin(["mug 1", "desk 1", "shelf 2"])
    candidates = [
        write(Bank.TASK_STATE, key="1", text="old"),
        write(Bank.TASK_STATE, key="2", text="new", step=2),
        place("desk 1", "mug 1"),
        place("shelf 2", "mug 1", step=2),
    ]
    assert [made.policy for made in pool.update(candidates, [])] == ["insert"] * 4
    (items,) = pool.items().values()
    assert all(one.active and one.bank == "pool" for one in items)
