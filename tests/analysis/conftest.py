"""Fixtures over :mod:`synthetic_runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from synthetic_runs import memory_record, write_run

from analysis.load import Step
from experiments.records import MemoryRecord


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """``make_run(scripts, ...)`` writes a run under ``tmp_path / "runs"``; see :func:`synthetic_runs.write_run`."""

    def make(scripts: Mapping[str, Sequence[str]], **details: object) -> Path:
        return write_run(tmp_path / "runs", scripts, **details)

    return make


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def light() -> Callable[..., list[Step]]:
    """``light("go", "take!", "win*")`` makes light steps; observations count up unless they are given."""

    def make(*script: str, observations: Sequence[str] = (), episodic: Sequence[int] = ()) -> list[Step]:
        return [
            Step(
                observation=observations[i] if observations else f"observation {i}",
                action=text.rstrip("!*"),
                failed=text.endswith("!"),
                won=text.endswith("*"),
                memory_tokens=100,
                episodic_tokens=episodic[i] if episodic else 0,
                memory_digest=b"",
            )
            for i, text in enumerate(script)
        ]

    return make


@pytest.fixture
def memory() -> Callable[..., MemoryRecord]:
    """``memory("text", episodic=4, writes=[...])``: a memory record of 10 tokens."""
    return memory_record
