"""Reading runs: what is complete is read as it was written, everything else is an error with a cure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_runs import memory_record, result_record, step_records, write_episode

from analysis.comparison import by_setting
from analysis.load import Coverage, Event, LoadError, load_episode, load_run, load_runs
from experiments.records import Condition

MakeRun = Callable[..., Path]
CONDITION = Condition(env="household", model="reader", method="memarbiter", budget=500, seed=42)


def edit_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_line(path: Path, number: int, change: Callable[[str], str]) -> None:
    lines = path.read_text().split("\n")
    lines[number - 1] = change(lines[number - 1])
    path.write_text("\n".join(lines))


def test_an_episode_comes_back_as_it_was_written(make_run: MakeRun) -> None:
    memories = {"t": [memory_record("one", episodic=4), memory_record("two", writes=[["goal", "g", "revise", "why"]])]}
    folder = make_run({"t": ["go to x!", "take y*"]}, memories=memories)
    episode = load_run(folder).episodes["t"]
    first, second = episode.steps
    assert (first.action, first.failed, first.won) == ("go to x", True, False)
    assert (second.action, second.failed, second.won) == ("take y", False, True)
    assert second.observation == "Nothing happens."
    assert (first.memory_tokens, first.episodic_tokens) == (10, 4)
    assert first.memory_digest != second.memory_digest
    assert episode.events == {
        Event("write", "goal", "insert", "new goal"): 1,
        Event("write", "goal", "revise", "why"): 1,
    }
    assert (episode.result.won, episode.result.steps, episode.result.rejected_commands) == (True, 2, 1)


def test_files_from_before_calls_and_writings_were_recorded_still_load(make_run: MakeRun) -> None:
    folder = make_run({"t": ["go", "take*"]})

    def without(path: Path, *names: str) -> None:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for record in lines:
            record.get("condition", {}).pop("writing", None)
            for part in (record, *record.get("calls", [])):
                for name in names:
                    part.pop(name, None)
        path.write_text("".join(json.dumps(record) + "\n" for record in lines))

    call_fields = ("outcome", "prompt_tokens", "completion_tokens", "own_prompt_tokens", "failures")
    without(folder / "episodes/t.jsonl", "usage", "memory_calls", *call_fields)
    without(folder / "manifest.json", "servers")
    assert "usage" not in (folder / "episodes/t.jsonl").read_text()
    run = load_run(folder)
    assert (run.method, run.overflows, run.coverage.complete) == ("memarbiter", 0, True)
    assert run.episodes["t"].result.usage == {}


def test_gate_and_shed_events_name_both_bands(make_run: MakeRun) -> None:
    record = memory_record(
        writes=[],
        transitions=[["episodic", "e1", "new", "focal", "failure"]],
        shed=[["reference", "r1", "ambient", "hidden", "budget"]],
    )
    episode = load_run(make_run({"t": ["x"]}, memories={"t": [record]})).episodes["t"]
    assert set(episode.events) == {
        Event("gate", "episodic", "new -> focal", "failure"),
        Event("shed", "reference", "ambient -> hidden", "budget"),
    }


def test_runs_are_found_at_any_depth_and_ordered(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"t": ["x"]}, method="no_memory", budget=None, name="deep/er/a")
    make_run({"t": ["x"]}, method="memarbiter", budget=750, name="b")
    make_run({"t": ["x"]}, method="zeta", budget=500, name="c")
    make_run({"t": ["x"]}, method="flat_recency", budget=500, name="d")
    found = [(run.condition.method, run.condition.budget) for run in load_runs(runs_dir)]
    assert found == [("flat_recency", 500), ("zeta", 500), ("memarbiter", 750), ("no_memory", None)]


def test_S1_planned_finished_errors_missing_add_up(make_run: MakeRun) -> None:
    planned = [f"t{i:03}" for i in range(100)]
    scripts = {task: ["x*"] for task in planned[:60]} | {task: ["x"] for task in planned[60:80]}
    run = load_run(make_run(scripts, planned=planned, errors=dict.fromkeys(planned[80:90], "timeout")))
    assert run.coverage == Coverage(planned=100, finished=80, errors=10, missing=10)
    assert run.coverage.state == "incomplete 80/100"
    assert not run.coverage.complete


def test_an_error_of_a_task_that_was_finished_since_is_no_error(make_run: MakeRun) -> None:
    run = load_run(make_run({"a": ["x*"]}, errors={"a": "timeout"}))
    assert run.coverage == Coverage(planned=1, finished=1, errors=0, missing=0)


def test_S1_an_empty_run_has_no_data(make_run: MakeRun) -> None:
    assert load_run(make_run({}, planned=["a", "b"])).coverage.state == "no data"


def test_ids_stay_text(make_run: MakeRun) -> None:
    run = load_run(make_run({"007": ["x*"], "1e5": ["x"]}))
    assert list(run.episodes) == ["007", "1e5"]


def test_line_separators_within_text_do_not_break_lines(make_run: MakeRun) -> None:
    record = memory_record("a\u2028b\u0085c\nd")
    path = make_run({"t": ["x"]}, memories={"t": [record]}) / "episodes/t.jsonl"
    text = path.read_text().replace("\\u2028", "\u2028").replace("\\u0085", "\u0085")
    path.write_text(text, encoding="utf-8")
    assert len(load_episode(path).steps) == 1


def test_every_torn_file_is_incomplete_and_names_the_cure(make_run: MakeRun) -> None:
    path = make_run({"täsk": ["go", "take*"]}) / "episodes/täsk.jsonl"
    whole = path.read_bytes()
    for cut in range(0, len(whole) - 1, 17):
        path.write_bytes(whole[:cut])
        with pytest.raises(LoadError, match=r"täsk\.jsonl, line \d+: .*incomplete.*run the same command again"):
            load_episode(path)
    path.write_bytes(whole[:-1])
    assert load_episode(path).result.won


@pytest.mark.parametrize(
    ("line", "change", "complaint"),
    [
        (1, lambda text: text[:-5], "line 1: damaged"),
        (2, lambda text: text.replace('"failed":false', '"failed":"no"'), "line 2: damaged: failed"),
        (2, lambda text: text.replace('"command"', '"commando"'), "line 2: damaged"),
        (2, lambda _: "", "line 2: damaged"),
        (3, lambda text: text.replace('"step":2', '"step":3'), "line 3: step 2 expected, found step 3"),
        (3, lambda text: text.replace('"insert",', ""), "line 3: damaged: a write needs 4 fields"),
        (4, lambda text: text.replace('"steps":2', '"steps":3'), "says steps 3, its steps say 2"),
        (4, lambda text: text.replace('"won":true', '"won":false'), "says won False, its steps say True"),
        (4, lambda text: text.replace('"model_calls":2,', ""), "line 4: damaged: model_calls"),
        (4, lambda text: text.replace('"end_reason":"won"', '"end_reason":"step_limit"'), "ends with its win"),
    ],
)
def test_damage_names_file_and_line(make_run: MakeRun, line: int, change: Callable[[str], str], complaint: str) -> None:
    path = make_run({"t": ["go", "take*"]}) / "episodes/t.jsonl"
    edit_line(path, line, change)
    with pytest.raises(LoadError, match=complaint) as error:
        load_episode(path)
    assert str(path) in str(error.value)


def test_invalid_utf8_names_the_line(make_run: MakeRun) -> None:
    path = make_run({"t": ["go", "take*"]}) / "episodes/t.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"command":"go"', b'"command":"\xff"'))
    with pytest.raises(LoadError, match="line 2: damaged"):
        load_episode(path)


def test_a_file_of_a_result_alone_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(result_record([]).model_dump_json() + "\n")
    with pytest.raises(LoadError, match="line 1: the header is missing"):
        load_episode(path)


def test_an_unplanned_task_is_an_error(make_run: MakeRun) -> None:
    folder = make_run({"t": ["x"]})
    path = write_episode(folder, CONDITION, "stranger", "pick", step_records(["x"]))
    with pytest.raises(LoadError, match="'stranger' is not in the plan") as error:
        load_run(folder)
    assert str(path) in str(error.value)


def test_an_episode_of_another_condition_is_an_error(make_run: MakeRun) -> None:
    folder = make_run({"t": ["x"]})
    other = CONDITION.model_copy(update={"budget": 750})
    write_episode(folder, other, "t", "pick_and_place_simple", step_records(["x"]))
    with pytest.raises(LoadError, match="condition is"):
        load_run(folder)


def test_more_steps_than_the_limit_are_an_error(make_run: MakeRun) -> None:
    with pytest.raises(LoadError, match="51 steps, but the run's limit is 50"):
        load_run(make_run({"t": ["x"] * 51}))


@pytest.mark.parametrize(
    ("file", "changes", "complaint"),
    [
        ("manifest.json", {"tasks": ["t", "t"]}, "'t' is planned more than once"),
        ("manifest.json", {"tasks": ["t", "u"]}, "name different tasks"),
        ("manifest.json", {"schema_version": 99}, "schema version 99"),
        ("manifest.json", {"step_limit": "fifty"}, "manifest.json is damaged: step_limit"),
        ("status.json", {"planned": 7}, "does not fit manifest.json"),
        ("status.json", {"errors": {"u": "timeout"}}, "does not fit manifest.json"),
    ],
)
def test_a_manifest_that_contradicts_is_an_error(
    make_run: MakeRun, file: str, changes: dict[str, object], complaint: str
) -> None:
    folder = make_run({"t": ["x"]})
    edit_json(folder / file, **changes)
    with pytest.raises(LoadError, match=complaint):
        load_run(folder)


def test_a_missing_status_is_an_error(make_run: MakeRun) -> None:
    folder = make_run({"t": ["x"]})
    (folder / "status.json").unlink()
    with pytest.raises(LoadError, match=r"status\.json is missing"):
        load_run(folder)


def test_two_runs_of_one_condition_name_both_folders(make_run: MakeRun, runs_dir: Path) -> None:
    first, second = make_run({"t": ["x"]}, name="one"), make_run({"t": ["x"]}, name="two")
    with pytest.raises(LoadError, match="same condition") as error:
        load_runs(runs_dir)
    assert str(first) in str(error.value)
    assert str(second) in str(error.value)


def test_no_folder_and_no_run_are_errors(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="is not a folder"):
        load_runs(tmp_path / "absent")
    with pytest.raises(LoadError, match="holds no run"):
        load_runs(tmp_path)


def test_runs_of_different_tasks_are_not_compared(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"t": ["x"]}, method="memarbiter")
    make_run({"u": ["x"]}, method="flat_recency")
    with pytest.raises(LoadError, match="differ in 'tasks'"):
        by_setting(load_runs(runs_dir))


def test_models_and_seeds_are_separate_settings(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"t": ["x"]}, model="reader")
    make_run({"u": ["x"]}, model="reader_slips")
    make_run({"u": ["x"]}, model="reader", seed=43)
    assert list(by_setting(load_runs(runs_dir))) == [
        ("household", "reader", 42),
        ("household", "reader", 43),
        ("household", "reader_slips", 42),
    ]


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ({"model": {"rate": 0.1}}, {"model": {"rate": 0.9}}, "config.model"),
        ({"agent": {"step_limit": 50}}, {"agent": {"step_limit": 40}}, "config.agent"),
        ({"method": {"patience": 2}}, {"method": {"patience": 4}}, "config.method"),
    ],
)
def test_like_is_compared_with_like(
    make_run: MakeRun, runs_dir: Path, one: dict[str, object], other: dict[str, object], named: str
) -> None:
    make_run({"t1": ["look"]}, budget=500, config=one)
    make_run({"t1": ["look"]}, budget=750, config=other)
    with pytest.raises(LoadError, match=f"differ in '{named}'"):
        by_setting(load_runs(runs_dir))
