"""Writing result files: complete or absent, never half."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` in one go; the folder is made if need be.

    Raises:
        OSError: If the file cannot be written; an older file at ``path`` is then unharmed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 with line feeds; see :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write ``frame`` without its index; unknown values are empty cells.

    Text that a spreadsheet would take for a formula gets a leading apostrophe. Numbers are left alone.
    """
    write_text(path, frame.map(neutral).to_csv(index=False, lineterminator="\n"))


def neutral(value: object) -> object:
    """``value`` itself, or, if it is text that a spreadsheet would run, the same text behind an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
