"""Cases E2, E4, E5, E6, E8 and the environment on real and generated games."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from experiments.envs.alfworld import AlfworldTaskSet, household_task_set
from experiments.envs.base import TaskInfo, TaskSetError
from experiments.envs.engine import FastEngine
from experiments.envs.household import ensure
from experiments.envs.spread import spread

TYPES = ("pick_and_place_simple", "look_at_obj_in_light", "pick_heat_then_place_in_recep")


def fake_game(root: Path, name: str, grammar: str = 'template :: "move {o} to {r}"', solvable: bool = True) -> Path:
    """A folder that looks like a game without being playable: the checks need no more."""
    trial = root / "json_2.1.1" / "valid_unseen" / f"pick_and_place_simple-{name}" / "trial_1"
    trial.mkdir(parents=True)
    (trial / "traj_data.json").write_text(json.dumps({"task_type": "pick_and_place_simple"}))
    (trial / "game.tw-pddl").write_text(json.dumps({"grammar": grammar, "solvable": solvable}))
    return trial


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure(tmp_path_factory.mktemp("alfworld") / "set", seed=42, tasks=2, jobs=1)


def refusal(root: Path, split: str = "valid_unseen", expected: int | None = None) -> str:
    with pytest.raises(TaskSetError) as refused:
        AlfworldTaskSet(root, split, expected).tasks()
    return str(refused.value)


def test_E8_no_data_is_refused_with_folder_count_and_cure(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "absent"):
        message = refusal(root)
        assert str(root / "json_2.1.1" / "valid_unseen") in message
        assert "0 games, 134 are needed" in message
        assert "alfworld-download" in message
        assert "ALFWORLD_DATA" in message


def test_E8_one_game_too_few_is_refused(tmp_path: Path) -> None:
    for number in range(133):
        fake_game(tmp_path, f"Mug-{number}")
    assert "133 games, 134 are needed" in refusal(tmp_path)
    fake_game(tmp_path, "Mug-133")
    assert len(AlfworldTaskSet(tmp_path).tasks()) == 134


def test_E8_a_misspelt_split_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    message = refusal(tmp_path, "valid_unsen")
    assert "valid_unsen" in message
    assert "valid_unseen" in message
    assert "eval_out_of_distribution" in message


def test_E8_a_folder_without_its_game_is_refused(tmp_path: Path) -> None:
    fake_game(tmp_path, "Mug")
    trial = fake_game(tmp_path, "Cup")
    (trial / "game.tw-pddl").unlink()
    assert str(trial) in refusal(tmp_path, expected=2)


def test_E8_damaged_and_unsolvable_games_are_refused(tmp_path: Path) -> None:
    fake_game(tmp_path / "a", "Mug", solvable=False)
    assert "not solvable" in refusal(tmp_path / "a", expected=1)
    trial = fake_game(tmp_path / "b", "Mug")
    (trial / "game.tw-pddl").write_text('{"grammar": ')
    assert "damaged" in refusal(tmp_path / "b", expected=1)


def test_E2_games_of_the_old_grammar_are_refused(tmp_path: Path) -> None:
    fake_game(tmp_path, "Mug", grammar='template :: "put {o} in/on {r}"')
    message = refusal(tmp_path)
    assert "old release" in message
    assert "alfworld-download" in message


@pytest.mark.skipif("ALFWORLD_LEGACY_DATA" not in os.environ, reason="ALFWORLD_LEGACY_DATA names no old games")
def test_E2_real_old_games_are_refused() -> None:
    assert "old release" in refusal(Path(os.environ["ALFWORLD_LEGACY_DATA"]))


def test_E4_ids_are_sorted_and_do_not_depend_on_the_order_of_the_files(tmp_path: Path) -> None:
    names = ["Mug", "Apple", "Zebra", "Cup"]
    for name in names:
        fake_game(tmp_path / "a", name)
    for name in reversed(names):
        fake_game(tmp_path / "b", name)
    first = [task.id for task in AlfworldTaskSet(tmp_path / "a", expected=4).tasks()]
    assert first == sorted(set(first))
    assert len(first) == 4
    assert first == [task.id for task in AlfworldTaskSet(tmp_path / "b", expected=4).tasks()]


@pytest.mark.alfworld
def test_E4_the_real_split_has_each_of_its_134_games_once() -> None:
    tasks = AlfworldTaskSet(os.environ["ALFWORLD_DATA"], "eval_out_of_distribution").tasks()
    assert len({task.id for task in tasks}) == len(tasks) == 134
    counts = sorted(sum(task.type == kind for task in tasks) for kind in {task.type for task in tasks})
    assert counts == [17, 18, 21, 23, 24, 31]


def walkthrough(path: Path) -> list[str]:
    return list(json.loads(path.read_text())["walkthrough"])


def transcript(root: Path) -> str:
    """Hash over everything that the set's games say to their walkthroughs and to some wrong commands."""
    tasks = household_task_set(root, 42, tasks=2)
    env = tasks.make()
    digest = hashlib.sha256()
    for task in tasks.tasks():
        opening = env.begin(task.id)
        digest.update(repr(opening).encode())
        game = next(root.glob(f"json_2.1.1/valid_unseen/{task.id.replace('__', '/')}/game.tw-pddl"))
        outcomes = [env.step(command) for command in ["look", "dance", "inventory", *walkthrough(game), "help"]]
        assert outcomes[-2].won
        digest.update(repr(outcomes).encode())
    return digest.hexdigest()


