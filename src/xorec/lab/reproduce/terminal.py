"""The report in a terminal: tables of at most 80 columns, and the verdicts as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Sequence

from xorec.lab.reproduce.report import Cell, cells_of, safe_text
from xorec.lab.reproduce.sections import Section, Table

WIDTH = 80
BETWEEN = 2
"""Spaces between two columns."""


PrintTable = Callable[[Sequence[str], Sequence[Sequence[object]], str, Collection[str]], None]
"""(columns, rows, title, columns of numbers), as `xorec.cli.output.print_table` takes them."""


def print_sections(
    sections: Sequence[Section], print_table: PrintTable, print_line: Callable[[str], None]
) -> None:
    """Titles, tables, and the claims of a section below them, where a reader ends up."""

    def wrapped(text: str, first: str = "", indent: str = "") -> None:
        for line in textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=indent):
            print_line(line)

    for section in safe_text(list(sections)):
        print_line("")
        wrapped(section.title)
        print_line("=" * min(WIDTH, len(section.title)))
        for table in section.tables:
            if _print_parts(table, print_table, print_line):
                print_line("* the best of its column")
            wrapped(table.note)
        if section.claims:
            print_line("")
        for claim in section.claims:
            wrapped(f"[{claim.verdict}] {claim.text}", "- ", "  ")
            wrapped(claim.evidence, "    ", "    ")


def _print_parts(table: Table, print_table: PrintTable, print_line: Callable[[str], None]) -> bool:
    """The table, in as many parts as it needs, each with the names of the rows. True: a star."""
    cells = cells_of(table)
    starred = [any(cell.best for cell in column) for column in zip(*cells, strict=True)]

    def text(cell: Cell, star: bool) -> str:
        return f"{cell}{'*' if cell.best else ' '}" if star else str(cell)

    rows = [list(map(text, row, starred)) for row in cells]
    heads = [column.head for column in table.columns]
    right = {column.head for column in table.columns if column.kind != "text"}
    title = table.title
    for part in parts_of(table, heads, rows):
        print_line("")
        shown = [[row[at] for at in part] for row in rows]
        print_table([heads[at] for at in part], shown, title, right)
        title = f"{table.title} (continued)"
    return any(starred)


def parts_of(table: Table, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[int]]:
    """The columns of each part: those that name the rows, and as many others as have room."""
    texts = [column.kind == "text" for column in table.columns]
    labels = list(range(texts.index(False) if False in texts else len(texts)))
    widths = [BETWEEN + max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    while len(labels) > 1 and sum(widths[at] for at in labels) > WIDTH // 2:
        labels.pop()
    parts, room = [list(labels)], WIDTH - sum(widths[at] for at in labels)
    left = room
    for at in range(len(labels), len(heads)):
        if widths[at] > left and len(parts[-1]) > len(labels):
            parts.append(list(labels))
            left = room
        parts[-1].append(at)
        left -= widths[at]
    return parts
