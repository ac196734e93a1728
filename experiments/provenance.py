"""What has to be known about a run to repeat it: the facts of ``manifest.json``."""

from __future__ import annotations

import hashlib
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from hydra.utils import get_object

from experiments.agent import prompts_sha256
from experiments.envs.base import TaskInfo
from experiments.records import Manifest
from experiments.settings import CHECKOUT, Settings
from memarbiter import tokens

PACKAGES = (
    "alfworld",
    "fast-downward-textworld",
    "jinja2",
    "memarbiter",
    "numpy",
    "openai",
    "pydantic",
    "rank-bm25",
    "textworld",
    "tiktoken",
)
"""Packages whose version can change a result."""

_SOURCES = ("memarbiter", "baselines", "experiments")
_SECRET = re.compile(r"(?:^|[_-])(?:api_?key|key|secret|password|token|authorization)$", re.IGNORECASE)


def manifest(settings: Settings, tasks: Sequence[TaskInfo]) -> Manifest:
    """The manifest of a run that plays ``tasks``.

    Raises:
        memarbiter.vocabulary.VocabularyMissing: If the token counter cannot count.
    """
    return Manifest(
        condition=settings.condition,
        config=without_secrets(settings.model_dump()),
        tasks=[task.id for task in tasks],
        task_types={task.id: task.type for task in tasks},
        step_limit=settings.agent.step_limit,
        task_set_sha256=task_set_sha256(tasks),
        prompts_sha256=prompts_sha256(),
        tokenizer=tokens.fingerprint(),
        code={**_git(CHECKOUT), "sha256": code_sha256(CHECKOUT), "own": own_sha256(settings.model_dump())},
        versions=versions(),
    )


def task_set_sha256(tasks: Sequence[TaskInfo]) -> str:
    """Hash over id, type and game of every planned task, in the plan's order."""
    return hashlib.sha256("".join(f"{task.id} {task.type} {task.sha256}\n" for task in tasks).encode()).hexdigest()


@cache
def code_sha256(root: Path) -> str:
    """Hash over names and contents of the programs and prompts that play an episode."""
    digest = hashlib.sha256()
    files = (path for package in _SOURCES for path in (root / package).rglob("*") if path.suffix in (".py", ".j2"))
    for path in sorted(files):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def own_sha256(config: Mapping[str, Any]) -> dict[str, str]:
    """Hash of each module outside the checkout's and the installed packages that the configuration builds from."""
    modules = {get_object(target).__module__ for target in _targets(config)}
    known = {*_SOURCES, *sys.stdlib_module_names}
    files = {name: sys.modules[name].__file__ for name in sorted(modules) if name.partition(".")[0] not in known}
    return {
        name: hashlib.sha256(Path(file).read_bytes()).hexdigest()
        for name, file in files.items()
        if file and "site-packages" not in file
    }


def _targets(config: Any) -> Iterator[str]:
    if isinstance(config, Mapping):
        if isinstance(target := config.get("_target_"), str):
            yield target
        for inner in config.values():
            yield from _targets(inner)
    elif isinstance(config, list):
        for inner in config:
            yield from _targets(inner)


@cache
def versions() -> dict[str, str]:
    """Python and the packages that can change a result."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: metadata.version(name) for name in PACKAGES}}


def without_secrets(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the values of keys and passwords blanked."""
    return {key: "(secret)" if value and _SECRET.search(key) else _inner(value) for key, value in config.items()}


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    return [_inner(entry) for entry in value] if isinstance(value, list) else value


@cache
def _git(root: Path) -> dict[str, Any]:
    """Commit, and whether files differ from it; None for both where ``root`` is no checkout."""
    try:
        top, commit = _run(root, "rev-parse", "--show-toplevel", "HEAD").splitlines()
        if not Path(top).samefile(root):
            raise ValueError("the checkout of something else")
        return {"commit": commit, "dirty": bool(_run(root, "status", "--porcelain").strip())}
    except (OSError, ValueError, subprocess.SubprocessError):
        return {"commit": None, "dirty": None}


def _run(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
