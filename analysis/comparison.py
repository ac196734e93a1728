"""Which runs may stand in one table: those of one setting that differ in nothing but what is compared."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.load import LoadError, Run, Setting

_SAME_IN_A_COMPARISON = (
    "tasks",
    "step_limit",
    "task_set_sha256",
    "prompts_sha256",
    "tokenizer",
    "versions",
    "config.model",
    "config.agent",
)
_HOW_A_MODEL_IS_REACHED = (
    "base_url",
    "server",
    "api_key_env",
    "attempt_timeout_s",
    "call_timeout_s",
    "probe_timeout_s",
    "max_concurrency",
    "reuse",
)


def by_setting(runs: Iterable[Run]) -> dict[Setting, list[Run]]:
    """Runs grouped into comparisons, each checked to compare like with like.

    Raises:
        LoadError: If runs of one setting differ in tasks, limits, prompts, token counter, packages or action model,
            or runs of one method and writing in anything but the budget. How a model is reached does not matter.
    """
    groups: dict[Setting, list[Run]] = {}
    for run in runs:
        group = groups.setdefault(run.setting, [])
        group.append(run)
        _comparable(group[0], run, _SAME_IN_A_COMPARISON)
        same_method = next(other for other in group if other.method == run.method)
        _comparable(same_method, run, ("config.method",))
    return groups


def _comparable(one: Run, other: Run, parts: Iterable[str]) -> None:
    for part in parts:
        if _part(one, part) != _part(other, part):
            raise LoadError(
                f"{one.folder} and {other.folder} cannot be compared: their manifests differ in "
                f"'{part}'; keep such runs in separate folders"
            )


def _part(run: Run, part: str) -> object:
    outer, _, inner = part.partition(".")
    value = getattr(run.manifest, outer)
    return _without_access(value.get(inner)) if inner else value


def _without_access(value: object) -> object:
    """Settings of models, wherever they stand in it, without those that only say how the model is reached."""
    if isinstance(value, dict):
        return {key: _without_access(inner) for key, inner in value.items() if key not in _HOW_A_MODEL_IS_REACHED}
    return [_without_access(inner) for inner in value] if isinstance(value, list) else value
