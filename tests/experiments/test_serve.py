"""How servers are started on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hydra
import pytest

from experiments.models.llm import servers
from experiments.models.llm.faults import ModelUnusable
from experiments.serve import served
from experiments.settings import CONFIGS


def command(*overrides: str) -> list[str]:
    with hydra.initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return served(hydra.compose("config", list(overrides)))


def test_vllm_gets_the_paper_s_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers.shutil, "which", lambda _: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(servers, "find_spec", lambda name: object())
    told = command("model=qwen3_6_27b", "model.base_url=http://0.0.0.0:9000/v1")
    assert told[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    arguments = dict(zip(told[3::2], told[4::2], strict=True))
    wanted = {
        "--model": "Qwen/Qwen3.6-27B-FP8",
        "--max-model-len": "4096",
        "--seed": "42",
        "--generation-config": "vllm",
    }
    assert arguments.items() >= {**wanted, "--host": "0.0.0.0", "--port": "9000"}.items()


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["model=reader"], "needs no server"),
        (["model=gpt_5_4"], "https://api.openai.com/v1"),
        (["model=local_cpu", "model.base_url=nowhere"], "no address"),
    ],
)
def test_what_cannot_be_served_is_told(overrides: list[str], said: str) -> None:
    with pytest.raises(ModelUnusable, match=said):
        command(*overrides)


def test_without_a_gpu_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers.shutil, "which", lambda _: None)
    with pytest.raises(ModelUnusable, match=r"model\.base_url.*local_cpu"):
        command("model=qwen3_6_27b")


def test_a_server_that_ends_at_once_is_told() -> None:
    class Ends:
        automatic = True

        def command(self, host: str, port: int) -> list[str]:
            return [sys.executable, "-c", "raise SystemExit(7)"]

    with pytest.raises(ModelUnusable, match="exit code 7"), servers.running(Ends(), "http://127.0.0.1:9/v1"):
        pass


def test_serve_says_what_is_wrong_without_a_traceback(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "experiments.serve", "model=gpt_5_4"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("error: gpt-5.4 is not served here")
