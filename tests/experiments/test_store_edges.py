"""Cases P1 and P4, the rarer ones: whole lines gone or out of order, settings with similar names, no folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_store import completed, finish, manifest

from experiments.records import EpisodeResult
from experiments.store import RunStore, StoreError, read_ends

Lines = list[bytes]


def damaged(folder: Path, change: Callable[[Lines], Lines]) -> Path:
    """A finished episode of three steps whose lines were changed."""
    assert completed(folder) == {}
    path = finish(folder, 2)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    path.write_bytes(b"".join(change(lines)))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], b"\n", *lines[1:]],
        lambda lines: [*lines, b"\n"],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], *lines],
    ],
    ids=["header gone", "blank line", "blank line at the end", "two results", "two headers"],
)
def test_P1_lines_of_the_wrong_kind_are_an_error(tmp_path: Path, change: Callable[[Lines], Lines]) -> None:
    path = damaged(tmp_path, change)
    with pytest.raises(StoreError, match=rf"{path}, line \d+: damaged") as told:
        completed(tmp_path)
    assert "delete the file" in str(told.value)
    assert path.exists()  # Only a cut is mended without asking.


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[0], lines[2], lines[1], lines[3]],
        lambda lines: [lines[0], lines[1], *lines[1:]],
    ],
    ids=["step gone", "steps swapped", "step twice"],
)
def test_P1_steps_out_of_order_are_an_error(tmp_path: Path, change: Callable[[Lines], Lines]) -> None:
    damaged(tmp_path, change)
    with pytest.raises(StoreError, match="line"):
        completed(tmp_path)


def test_P1_a_file_of_zeros_is_played_again(tmp_path: Path) -> None:
    # What some file systems leave of a file after a power cut.
    path = damaged(tmp_path, lambda lines: [b"\0" * sum(map(len, lines))])
    assert completed(tmp_path) == {}
    assert not path.exists()


def test_P1_what_was_read_is_what_was_written(tmp_path: Path) -> None:
    ends = read_ends(damaged(tmp_path, lambda lines: lines))
    assert ends is not None
    header, result = ends
    assert header.task_id == "corridor-2"
    assert isinstance(result, EpisodeResult)
    assert (result.won, result.steps, result.model_calls) == (True, 2, 2)


def test_P1_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    assert completed(tmp_path) == {}
    path = tmp_path / "manifest.json"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match=rf"{path} is damaged"):
        completed(tmp_path)


@pytest.mark.parametrize("name", ["jobs_order", "out_of_domain"])
def test_P4_a_setting_whose_name_begins_like_a_free_one_is_compared(tmp_path: Path, name: str) -> None:
    with RunStore(tmp_path, manifest(config={"jobs": 1, name: 1})):
        pass
    with pytest.raises(StoreError, match=name), RunStore(tmp_path, manifest(config={"jobs": 1, name: 2})):
        pass


def test_P4_many_differences_are_counted_not_poured_out(tmp_path: Path) -> None:
    with RunStore(tmp_path, manifest(config={f"value{n}": n for n in range(40)})):
        pass
    other = manifest(config={f"value{n}": n + 1 for n in range(40)})
    with pytest.raises(StoreError, match="and 28 more") as told, RunStore(tmp_path, other):
        pass
    assert "config.value0: 0 -> 1" in str(told.value)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        completed(tmp_path / "file")
