"""The paper's metrics against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from synthetic_runs import result_record, step_records

from analysis.load import Episode, Step
from analysis.metrics import (
    Macro,
    Rate,
    Share,
    ShareChange,
    adjacent_repetition,
    common_failure_tasks,
    episodic_share,
    episodic_share_change,
    failed_action_repetition,
    macro,
    normalise,
    one_step_recovery,
    state_action_recurrence,
    success_at,
    success_by_type,
)
from experiments.records import Condition, EpisodeHeader

Light = Callable[..., list[Step]]
CONDITION = Condition(env="e", model="m", method="x", budget=500, seed=1)


def episode(steps: Sequence[Step], script: Sequence[str] = ()) -> Episode:
    header = EpisodeHeader(task_id="t", task_type="k", game_sha256="0", condition=CONDITION, goal="g", observation="o")
    return Episode(header, tuple(steps), result_record(step_records(script)), {})


def finished(*script: str) -> Episode:
    return episode((), script)


def test_success_at_counts_commands_up_to_and_including_k() -> None:
    episodes = {"a": finished("x", "y", "z*"), "b": finished("x", "y"), "c": finished("x*")}
    assert [success_at(k, list(episodes), episodes).won for k in (1, 2, 3, 50)] == [1, 1, 2, 2]
    assert success_at(3, list(episodes), episodes).percent == pytest.approx(200 / 3)


def test_success_comes_from_won_alone() -> None:
    """An episode that used up all its steps is over, but not a success."""
    episodes = {"a": finished(*["look"] * 50)}
    assert success_at(50, ["a"], episodes) == Rate(won=0, planned=1, finished=1)


def test_S1_crashed_and_missing_episodes_stay_in_the_denominator() -> None:
    planned = [f"task {i}" for i in range(100)]
    episodes = {task: finished("x*") for task in planned[:60]} | {task: finished("x") for task in planned[60:80]}
    rate = success_at(50, planned, episodes)
    assert rate == Rate(won=60, planned=100, finished=80)
    assert rate.percent is None


def test_S1_a_run_with_nothing_finished_has_no_rate() -> None:
    assert success_at(50, ["a"], {}).percent is None
    assert success_at(50, [], {}).percent is None


def test_success_by_type_divides_by_the_planned_tasks_of_the_type() -> None:
    types = {"a": "heat", "b": "cool", "c": "heat", "d": "cool"}
    episodes = {"a": finished("x*"), "b": finished("x"), "c": finished("x")}
    assert success_by_type(50, types, episodes) == {"heat": Rate(1, 2, 2), "cool": Rate(0, 2, 1)}


@pytest.mark.parametrize(
    ("text", "normal"),
    [("Go  to\tDrawer 1.", "go to drawer 1"), (" look ", "look"), ("take a 1 .", "take a 1"), ("", "")],
)
def test_normalise(text: str, normal: str) -> None:
    assert normalise(text) == normal


def test_without_failures_there_is_no_failure_rate(light: Light) -> None:
    steps = light("a", "b", "c*")
    assert one_step_recovery(steps) == Share(0, 0)
    assert failed_action_repetition(steps) == Share(0, 0)
    assert macro([one_step_recovery(steps)]) == Macro(percent=None, tasks=0, hits=0, total=0)


def test_recovery_and_repetition_by_hand(light: Light) -> None:
    # failures: a, A., b, d; followed by A.!, b!, c, and (last step) nothing
    steps = light("a!", "A. !", "b!", "c", "d!")
    assert one_step_recovery(steps) == Share(1, 3)
    assert failed_action_repetition(steps) == Share(1, 3)


def test_a_failure_on_the_last_step_is_in_neither_count(light: Light) -> None:
    only_last = light("a", "b!")
    assert one_step_recovery(only_last) == failed_action_repetition(only_last) == Share(0, 0)
    with_rate = light("a!", "b", "c!")
    assert macro([one_step_recovery(only_last), one_step_recovery(with_rate)]) == Macro(100.0, 1, 1, 1)


def test_macro_gives_every_task_the_same_weight() -> None:
    assert macro([Share(1, 1), Share(0, 9), Share(0, 0)]) == Macro(percent=50.0, tasks=2, hits=1, total=10)


def test_common_failure_tasks_need_a_failure_in_every_method(light: Light) -> None:
    failing, clean = episode(light("a!", "b")), episode(light("a", "b"))
    first = {"t1": failing, "t2": failing, "t3": failing, "t4": clean}
    second = {"t1": failing, "t2": clean, "t4": clean, "t3": episode(light("a", "b!"))}
    third = {"t1": failing, "t2": failing, "t3": failing}
    assert common_failure_tasks([first, second, third]) == ("t1", "t3")
    assert common_failure_tasks([first, {}]) == ()
    assert common_failure_tasks([]) == ()


def test_adjacent_repetition_counts_pairs_of_neighbours(light: Light) -> None:
    assert adjacent_repetition(light("a", "A.", "a", "b", "a")) == Share(2, 4)
    assert adjacent_repetition(light("a")) == Share(0, 0)
    assert adjacent_repetition([]) == Share(0, 0)


def test_recurrence_needs_the_same_observation_and_the_same_action(light: Light) -> None:
    same = light("go", "go", "Go.", "look", observations=["Room.", "room", "other", "room"])
    assert state_action_recurrence(same) == Share(1, 4)
    assert state_action_recurrence([]) == Share(0, 0)


def test_an_episode_of_one_state_recurs_at_every_step_but_the_first(light: Light) -> None:
    assert state_action_recurrence(light(*["go"] * 5, observations=["Nothing happens."] * 5)) == Share(4, 5)


def test_episodic_share_before_and_after_by_hand(light: Light) -> None:
    first = light("a!", "b", "c!", episodic=[20, 30, 90])  # one failure with a next prompt: 20 -> 30
    second = light("a!", "b!", "c", episodic=[10, 20, 60])  # two: 10 -> 20, 20 -> 60
    change = episodic_share_change([first, second, light("a", "b")])
    assert change == ShareChange(before=pytest.approx(50 / 3), after=pytest.approx(110 / 3), failures=3, tasks=2)


def test_episodic_share_without_any_failure_is_unknown(light: Light) -> None:
    assert episodic_share_change([light("a", "b!")]) == ShareChange(None, None, 0, 0)
    assert episodic_share_change([]) == ShareChange(None, None, 0, 0)


@pytest.mark.parametrize(("episodic", "tokens", "share"), [(0, 0, 0.0), (25, 100, 0.25), (101, 100, 1.0)])
def test_episodic_share_of_empty_and_overfull_prompts(episodic: int, tokens: int, share: float) -> None:
    step = Step("o", "a", True, False, memory_tokens=tokens, episodic_tokens=episodic, memory_digest=b"")
    assert episodic_share(step) == share
