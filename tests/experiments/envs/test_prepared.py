"""The disk cache of prepared games: keyed by content, safe against damage, other writers and full disks."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from experiments.envs import prepared as module
from experiments.envs.household import ensure
from experiments.envs.prepared import default_folder, prepare, prepared


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = ensure(tmp_path_factory.mktemp("prepared") / "set", seed=7, tasks=1, jobs=1)
    (path,) = root.rglob("game.tw-pddl")
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes each time a game is worked out, by the length of its problem."""
    calls, real = list[int](), module.prepare

    def counted(game: Any) -> Any:
        calls.append(len(game["pddl_problem"]))
        return real(game)

    monkeypatch.setattr(module, "prepare", counted)
    return calls


def only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_is_worked_out_once_and_read_as_it_was(game: dict[str, Any], count: list[int], tmp_path: Path) -> None:
    first = prepared(game, tmp_path)
    second = prepared(game, tmp_path)
    assert first == second
    assert first.task.init == second.task.init
    assert len(count) == 1


@pytest.mark.parametrize("text", ["pddl_domain", "pddl_problem", "grammar"])
def test_another_text_is_another_file(game: dict[str, Any], count: list[int], tmp_path: Path, text: str) -> None:
    prepared(game, tmp_path)
    prepared({**game, text: game[text] + "\n"}, tmp_path)
    assert (len(count), len(list(tmp_path.iterdir()))) == (2, 2)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[: len(whole) // 2],
    "flipped": lambda whole: whole[:200] + bytes([whole[200] ^ 255]) + whole[201:],
    "not gzip": lambda whole: b"no gzip at all",
    "not json": lambda whole: gzip.compress(b"{"),
    "null": lambda whole: gzip.compress(b"null"),
    "rules of another type": lambda whole: gzip.compress(
        json.dumps(json.loads(gzip.decompress(whole)) | {"rules": 3}).encode()
    ),
    "not utf-8": lambda whole: gzip.compress(b'{"sas": "\xff"}'),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_made_anew(game: dict[str, Any], count: list[int], tmp_path: Path, kind: str) -> None:
    first = prepared(game, tmp_path)
    path = only(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    assert prepared(game, tmp_path) == first
    assert prepared(game, tmp_path) == first
    assert len(count) == 2
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(whole)


def test_many_writers_leave_one_whole_file(game: dict[str, Any], tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(prepared, [game] * 3, [tmp_path] * 3))
    left = prepared(game, tmp_path)
    # The translator goes through sets, so the order of what it writes differs from one process to another.
    assert [sorted(one.sas.splitlines()) for one in found] == [sorted(left.sas.splitlines())] * 3
    assert [one.rules for one in found] == [left.rules] * 3
    assert only(tmp_path).name.endswith(".json.gz")


def test_a_folder_that_cannot_be_made_only_costs_time(game: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert prepared(game, tmp_path / "file" / "cache") == prepare(game)


def test_the_programs_own_arguments_are_left_alone(game: dict[str, Any]) -> None:
    before = sys.argv
    prepare(game)
    assert sys.argv is before


def test_the_default_is_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "memarbiter" / "games"
