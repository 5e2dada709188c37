"""The report as Markdown: report.md, with the figures beside it, for a page of documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xorec.experiments.reproduce.report.cells import Cell, cells_of
from xorec.experiments.reproduce.sections import Claim, Column, Section, Table


def markdown(title: str, sections: Sequence[Section]) -> str:
    """Claims first, then every section: its claims are at the top already."""
    lines = [f"# {title}", "", *_claims([c for one in sections for c in one.claims])]
    for section in sections:
        lines += ["", f"## {section.title}", "", f"*{section.question}*"]
        lines += [line for paragraph in section.paragraphs for line in ("", paragraph)]
        for figure in section.figures:
            lines += ["", f"![{figure.title}](figures/{figure.name}.svg)"]
            lines += ["", figure.note] if figure.note and not figure.timed else []
        for table in section.tables:
            lines += ["", *_table(table)]
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Claim]) -> list[str]:
    rows = [f"| {_safe(c.text)} | **{c.verdict}** | {_safe(c.evidence)} |" for c in claims]
    return ["| the paper says | here | figures |", "|---|---|---|", *rows]


def _table(table: Table) -> Iterator[str]:
    """Numbers to the right; the paper's figures in italics, the best of a column in bold."""
    yield from (f"**{table.title}**", "")
    yield "| " + " | ".join(_safe(column.head) for column in table.columns) + " |"
    yield "|" + "|".join("---" if c.kind == "text" else "---:" for c in table.columns) + "|"
    for row in cells_of(table):
        cells = [_shown(c, cell) for c, cell in zip(table.columns, row, strict=True)]
        yield "| " + " | ".join(cells) + " |"
    if table.note:
        yield from ("", table.note)


def _shown(column: Column, cell: Cell) -> str:
    text = _safe(str(cell))
    if not text:
        return ""
    if column.kind == "paper":
        return f"*{text}*"
    return f"**{text}**" if cell.best else text


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
