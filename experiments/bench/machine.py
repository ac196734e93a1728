"""What was measured with: the head of the file of figures."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments.bench import games
from experiments.bench.scale import Scale
from experiments.provenance import manifest

_PACKAGES = ("textworld", "alfworld", "tiktoken")
_CPUINFO = Path("/proc/cpuinfo")


def header(scale: Scale) -> Mapping[str, Any]:
    """Date, processor, versions, and sample sizes; nothing that names the machine or a place on it.

    Raises:
        memarbiter.vocabulary.VocabularyMissing: If the token counter cannot count.
    """
    facts = manifest(games.composed(), ())
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _cpu(),
        "system": platform.system(),
        "python": platform.python_version(),
        "commit": facts.code["commit"],
        "dirty": facts.code["dirty"],
        "versions": {name: facts.versions[name] for name in _PACKAGES},
        "load_before": round(os.getloadavg()[0], 2),
        "scale": asdict(scale),
    }


def _cpu() -> str:
    """The processor's model name; empty where the system does not tell."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
