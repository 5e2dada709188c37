"""The report as Markdown: report.md, with the figures beside it, for a page of documentation."""

from __future__ import annotations

from collections.abc import Sequence

from xorec.lab.reproduce.report.rendering import Renderer, Report
from xorec.lab.reproduce.report.table_cells import Cell, cells_of
from xorec.lab.reproduce.sections import Column, Section, Table
from xorec.plots.series import Figure


class MarkdownRenderer(Renderer):
    """All claims first, then the sections without theirs."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self._lines) + "\n"

    def begin(self, report: Report, anchors: Sequence[str]) -> None:
        claims = [claim for section in report.sections for claim in section.claims]
        rows = [f"| {_safe(c.text)} | **{c.verdict}** | {_safe(c.evidence)} |" for c in claims]
        heads = ["| the paper says | here | figures |", "|---|---|---|"]
        self._lines += [f"# {report.title}", "", *heads, *rows]

    def begin_section(self, section: Section, anchor: str) -> None:
        self._lines += ["", f"## {section.title}", "", f"*{section.question}*"]
        for paragraph in section.paragraphs:
            self._lines += ["", paragraph]

    def figure(self, figure: Figure, stem: str) -> None:
        self._lines += ["", f"![{figure.title}](figures/{stem}.svg)"]
        if figure.note and not figure.timed:
            self._lines += ["", figure.note]

    def table(self, table: Table, stem: str) -> None:
        """Numbers to the right; the paper's figures in italics, the best of a column in bold."""
        kinds = ["---" if column.kind == "text" else "---:" for column in table.columns]
        rows = [
            [_in_cell(column, cell) for column, cell in zip(table.columns, row, strict=True)]
            for row in cells_of(table)
        ]
        heads = [_safe(column.head) for column in table.columns]
        self._lines += ["", f"**{table.title}**", "", _row(heads), "|" + "|".join(kinds) + "|"]
        self._lines += map(_row, rows)
        if table.note:
            self._lines += ["", table.note]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _in_cell(column: Column, cell: Cell) -> str:
    text = _safe(str(cell))
    if not text:
        return ""
    if column.kind == "paper":
        return f"*{text}*"
    return f"**{text}**" if cell.best else text


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
