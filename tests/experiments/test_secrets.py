"""Case C4: a key that a model needs is found in no file, nor on the screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from toys import Walker

from experiments.provenance import without_secrets

KEY = "sk-zebra-9"


class Keyed(Walker):
    """A model that needs a key; workers import it from here."""

    def __init__(self, api_key: str) -> None:
        assert api_key == KEY


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the output of a sweep whose key was given on the command line."""
    folder = tmp_path_factory.mktemp("secrets")
    overrides = [
        "method=no_memory",
        "budget=5",
        "jobs=1",
        "env.task_set._target_=toys.CorridorTasks",
        *(f"~env.task_set.{key}" for key in ("root", "seed", "split", "engine")),
        "model._target_=test_secrets.Keyed",
        f"+model.api_key={KEY}",
        f"hydra.sweep.dir={folder / 'sweep'}",
        f"out={folder / 'run'}",
    ]
    command = [sys.executable, "-m", "experiments.run", "-m", *overrides]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return folder, run.stdout + run.stderr


def holding_the_key(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if KEY.encode() in path.read_bytes()]


def test_C4_the_key_is_in_no_file_of_the_run(sweep: tuple[Path, str]) -> None:
    folder, _ = sweep
    assert len(list(folder.glob("run/episodes/*.jsonl"))) == 4
    assert '"api_key": "(secret)"' in (folder / "run" / "manifest.json").read_text()
    assert holding_the_key(folder / "run") == []


def test_C4_the_key_is_not_shown(sweep: tuple[Path, str]) -> None:
    assert KEY not in sweep[1]


@pytest.mark.xfail(strict=True, reason="Hydra's sweeper keeps the overrides in multirun.yaml")
def test_C4_the_key_is_not_in_the_sweep_s_own_files(sweep: tuple[Path, str]) -> None:
    assert holding_the_key(sweep[0]) == []


@pytest.mark.parametrize("name", ["api_key", "apikey", "OPENAI_API_KEY", "password", "client_secret", "access_token"])
def test_C4_the_usual_names_of_keys_are_blanked(name: str) -> None:
    assert without_secrets({"model": {name: KEY}}) == {"model": {name: "(secret)"}}


@pytest.mark.parametrize("name", ["hf_token", "token", "Authorization", "x-api-key"])
def test_C4_other_names_of_keys_are_blanked(name: str) -> None:
    assert without_secrets({"headers": {name: KEY}}) == {"headers": {name: "(secret)"}}


@pytest.mark.parametrize("name", ["max_tokens", "tokenizer", "monkey", "key_steps"])
def test_C4_what_only_looks_like_a_key_is_kept(name: str) -> None:
    assert without_secrets({name: 5}) == {name: 5}
