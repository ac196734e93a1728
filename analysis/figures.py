"""Figure 3 of the paper: success rate under different step limits.

Drawn with Figure objects alone: no pyplot, hence no window, no display and no list of open figures. The
bytes depend on the data and on the version of matplotlib only.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.style
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis import paper
from analysis.cells import Record, minus, rounded, setting_title, to_frame, where
from analysis.comparison import by_setting
from analysis.load import Run, Setting
from analysis.metrics import success_at
from analysis.names import ABLATIONS, method_name, method_of, method_rank

TICK = 5
PANEL = (5.0, 3.9)
DPI = 150
DEFAULTS = matplotlib.style.context("default")
"""Decorator: the settings of matplotlib itself, whatever a matplotlibrc of the user says."""

# Okabe and Ito's palette: told apart with every common form of colour blindness; the markers differ too.
STYLES: Mapping[str, Mapping[str, Any]] = {
    "memarbiter": {"color": "#D55E00", "marker": "o", "linewidth": 2.0},
    "flat_retrieval": {"color": "#0072B2", "marker": "s", "linewidth": 1.5},
    "flat_recency": {"color": "#009E73", "marker": "^", "linewidth": 1.5},
    "full_history": {"color": "#555555", "linestyle": "--", "linewidth": 1.0},
    "no_memory": {"color": "#999999", "linestyle": ":", "linewidth": 1.2},
}
OTHER_STYLES: Sequence[Mapping[str, Any]] = (
    {"color": "#CC79A7", "marker": "v", "linewidth": 1.5},
    {"color": "#E69F00", "marker": "P", "linewidth": 1.5},
    {"color": "#56B4E9", "marker": "X", "linewidth": 1.5},
    {"color": "#000000", "marker": "*", "linewidth": 1.5},
)
PUBLISHED: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "mfc": "none",
    "mew": 1.4,
    "markersize": 8,
    "clip_on": False,
    "zorder": 4,
}


@dataclass(frozen=True, kw_only=True)
class CurveRow(Record):
    """A point of a curve. The paper's value stands where its tables print one for this method, budget and k."""

    method_name: str
    k: int
    won: int
    n: int
    percent: float | None
    paper_percent: float | None
    difference: float | None
    paper_model: str | None


def curves(runs: Sequence[Run]) -> pd.DataFrame:
    """SR@k for every k up to the step limit and every run, in percent; None where a run is incomplete."""
    return to_frame(CurveRow, (row for run in runs for row in _curve(run)))


def _curve(run: Run) -> list[CurveRow]:
    condition = run.condition
    points = paper.curve_points(condition.model, condition.budget)
    published = {point.k: point for point in points if point.method == condition.method}
    rows = []
    for k in range(1, run.manifest.step_limit + 1):
        rate, point = success_at(k, run.manifest.tasks, run.episodes), published.get(k)
        rows.append(
            CurveRow(
                **where(run.setting, run.method, condition.budget, run),
                method_name=method_name(run.method),
                k=k,
                won=rate.won,
                n=rate.planned,
                percent=rounded(rate.percent),
                paper_percent=point.percent if point else None,
                difference=rounded(minus(rate.percent, point.percent), 2) if point else None,
                paper_model=point.model if point else None,
            )
        )
    return rows


@DEFAULTS
def figure3(runs: Sequence[Run]) -> Figure:
    """One row of panels per setting, one panel per budget, one curve per complete method.

    Methods without a budget are drawn in every panel of their setting. The ablations are left to Table 4 and
    to the figure's CSV file. Hollow diamonds are the published points.
    """
    groups = by_setting(runs)
    found = sorted({run.condition.budget for run in runs if run.condition.budget is not None})
    budgets: list[int | None] = [*found] or [None]
    size = (PANEL[0] * len(budgets), PANEL[1] * len(groups) + 0.6)
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(groups), len(budgets), squeeze=False, sharex="row", sharey=True)
    entries: dict[str, Any] = {}
    for row, (setting, group) in zip(panels, groups.items(), strict=True):
        styles = _styles(group)
        for axes, budget in zip(row, budgets, strict=True):
            entries |= _panel(axes, setting, budget, group, styles)
        row[0].set_ylabel("Tasks won within k steps (%)")
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=2 * len(budgets), frameon=False)
    return figure


def _styles(runs: Sequence[Run]) -> dict[str, Mapping[str, Any]]:
    """Styles by method; if one was run with several writings, its style goes to the first of them."""
    drawn = sorted({run.method for run in runs if run.condition.method not in ABLATIONS}, key=method_rank)
    first = {method_of(key): key for key in reversed(drawn)}
    own = [key for key in drawn if method_of(key) not in STYLES or first[method_of(key)] != key]
    others = {key: OTHER_STYLES[i % len(OTHER_STYLES)] for i, key in enumerate(own)}
    return {key: STYLES[method_of(key)] for key in drawn if key not in others} | others


def _panel(
    axes: Axes, setting: Setting, budget: int | None, runs: Sequence[Run], styles: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    limit = runs[0].manifest.step_limit
    ticks = sorted({*range(TICK, limit + 1, TICK), limit})
    entries: dict[str, Any] = {}
    shown = [run for run in runs if run.condition.budget in (budget, None) and run.method in styles]
    for run in (run for run in shown if run.coverage.complete):
        won = [success_at(k, run.manifest.tasks, run.episodes).won for k in ticks]
        rates = [100 * count / run.coverage.planned for count in won]
        style = {"markersize": 4.5, **styles[run.method]}
        (entries[_plain(method_name(run.method))],) = axes.plot(ticks, rates, **style)
    for point in paper.curve_points(setting.model, budget):
        if point.method in STYLES and point.k <= limit:
            axes.plot(point.k, point.percent, mec=STYLES[point.method]["color"], **PUBLISHED)
            entries[f"published ({point.model})"] = Line2D([], [], mec="#555555", **PUBLISHED)
    absent = [method_name(run.method) for run in shown if not run.coverage.complete]
    title = setting_title(setting) + ("" if budget is None else f"\n{budget}-token budget")
    if absent:
        title += f"\nnot drawn, incomplete: {', '.join(absent)}"
    axes.set_title(_plain(title), fontsize="medium")
    axes.set(xlabel="Step limit k", xticks=ticks, xlim=(0, limit + 1), ylim=(-2, 102))
    axes.grid(alpha=0.3, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return entries


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # matplotlib takes what stands between two dollar signs for a formula


@DEFAULTS
def png_bytes(figure: Figure) -> bytes:
    """The figure as PNG, without the program's name in it."""
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


@DEFAULTS
def pdf_bytes(figure: Figure) -> bytes:
    """The figure as PDF, without a creation date."""
    buffer = io.BytesIO()
    FigureCanvasPdf(figure).print_pdf(buffer, metadata={"CreationDate": None})
    return buffer.getvalue()