def test_E5_the_same_text_under_every_hash_seed(household: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from pathlib import Path; "
        f"from test_alfworld import transcript; print(transcript(Path({str(household)!r})))"
    )
    hashes = set()
    for seed in ("0", "1", "77"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        hashes.add(run.stdout.strip())
    assert len(hashes) == 1


def test_E6_parallel_games_equal_serial_ones_and_files_stay_as_they_are(household: Path) -> None:
    def checksums() -> dict[str, str]:
        files = (path for path in household.rglob("*") if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = checksums()
    serial = transcript(household)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(transcript, [household] * 2)) == [serial, serial]
    assert checksums() == before


def test_beginning_again_forgets_what_happened(household: Path) -> None:
    tasks = household_task_set(household, 42, tasks=2)
    env, task = tasks.make(), tasks.tasks()[0]
    opening = env.begin(task.id)
    env.step(next(command for command in opening.admissible if command.startswith("go to")))
    assert env.begin(task.id) == opening
    assert tasks.make().begin(task.id) == opening


def test_the_goal_is_told_apart_and_no_expert_is_attached(household: Path) -> None:
    tasks = household_task_set(household, 42, tasks=2)
    env = tasks.make()
    opening = env.begin(tasks.tasks()[0].id)
    assert "Your task is to" not in opening.observation
    assert "Welcome" not in opening.observation
    assert opening.observation.startswith("You are in the middle of a room.")
    assert opening.goal
    assert type(env._engine) is FastEngine  # No wrapper around it: ALFWorld's experts are wrappers.
    assert not [key for key in env._engine.state if "expert" in key or "policy" in key]


def test_rejected_commands_are_flagged(household: Path) -> None:
    tasks = household_task_set(household, 42, tasks=2)
    env = tasks.make()
    opening = env.begin(tasks.tasks()[0].id)
    outcome = env.step("put mug 1 in/on desk 1")
    assert (outcome.failed, outcome.was_admissible, outcome.won) == (True, False, False)
    outcome = env.step(opening.admissible[0])
    assert (outcome.failed, outcome.was_admissible) == (False, True)


def test_spread_takes_tasks_evenly_and_always_the_same() -> None:
    tasks = [TaskInfo(f"{kind}-{number:02}", kind, "") for kind in TYPES for number in range(10)]
    chosen = spread(list(reversed(tasks)), 7)
    assert chosen == spread(tasks, 7)
    assert {sum(task.type == kind for task in chosen) for kind in TYPES} == {2, 3}
    assert spread(tasks, 30) == sorted(tasks, key=lambda task: task.id)
    for impossible in (0, 31):
        with pytest.raises(TaskSetError, match=f"env.tasks={impossible}"):
            spread(tasks, impossible)


def test_the_household_folder_may_not_hold_anything_else(household: Path, tmp_path: Path) -> None:
    copy = tmp_path / "set"
    shutil.copytree(household, copy)
    next(copy.rglob("game.tw-pddl")).write_text("{}")
    with pytest.raises(TaskSetError):
        household_task_set(copy, 42, tasks=2)
