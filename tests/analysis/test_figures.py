"""Figure 3: right curves, no display, equal bytes, nothing left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.figures import curves, figure3, pdf_bytes, png_bytes
from analysis.load import Run, load_runs

MakeRun = Callable[..., Path]


@pytest.fixture
def runs(make_run: MakeRun, runs_dir: Path) -> list[Run]:
    scripts = {"a": ["x"] * 6 + ["y*"], "b": ["x"] * 20 + ["y*"], "c": ["x"] * 50}
    for method in ("memarbiter", "flat_recency", "flat_retrieval", "my$method$"):
        make_run(scripts, method=method)
    make_run(scripts, method="no_memory", budget=None)
    make_run({"a": ["x*"]}, planned=list(scripts), method="memarbiter", budget=750)
    return load_runs(runs_dir)


def test_curves_have_every_k_and_the_published_points(runs: list[Run]) -> None:
    frame = curves(runs)
    full = frame[(frame.method == "memarbiter") & (frame.budget == 500)].set_index("k")
    assert list(full.index) == list(range(1, 51))
    assert full.won.loc[[6, 7, 20, 21, 50]].tolist() == [0, 1, 1, 2, 2]
    assert full.percent.loc[50] == 66.6667
    assert full.paper_percent.dropna().to_dict() == {15: 64.93, 50: 82.84}
    incomplete = frame[(frame.method == "memarbiter") & (frame.budget == 750)]
    assert incomplete.percent.isna().all()
    assert set(incomplete.state) == {"incomplete 1/3"}


def test_panels_and_curves(runs: list[Run]) -> None:
    figure = figure3(runs)
    low, high = figure.axes
    assert low.get_title() == "reader (not an LLM) on household, seed 42\n500-token budget"
    lines = [line for line in low.lines if len(line.get_xdata()) > 1]
    assert len(lines) == 5
    assert [list(line.get_xdata()) for line in lines] == [list(range(5, 51, 5))] * 5
    assert list(lines[0].get_ydata())[:2] == pytest.approx([0, 100 / 3])
    points = {tuple(map(float, line.get_xydata()[0])) for line in low.lines if len(line.get_xdata()) == 1}
    assert points == {(15, 64.93), (50, 82.84), (50, 61.94), (50, 50.75)}
    assert high.get_title().endswith("750-token budget\nnot drawn, incomplete: MemArbiter")
    colours = [line.get_color() for line in lines]
    assert len(set(colours)) == len(colours)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "published (Qwen3.6-27B-FP8)" in labels


def test_equal_runs_give_equal_bytes_without_a_date(runs: list[Run]) -> None:
    first, second = figure3(runs), figure3(runs)
    assert png_bytes(first) == png_bytes(second)
    pdf = pdf_bytes(first)
    assert pdf == pdf_bytes(second)
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert png_bytes(first).startswith(b"\x89PNG")
    assert b"Software" not in png_bytes(first)


def test_S6_a_hundred_figures_leave_nothing_behind(make_run: MakeRun, runs_dir: Path) -> None:
    make_run({"a": ["x"] * 6 + ["y*"]})
    runs = load_runs(runs_dir)

    def draw() -> weakref.ref:
        figure = figure3(runs)
        figure.set_dpi(20)
        assert png_bytes(figure)
        return weakref.ref(figure)

    for _ in range(10):
        draw()
    gc.collect()
    before = len(gc.get_objects())
    alive = [draw() for _ in range(100)]
    gc.collect()
    assert [figure for figure in alive if figure() is not None] == []
    assert len(gc.get_objects()) - before < 1000


@pytest.mark.parametrize("backend", [None, "TkAgg"])
def test_S6_drawing_needs_no_display(make_run: MakeRun, tmp_path: Path, runs_dir: Path, backend: str | None) -> None:
    make_run({"a": ["x*"]})
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {"MPLBACKEND": backend} if backend else {}
    command = [sys.executable, "-m", "analysis.report", str(runs_dir), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/figure3.png").stat().st_size > 1000
    assert (tmp_path / "out/figure3.pdf").stat().st_size > 1000


def test_pyplot_is_never_loaded() -> None:
    code = "import sys, analysis.report; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_analysis_loads_no_engine_and_no_hydra() -> None:
    code = "import sys, analysis.report; sys.exit(bool({'alfworld', 'textworld', 'hydra'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0
