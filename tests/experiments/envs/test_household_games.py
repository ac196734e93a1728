"""Generated games on disk: same seed same bytes, solvable, loadable by ALFWorld itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.envs.base import TaskSetError
from experiments.envs.engine import FastEngine, play
from experiments.envs.household import ensure, generate
from experiments.envs.household.generate import hash_games, is_complete, request
from experiments.envs.household.measure import figures, read_set, table

TASKS = 6  # one of each type


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure(tmp_path_factory.mktemp("household") / "set", seed=42, tasks=TASKS, jobs=1)


def _paths(root: Path) -> list[Path]:
    return sorted(root.glob("json_2.1.1/valid_unseen/*/*/game.tw-pddl"))


def _run(out: Path, *options: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments.envs.household", "--out", str(out), *options],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_same_seed_same_bytes_in_any_process(games: Path, tmp_path: Path) -> None:
    """The fixture's set, again in two worker processes and under another hash seed."""
    done = _run(tmp_path / "again", "--seed", "42", "--tasks", str(TASKS), "--jobs", "2", hash_seed="12345")
    assert done.returncode == 0, done.stderr
    first = {path.relative_to(games): path.read_bytes() for path in games.rglob("*") if path.is_file()}
    again = {
        path.relative_to(tmp_path / "again"): path.read_bytes()
        for path in (tmp_path / "again").rglob("*.*")
        if path.is_file()
    }
    assert len(first) == 2 * TASKS + 1
    assert again == first
    assert not [path for path in tmp_path.iterdir() if path.name != "again"], "no draft is left behind"


def test_another_seed_another_set(games: Path, tmp_path: Path) -> None:
    other = ensure(tmp_path / "other", seed=43, tasks=1, jobs=1)
    assert hash_games(other) != hash_games(ensure(tmp_path / "same", seed=42, tasks=1, jobs=1))


def test_every_game_is_won_by_its_walkthrough_and_not_without(games: Path) -> None:
    engine = FastEngine()
    for path in _paths(games):
        commands = json.loads(path.read_text())["walkthrough"]
        engine.load(path)
        assert not play(engine, [])
        assert not play(engine, commands[:-1]), "the last command is needed"
        assert play(engine, commands)


def test_the_first_observation_lists_every_place_and_the_goal(games: Path) -> None:
    engine = FastEngine()
    path = _paths(games)[0]
    engine.load(path)
    text = engine.reset().feedback
    assert "You are in the middle of a room" in text
    assert text.count(" a ") - text.count("of a room") >= read_set(path.parent)[0].places
    assert "UNKNOWN" not in text


def test_alfworlds_own_environment_loads_and_plays_the_set(games: Path) -> None:
    from alfworld.agents.environment.alfred_tw_env import AlfredTWEnv

    split = str(games / "json_2.1.1" / "valid_unseen")
    config = {
        "dataset": {"data_path": split, "eval_id_data_path": split, "eval_ood_data_path": split, "num_eval_games": -1},
        "env": {
            "task_types": [1, 2, 3, 4, 5, 6],
            "goal_desc_human_anns_prob": 0,
            "domain_randomization": False,
            "expert_type": "handcoded",
        },
        "general": {"training_method": "dqn"},
        "rl": {"training": {"max_nb_steps_per_episode": 50}},
    }
    stock = AlfredTWEnv(config, train_eval="eval_out_of_distribution")
    assert sorted(stock.game_files) == [str(path) for path in _paths(games)]
    env = stock.init_env(batch_size=1)
    try:
        _, infos = env.reset()
        won = False
        for command in json.loads(Path(infos["extra.gamefile"][0]).read_text())["walkthrough"]:
            assert not won
            assert command in infos["admissible_commands"][0]
            _, _, _, infos = env.step([command])
            won = infos["won"][0]
        assert won
    finally:
        env.close()


def test_a_finished_set_is_left_alone(games: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in games.rglob("*")}
    assert ensure(games, seed=42, tasks=TASKS) == games
    done = _run(games, "--seed", "42", "--tasks", str(TASKS))
    assert done.returncode == 0
    assert "complete already" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in games.rglob("*")} == before


def test_a_folder_with_another_set_is_refused(games: Path) -> None:
    with pytest.raises(TaskSetError, match=r"seed 42.*asked for.*seed 1.*generate it again"):
        ensure(games, seed=1, tasks=TASKS)
    done = _run(games, "--seed", "1", "--tasks", str(TASKS))
    assert done.returncode == 1
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_foreign_folder_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(TaskSetError, match="not the record of a household set"):
        ensure(tmp_path, tasks=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_changed_game_is_noticed(tmp_path: Path) -> None:
    root = ensure(tmp_path / "set", tasks=1, jobs=1)
    wanted = request(tasks=1)
    assert is_complete(root, wanted)
    game = _paths(root)[0]
    game.write_text(game.read_text().replace('"solvable": true', '"solvable": false'))
    with pytest.raises(TaskSetError, match="hash"):
        is_complete(root, wanted)


def test_an_interrupted_generation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games that are never won stand for whatever stops a run half-way."""
    monkeypatch.setattr(generate, "_wins", lambda path, commands: False)
    with pytest.raises(TaskSetError, match="no attempt out of"):
        ensure(tmp_path / "set", tasks=1, jobs=1)
    assert list(tmp_path.iterdir()) == []


def test_the_figures_of_a_set(games: Path) -> None:
    found = read_set(games)
    rows = figures(found)
    assert rows["games"] == str(TASKS)
    assert rows["games with a copy already at the destination"] == "0.0 %"
    assert all(3 <= game.walkthrough <= 10 for game in found)
    assert all(0 < game.closed_places < game.places for game in found)
    assert table({"a": found, "b": found[:1]}).splitlines()[0] == "|  | a | b |"


def test_measuring_an_empty_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no game\.tw-pddl"):
        read_set(tmp_path)
