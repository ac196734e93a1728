"""An episode on a real vLLM that computes on the CPU, with the requests of the paper's model.

Opt-in, since it takes a second environment of 3 GB: `make test-vllm` makes it and sets ``VLLM_PYTHON``. The model is
tiny and random: this proves that server and client understand each other, and nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from experiments.models.llm.ledger import read_calls
from experiments.records import Manifest

PYTHON = os.environ.get("VLLM_PYTHON", "")
NAME = "tiny-random-qwen3"
START_S = 300

pytestmark = pytest.mark.skipif(not PYTHON, reason="opt-in: `make test-vllm` installs vLLM and sets VLLM_PYTHON")


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A vLLM server that is ready to answer."""
    folder = tmp_path_factory.mktemp("tiny")
    subprocess.run([PYTHON, Path(__file__).with_name("tiny_model.py"), folder], check=True, timeout=300)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "model": folder,
        "served-model-name": NAME,
        # A token for each byte: the window holds what 4,096 tokens of a real vocabulary would.
        "max-model-len": 16384,
        "seed": 42,
        "host": "127.0.0.1",
        "port": port,
        "structured-outputs-config": '{"backend": "xgrammar", "disable_any_whitespace": true}',
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager", *arguments]
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    log = (folder / "server.log").open("wb")
    server = subprocess.Popen(command, env=os.environ | quiet, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait(server, f"http://127.0.0.1:{port}/health", folder / "server.log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)
        log.close()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < end:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(1)
    pytest.fail(f"vLLM did not start; the end of its log:\n{log.read_text()[-3000:]}")


def test_an_episode_with_the_paper_s_settings(base_url: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    overrides = [
        "model=qwen3_6_27b",
        f"model.name={NAME}",
        f"model.base_url={base_url}",
        "model.window=16384",
        # The random model keeps to no form of its own accord.
        "model.structured_actions=true",
        "model.answer_tokens.act=1000",
        "env.tasks=1",
        "agent.step_limit=3",
        f"out={run}",
    ]
    command = [sys.executable, "-m", "experiments.run", *overrides]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert result.returncode == 0, result.stderr
    servers = Manifest.model_validate_json((run / "manifest.json").read_bytes()).servers
    assert servers
    assert servers["act"]["version"]
    assert servers["act"]["window"] == 16384
    assert servers["act"]["structured_outputs"] == "applied"
    (path,) = (run / "calls").glob("*.jsonl")
    calls = list(read_calls(path))
    assert {call.purpose for call in calls} == {"act", "parse", "write"}
    assert all(call.prompt_tokens for call in calls)
    lines = [json.loads(line) for line in next((run / "episodes").glob("*.jsonl")).read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["header", "step", "step", "step", "result"]
