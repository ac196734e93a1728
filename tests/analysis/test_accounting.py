"""Model calls, counted: what the server told, what it did not tell, and how the calls ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from synthetic_runs import result_record, step_records, use

from analysis.accounting import accounting, call_rows, gap_warning
from analysis.load import LoadError, load_episode, load_run, load_runs
from analysis.render import markdown
from experiments.records import Usage

MakeRun = Callable[..., Path]


def rows(runs: Path) -> list[list[str]]:
    return [[cell.text for cell in row] for grid in accounting(load_runs(runs)).grids for g in grid.groups for row in g]


def test_calls_and_tokens_by_hand(make_run: MakeRun, runs_dir: Path) -> None:
    """Two episodes of two and three commands; one retried reply; the writer asks more often than the agent."""
    usage = {
        "a": {"act": use(2, 800, 20, own=700), "write": use(3, 3000, 300, own=2500, cut=1)},
        "b": {"act": use(4, 1700, 40, own=1300, empty=1), "write": use(5, 5000, 700, own=5000, cut=1, refused=1)},
    }
    usage["b"]["act"] = usage["b"]["act"].model_copy(update={"failed_attempts": 2})
    make_run({"a": ["p", "q*"], "b": ["p", "q", "r"]}, usage=usage, model="qwen3_6_27b", writing="llm")
    frame = accounting(load_runs(runs_dir)).frame
    act, write = (frame.iloc[n] for n in range(2))
    assert (act.method, act.method_name, act.purpose) == ("memarbiter (llm)", "MemArbiter (llm)", "act")
    assert (act.calls, act.steps, act.calls_per_step, act.failed_attempts) == (6, 5, 1.2, 2)
    assert (act.server_prompt_tokens_per_step, act.own_prompt_tokens_per_step) == (500.0, 400.0)
    assert (act.server_to_own, act.completion_tokens_per_step, act["empty"], act.answered) == (1.25, 12.0, 1, 5)
    assert (write.purpose, write.calls, write.cut, write.refused, write.answered) == ("write", 8, 2, 1, 5)
    assert (act.server_prompt_tokens, act.own_prompt_tokens, act.completion_tokens) == (2500, 2000, 60)
    assert (write.cut_percent, write.completion_tokens_per_step) == (25.0, 200.0)
    assert rows(runs_dir) == [
        ["MemArbiter (llm) 500", "act", "6", "1.20", "500.0", "400.0", "1.25", "12.0", "2", "0.00", "empty: 1"],
        ["MemArbiter (llm) 500", "write", "8", "1.60", "1600.0", "1500.0", "1.07", "200.0", "0", "25.00",
         "cut at the token limit: 2, refused: 1"],
    ]  # fmt: skip


def test_L9_what_the_server_does_not_tell_is_missing_and_not_zero(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["p", "q"]}, usage={"a": {"act": use(2, own=900)}})
    row = accounting(load_runs(runs_dir)).frame.iloc[0]
    assert pd.isna(row.server_prompt_tokens_per_step)
    assert pd.isna(row.server_to_own)
    assert pd.isna(row.server_prompt_tokens)
    assert pd.isna(row.completion_tokens)
    assert pd.isna(row.completion_tokens_per_step)
    assert (row.own_prompt_tokens_per_step, row.prompt_told_episodes, row.recorded_episodes) == (450.0, 0, 1)
    assert rows(runs_dir)[0][4:9] == ["not told", "450.0", "not told", "not told", "0"]


def test_L9_tokens_are_those_of_the_episodes_that_tell_them(make_run: MakeRun, runs_dir: Path) -> None:
    """The second episode lacks a count for its last call; its own tokens must not enter the ratio either."""
    usage = {
        "a": {"act": use(2, 1200, 10, own=1000)},
        "b": {"act": use(4, None, 90, own=9000, context_overflow=1)},
    }
    endings = {"b": "context_overflow"}
    make_run({"a": ["p", "q"], "b": ["p", "q", "r"]}, usage=usage, endings=endings)
    row = accounting(load_runs(runs_dir)).frame.iloc[0]
    assert (row.server_prompt_tokens_per_step, row.server_to_own, row.own_prompt_tokens_per_step) == (600, 1.2, 2000)
    assert (row.prompt_told_episodes, row.completion_told_episodes, row.completion_tokens_per_step) == (1, 2, 20)
    assert row.context_overflow == 1
    assert rows(runs_dir)[0][4] == "600.0 (1/2)"
    assert rows(runs_dir)[0][-1] == "context overflow: 1"


def test_an_episode_without_a_call_of_a_purpose_tells_nothing_about_it(make_run: MakeRun) -> None:
    usage = {"a": {"act": use(1, 10, 1, own=9)}, "b": {"act": use(1, 10, 1, own=9), "parse": use(1, own=9)}}
    act, parse = call_rows(load_run(make_run({"a": ["p"], "b": ["p"]}, usage=usage)))
    assert (act.prompt_told_episodes, act.server_prompt_tokens_per_step) == (2, 10.0)
    assert (parse.prompt_told_episodes, parse.server_prompt_tokens_per_step, parse.calls_per_step) == (0, None, 0.5)


@pytest.mark.parametrize(("server", "warned"), [(1300, False), (1310, True)])
def test_T4_a_large_gap_between_the_counts_raises_a_warning(make_run: MakeRun, server: int, warned: bool) -> None:
    run = load_run(make_run({"a": ["p"]}, usage={"a": {"act": use(1, server, 5, own=1000)}}))
    warning = gap_warning(call_rows(run))
    text = markdown(accounting([run]))
    assert (warning is not None, "Warning: the server counts" in text, "(large gap)" in text) == (warned,) * 3
    if warning:
        assert "MemArbiter 500, act (1.31)" in warning
    assert "o200k_base" in text


def test_files_from_before_calls_were_counted_are_named_and_left_out(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["p"], "b": ["p", "q"]}, usage={"b": {"act": use(2, 20, 2, own=20)}})
    make_run({"a": ["p"], "b": ["p"]}, method="flat_recency")
    table = accounting(load_runs(runs_dir))
    row = table.frame.iloc[0]
    assert (len(table.frame), row.recorded_episodes, row.steps, row.finished) == (1, 1, 2, 2)
    assert "episodes of Flat Recency 500, MemArbiter 500 do not say" in table.grids[0].notes[-1]


def test_where_nothing_was_counted_the_table_says_so(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["p"]})
    table = accounting(load_runs(runs_dir))
    assert (table.grids[0].groups, len(table.frame)) == ((), 0)
    assert "episodes of MemArbiter 500 do not say" in markdown(table)


def test_where_nothing_was_finished_there_is_nothing_to_count(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({}, planned=["a"])
    assert accounting(load_runs(runs_dir)).grids == ()


def test_an_episode_without_a_step_has_no_rate(make_run: MakeRun, runs_dir: Path) -> None:
    usage = {"a": {"act": use(1, own=9, context_overflow=1)}}
    make_run({"a": []}, usage=usage, endings={"a": "context_overflow"})
    assert rows(runs_dir)[0][2:6] == ["1", "no step", "not told", "no step"]


@pytest.mark.parametrize(
    ("usage", "complaint"),
    [
        ({"act": use(2)}, "do not add up"),
        ({"act": Usage(calls=1, outcomes={"answered": 2})}, "do not add up"),
        ({"write": use(1)}, "do not add up"),
        ({"act": Usage(calls=1, outcomes={"melted": 1})}, "'melted' is no known outcome"),
    ],
)
def test_usage_that_contradicts_the_episode_is_damage(
    tmp_path: Path, make_run: MakeRun, usage: dict[str, Usage], complaint: str
) -> None:
    path = make_run({"t": ["x"]}) / "episodes/t.jsonl"
    header, step, _ = path.read_text().splitlines()
    result = result_record(step_records(["x"])).model_copy(update={"usage": usage})
    path.write_text("\n".join([header, step, result.model_dump_json()]) + "\n")
    with pytest.raises(LoadError, match=complaint) as error:
        load_episode(path)
    assert str(path) in str(error.value)
