"""Cases P1, P4 and C1: a run's folder."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toys import Corridor, ListMemory, Walker, info

from experiments.episode import Limits, play
from experiments.records import Condition, Manifest
from experiments.store import RunStore, StoreError, episode_path, write_episode

CONDITION = Condition(env="toy", model="wälker", method="toy", budget=100, seed=42)


def won(store: RunStore) -> dict[str, bool]:
    """The finished tasks, and whether they were won."""
    return {task: result.won for task, result in store.completed().items()}


def manifest(**changes: Any) -> Manifest:
    values = {
        "condition": CONDITION,
        "config": {"out": "/a", "jobs": 1, "budget": 100, "env": {"tasks": None}},
        "tasks": ["corridor-1", "corridor-2"],
        "task_types": {"corridor-1": "x", "corridor-2": "x"},
        "step_limit": 50,
        "task_set_sha256": "t",
        "prompts_sha256": "p",
        "tokenizer": {"encoding": "o200k_base"},
        "code": {"commit": "c", "dirty": False, "sha256": "s"},
        "versions": {"alfworld": "0.4.2"},
    }
    return Manifest.model_validate({**values, **changes})


def finish(folder: Path, number: int = 2) -> Path:
    """Play a task and write its file."""
    task = info(number)
    episode = asyncio.run(play(task, CONDITION, Corridor(marker="zebra ž 🧪"), ListMemory(), Walker(), Limits()))
    write_episode(folder, episode)
    return episode_path(folder, task.id)


def completed(folder: Path) -> dict[str, bool]:
    with RunStore(folder, manifest()) as store:
        return won(store)


def test_P1_a_file_cut_at_any_byte_is_kept_whole_or_played_again(tmp_path: Path) -> None:
    assert completed(tmp_path) == {}
    path = finish(tmp_path, 1)
    whole = path.read_bytes()
    assert "🧪".encode() in whole
    assert completed(tmp_path) == {"corridor-1": True}
    with RunStore(tmp_path, manifest()) as store:
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            if length == len(whole) - 1:  # Only the last line break is missing: nothing is lost.
                assert won(store) == {"corridor-1": True}
            else:
                assert store.completed() == {}
                assert not path.exists()


def test_P1_damage_in_the_middle_is_an_error_that_names_file_and_line(tmp_path: Path) -> None:
    assert completed(tmp_path) == {}
    path = finish(tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1][:40] + b"#" + lines[1][41:50]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(StoreError, match=rf"{path}, line 2"):
        completed(tmp_path)


def test_P1_a_crash_before_the_manifest_leaves_no_riddle(tmp_path: Path) -> None:
    finish(tmp_path)
    with pytest.raises(StoreError, match=r"no manifest\.json"):
        completed(tmp_path)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    with RunStore(tmp_path, manifest()):
        finish(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"condition": CONDITION.model_copy(update={"budget": 750})}, "condition.budget: 100 -> 750"),
        ({"prompts_sha256": "q"}, "prompts_sha256: p -> q"),
        ({"versions": {"alfworld": "0.4.1"}}, "versions.alfworld: 0.4.2 -> 0.4.1"),
        ({"task_set_sha256": "u"}, "task_set_sha256: t -> u"),
        ({"code": {"commit": "c", "dirty": False, "sha256": "other"}}, "code.sha256: s -> other"),
        ({"tasks": ["corridor-1"]}, "tasks"),
    ],
)
def test_P4_a_run_is_not_continued_with_other_settings(begun: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(StoreError, match="made with other settings") as refused, RunStore(begun, manifest(**changes)):
        pass
    assert named in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"out": "/b", "jobs": 8, "budget": 100, "env": {"tasks": None}}},
        {"code": {"commit": "d", "dirty": True, "sha256": "s"}},
    ],
)
def test_P4_what_cannot_change_a_result_may_differ(begun: Path, changes: dict[str, Any]) -> None:
    with RunStore(begun, manifest(**changes)) as store:
        assert won(store) == {"corridor-2": True}


def test_C1_a_folder_has_one_writer(begun: Path) -> None:
    program = (
        "import sys, pathlib; from experiments.store import RunStore; from experiments.records import Manifest\n"
        f"made = Manifest.model_validate_json(pathlib.Path({str(begun / 'manifest.json')!r}).read_bytes())\n"
        f"with RunStore(pathlib.Path({str(begun)!r}), made): print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match="being written by another run"):
            completed(begun)
    finally:
        other.kill()
        other.wait()
    assert completed(begun) == {"corridor-2": True}  # A killed holder does not keep the folder.


def test_what_a_killed_process_left_behind_is_removed(begun: Path) -> None:
    (begun / "episodes" / ".corridor-1.xyz.part").write_text("half")
    assert completed(begun) == {"corridor-2": True}
    assert not list(begun.rglob("*.part"))


def test_an_episode_of_another_run_is_not_taken_for_ours(begun: Path) -> None:
    source = episode_path(begun, "corridor-2")
    source.rename(episode_path(begun, "corridor-1"))
    with pytest.raises(StoreError, match="belongs to another run"):
        completed(begun)
