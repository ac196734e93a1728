"""Every file under configs/ composes; what a user can get wrong is told in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hydra
import pytest
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from experiments.provenance import without_secrets
from experiments.reproduce import conditions
from experiments.settings import CONFIGS, Settings, SettingsError
from memarbiter.gate import GateThresholds
from memarbiter.signals import SignalWeights

FILES = sorted(path.relative_to(CONFIGS) for path in CONFIGS.rglob("*.yaml"))
METHODS = [path.stem for path in FILES if path.parent == Path("method")]


def composed(name: str, *overrides: str) -> DictConfig:
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return hydra.compose(name, list(overrides))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The folder of a run, as far as a replay looks at it while it is set up."""
    (tmp_path / "manifest.json").write_text('{"condition": {"model": "reader"}}')
    return tmp_path


def needed(model: str, recorded: Path) -> list[str]:
    """What a model cannot be without."""
    return [f"model.source={recorded}"] if model == "replay" else []


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_file_composes(path: Path, recorded: Path) -> None:
    if path.parent == Path("."):
        assert composed(path.stem)
        return
    group, name = path.parent.as_posix(), path.stem
    if group in ("method", "env"):
        settings = Settings.of(composed("config", f"{group}={name}"))
        assert getattr(settings, group).name == name
    elif group == "model":
        assert Settings.of(composed("config", f"model={name}", *needed(name, recorded))).model_label in (name, "reader")
    elif group in ("formation", "parser", "writer"):
        assert Settings.of(composed("config", f"{group}={name}", "+llm@memory_model=local_cpu")).method.writing
    elif group == "llm":
        source = [f"memory_model.source={recorded}"] if name == "replay" else []
        config = composed("config", f"+llm@memory_model={name}", "writer=llm", *source)
        assert Settings.of(config).method.memory["formation"]["writer"]["model"]
    else:
        part = composed(f"{group}/{name}")
        for key in group.split("/"):
            part = part[key]
        assert OmegaConf.to_container(part, resolve=True)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_memory(name: str) -> None:
    memory = instantiate(Settings.of(composed("config", f"method={name}")).method.memory)
    assert {"begin", "record", "present"} <= set(dir(memory))


def test_every_model_can_be_made(recorded: Path) -> None:
    for path in FILES:
        if path.parent == Path("model"):
            settings = Settings.of(composed("config", f"model={path.stem}", *needed(path.stem, recorded)))
            assert hasattr(instantiate(settings.model), "reply")


def test_the_values_in_configs_are_those_of_the_code() -> None:
    assert instantiate(composed("memory/signals/weights").memory.signals) == SignalWeights()
    assert instantiate(composed("memory/gate/thresholds").memory.gate) == GateThresholds()


def test_the_paper_s_bm25_parameters_are_in_the_stored_settings() -> None:
    ranker = Settings.of(composed("config", "method=flat_retrieval")).method.memory["ranker"]
    assert (ranker["k1"], ranker["b"]) == (1.2, 0.75)


def test_reproduce_plays_the_tables_conditions_with_each_model(tmp_path: Path) -> None:
    runs = list(conditions(composed("reproduce", f"out={tmp_path}", "env.tasks=12", "jobs=2")))
    assert len(runs) == 22
    assert len({run.out for run in runs}) == 22
    assert {run.env.tasks for run in runs} == {12}
    assert {run.jobs for run in runs} == {2}
    found = [(run.condition.method, run.condition.budget) for run in runs if run.condition.model == "reader"]
    main = [(method, budget) for method in ("memarbiter", "flat_recency", "flat_retrieval") for budget in (500, 750)]
    ablations = [(method, 500) for method in ("wo_banks", "wo_signals", "wo_gate")]
    assert found == [*main, *ablations, ("no_memory", None), ("full_history", None)]


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("budget=-1", "budget=-1"),
        ("budget=many", "budget=many"),
        ("env.tasks=0", "env.tasks=0"),
        ("jobs=0", "jobs=0"),
        ("agent.step_limit=0", "agent.step_limit=0"),
    ],
)
def test_a_wrong_value_is_named(override: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        Settings.of(composed("config", override))


def command(*overrides: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments.run", *overrides], capture_output=True, text=True, timeout=60, check=False
    )


def test_a_misspelt_method_is_told_the_known_ones() -> None:
    result = command("method=memarbitre")
    assert result.returncode != 0
    assert "flat_recency" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("override", ["budget=-1", "env.task_set.root=/absent"])
def test_what_a_user_can_mend_is_said_without_a_traceback(override: str, tmp_path: Path) -> None:
    result = command("env=alfworld", override, f"out={tmp_path / 'run'}")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_value_that_a_part_refuses_costs_no_episode(tmp_path: Path) -> None:
    result = command("model=reader_slips", "model.rate=7", "env=alfworld", f"out={tmp_path / 'run'}")
    assert result.returncode == 2
    assert "setting 'model'" in result.stderr
    assert "not 7" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_C3_a_sweep_plays_every_job_and_lists_the_failed_ones(tmp_path: Path) -> None:
    toys = [
        "env.task_set._target_=toys.CorridorTasks",
        *(f"~env.task_set.{key}" for key in ("root", "seed", "split", "engine")),
        "model._target_=toys.Walker",
    ]
    sweep = ["-m", "method=no_memory", "budget=-1,5,-2", "jobs=1", f"hydra.sweep.dir={tmp_path}"]
    result = command(*sweep, *toys, f"out={tmp_path}/${{budget}}")
    assert result.returncode == 2, result.stderr
    assert "2 of 3 jobs failed" in result.stderr
    assert "#0 budget=-1" in result.stderr.replace("method=no_memory ", "")
    assert "budget=-2: Input should be greater" in result.stderr
    assert len(list((tmp_path / "5" / "episodes").iterdir())) == 4
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["5"]


def test_no_key_is_stored() -> None:
    config = {"model": {"api_key": "sk-1", "max_tokens": 5, "list": [{"password": "p"}]}, "seed": 1}
    assert without_secrets(config) == {
        "model": {"api_key": "(secret)", "max_tokens": 5, "list": [{"password": "(secret)"}]},
        "seed": 1,
    }


def test_Table_3_the_memory_s_model_is_the_open_one_and_takes_nothing_from_the_action_model() -> None:
    alone = Settings.of(composed("config", "model=qwen3_6_27b"))
    mixed = Settings.of(composed("config", "model=gpt_5_4"))
    memories = [run.method.memory["formation"] for run in (alone, mixed)]
    assert memories[0] == memories[1]
    assert memories[1]["writer"]["model"] == memories[1]["parser"]["model"] == alone.model
    assert mixed.model["name"] == "gpt-5.4"


def test_where_the_model_is_can_be_named_for_action_and_memory_at_once() -> None:
    settings = Settings.of(
        composed("config", "model=qwen3_6_27b", "model.base_url=http://there:1/v1", "model.name=my/Own")
    )
    asked = [
        settings.model,
        *(part["model"] for part in settings.method.memory["formation"].values() if "model" in part),
    ]
    assert [(model["base_url"], model["name"]) for model in asked] == [("http://there:1/v1", "my/Own")] * 3
    assert settings.condition.model == "Own"


def test_a_writer_without_a_model_is_refused() -> None:
    with pytest.raises(SettingsError, match="language model"):
        Settings.of(composed("config", "writer=llm"))
