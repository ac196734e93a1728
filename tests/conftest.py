"""Skips the tests that need the real games where there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Read before any test module imports alfworld, which sets ALFWORLD_DATA to a folder that need not exist.
GAMES = os.environ.get("ALFWORLD_DATA")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if GAMES and (Path(GAMES) / "json_2.1.1" / "valid_unseen").is_dir():
        return
    skip = pytest.mark.skip(
        reason="needs the real ALFWorld games: ALFWORLD_DATA names no folder with json_2.1.1/valid_unseen"
    )
    for item in items:
        if item.get_closest_marker("alfworld"):
            item.add_marker(skip)
