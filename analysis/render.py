"""Tables as Markdown and as LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from analysis.cells import Cell, Grid, Row, Table

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",
    "*": "{*}",
    "`": r"\textasciigrave{}",
    "−": "$-$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
}
_MARKDOWN = re.compile(r"([\\`*\[\]|<]|(?<!\w)_|_(?!\w))")


def tex_escape(text: str) -> str:
    r"""Text as LaTeX prints it; line breaks become blanks.

    Brackets and stars are braced, because after a row's ``\\`` LaTeX would read them as its arguments.
    """
    return "".join(_TEX.get(character, character) for character in " ".join(text.split()))


def markdown_escape(text: str) -> str:
    """Text as Markdown shows it, also within a table; line breaks become blanks."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def markdown(table: Table, level: int = 1) -> str:
    """The table with its caption as a heading of the given level, its blocks one level below."""
    parts = [f"{'#' * level} {markdown_escape(table.caption)}"]
    for grid in table.grids:
        parts += [f"{'#' * (level + 1)} {markdown_escape(grid.title)}", markdown_grid(grid)]
    return "\n\n".join(parts) + "\n"


def markdown_grid(grid: Grid) -> str:
    """The rows of a block and its notes, without its title."""
    rules = ["---:" if side == "r" else "---" for side in grid.align]
    rows = [[_markdown_cell(cell) for cell in row] for group in grid.groups for row in group]
    header = [markdown_escape(name) for name in grid.header]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, rules, *rows)]
    return "\n\n".join(["\n".join(lines), *(markdown_escape(note) for note in grid.notes)])


def _markdown_cell(cell: Cell) -> str:
    text = markdown_escape(cell.text)
    if not text:
        return text
    marks = "**" * cell.bold + "*" * cell.italic
    return f"{marks}{text}{marks}"


def tex(table: Table) -> str:
    r"""One ``table`` environment per block; needs ``\usepackage{booktabs}``."""
    return "% Needs \\usepackage{booktabs}.\n" + "\n".join(
        _tex_grid(table, grid, number) for number, grid in enumerate(table.grids, start=1)
    )


def _tex_grid(table: Table, grid: Grid, number: int) -> str:
    groups = "\n\\midrule\n".join(_tex_rows(group) for group in grid.groups)
    lines = [
        r"\begin{table}[t]",
        r"\centering\small",
        rf"\caption{{{tex_escape(table.caption)} {tex_escape(grid.title)}.}}",
        rf"\label{{tab:{table.name}-{number}}}",
        rf"\begin{{tabular}}{{{grid.align}}}",
        r"\toprule",
        " & ".join(tex_escape(name) for name in grid.header) + r" \\",
        r"\midrule",
        groups,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip{{\footnotesize {tex_escape(note)}}}" for note in grid.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tex_rows(rows: Iterable[Row]) -> str:
    return "\n".join(" & ".join(_tex_cell(cell) for cell in row) + r" \\" for row in rows)


def _tex_cell(cell: Cell) -> str:
    text = tex_escape(cell.text)
    if cell.italic:
        text = rf"\textit{{{text}}}"
    return rf"\textbf{{{text}}}" if cell.bold else text
