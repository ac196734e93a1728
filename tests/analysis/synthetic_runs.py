"""Small synthetic runs, written with the project's own records.

A step is written as its command, with ``!`` behind it if the environment rejected it, ``*`` if it won.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.records import (
    CallRecord,
    Condition,
    EndReason,
    EpisodeHeader,
    EpisodeResult,
    Manifest,
    MemoryRecord,
    Status,
    StepRecord,
    Usage,
)
from memarbiter.chat import Outcome

SIMPLE = "pick_and_place_simple"


def memory_record(text: str = "Goal: x", episodic: int = 0, **extra: list[list[str]]) -> MemoryRecord:
    return MemoryRecord(
        text=text,
        tokens=10,
        bank_tokens={"goal": 10 - episodic, "episodic": episodic},
        demand={},
        relevance={},
        bands={},
        writes=extra.get("writes", [["goal", "g1", "insert", "new goal"]]),
        transitions=extra.get("transitions", []),
        shed=extra.get("shed", []),
    )


def step_records(script: Sequence[str], memories: Sequence[MemoryRecord] = ()) -> list[StepRecord]:
    observation, records = "You are in the room.", []
    for number, text in enumerate(script, start=1):
        command, failed, won = text.rstrip("!*"), text.endswith("!"), text.endswith("*")
        result = "Nothing happens." if failed else f"You did {number}."
        records.append(
            StepRecord(
                step=number,
                observation=observation,
                memory=memories[number - 1] if memories else memory_record(f"after {number - 1}"),
                calls=[CallRecord(raw=command, command=command, thought="", notes=[])],
                command=command,
                was_admissible=not failed,
                failed=failed,
                result=result,
                won=won,
            )
        )
        observation = result
    return records


def result_record(
    steps: Sequence[StepRecord], usage: Mapping[str, Usage] | None = None, ending: EndReason = "step_limit"
) -> EpisodeResult:
    """``ending`` is why the episode ended if it was not won; with ``usage``, it says how many calls there were."""
    won = bool(steps) and steps[-1].won
    return EpisodeResult(
        won=won,
        end_reason="won" if won else ending,
        steps=len(steps),
        model_calls=usage["act"].calls if usage else len(steps),
        rejected_commands=sum(step.failed for step in steps),
        unparsable_replies=0,
        extra_actions_dropped=0,
        unanswered_calls=[],
        usage=dict(usage or {}),
        timing={"total": 0.1},
    )


def use(calls: int, prompt: int | None = None, completion: int | None = None, own: int = 0, **outcomes: int) -> Usage:
    """``use(3, own=300, cut=1)``: three calls, of which one was cut and the others were answered."""
    by_name = {Outcome[name.upper()].value: count for name, count in outcomes.items()}
    answered = calls - sum(outcomes.values())
    return Usage(
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        own_prompt_tokens=own,
        outcomes=({"answered": answered} if answered else {}) | by_name,
    )


def write_episode(
    folder: Path,
    condition: Condition,
    task: str,
    task_type: str,
    steps: Sequence[StepRecord],
    result: EpisodeResult | None = None,
) -> Path:
    header = EpisodeHeader(
        task_id=task, task_type=task_type, game_sha256="0", condition=condition, goal="g", observation="o"
    )
    path = folder / "episodes" / f"{task}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [header, *steps, result or result_record(steps)]
    path.write_text("".join(record.model_dump_json() + "\n" for record in lines), encoding="utf-8")
    return path


def write_run(
    root: Path,
    scripts: Mapping[str, Sequence[str]],
    *,
    method: str = "memarbiter",
    writing: str | None = None,
    budget: int | None = 500,
    model: str = "reader",
    env: str = "household",
    seed: int = 42,
    planned: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    memories: Mapping[str, Sequence[MemoryRecord]] | None = None,
    config: Mapping[str, object] | None = None,
    servers: dict[str, dict[str, object]] | None = None,
    usage: Mapping[str, Mapping[str, Usage]] | None = None,
    endings: Mapping[str, EndReason] | None = None,
    name: str | None = None,
) -> Path:
    """Write one run's folder and return it. ``scripts``, ``usage`` and ``endings`` are of the finished episodes."""
    tasks = list(planned if planned is not None else scripts)
    task_types = {task: (types or {}).get(task, SIMPLE) for task in tasks}
    condition = Condition(env=env, model=model, method=method, budget=budget, seed=seed, writing=writing)
    folder = root / (name or f"{env}-{model}-{seed}/{method}-{budget}-{writing}")
    folder.mkdir(parents=True)
    manifest = Manifest(
        condition=condition,
        config=dict(config or {}),
        tasks=tasks,
        task_types=task_types,
        step_limit=50,
        task_set_sha256="t",
        prompts_sha256="p",
        tokenizer={"name": "o200k_base"},
        servers=servers,
        code={"commit": "abc", "dirty": False},
        versions={"textworld": "1.7.0"},
    )
    status = Status(
        state="finished" if len(scripts) == len(tasks) else "incomplete",
        planned=len(tasks),
        finished=len(scripts),
        won=sum(bool(script) and script[-1].endswith("*") for script in scripts.values()),
        errors=dict(errors or {}),
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    (folder / "status.json").write_text(status.model_dump_json(), encoding="utf-8")
    for task, script in scripts.items():
        steps = step_records(script, (memories or {}).get(task, ()))
        result = result_record(steps, (usage or {}).get(task), (endings or {}).get(task, "step_limit"))
        write_episode(folder, condition, task, task_types[task], steps, result)
    return folder
