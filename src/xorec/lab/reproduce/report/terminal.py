"""The report in a terminal: tables of at most 80 columns, and the verdicts as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from xorec.lab.reproduce.report.rendering import Renderer
from xorec.lab.reproduce.report.table_cells import cells_of
from xorec.lab.reproduce.sections import Claim, Section, Table

WIDTH = 80
BETWEEN = 2
"""Spaces between two columns."""


class PrintTable(Protocol):
    """How a table is printed: as `xorec.cli.output.print_table` does."""

    def __call__(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        title: str | None = None,
        right: Collection[str] = (),
    ) -> None: ...


class TerminalRenderer(Renderer):
    """Titles, tables, and the claims of a section below them, where a reader ends up."""

    def __init__(self, print_table: PrintTable, print_line: Callable[[str], None]) -> None:
        self._print_table, self._print_line = print_table, print_line
        self._claims: Sequence[Claim] = ()

    def begin_section(self, section: Section, anchor: str) -> None:
        self._print_line("")
        self._wrapped(section.title)
        self._print_line("=" * min(WIDTH, len(section.title)))
        self._claims = section.claims

    def table(self, table: Table, stem: str) -> None:
        """The table, in as many parts as it needs, each with the names of the rows."""
        cells = cells_of(table)
        starred = [any(cell.best for cell in column) for column in zip(*cells, strict=True)]
        signs = {True: "*", False: " "}
        rows = [
            [
                f"{cell}{signs[cell.best]}" if star else str(cell)
                for cell, star in zip(row, starred, strict=True)
            ]
            for row in cells
        ]
        heads = [column.head for column in table.columns]
        right = {column.head for column in table.columns if column.kind != "text"}
        for number, places in enumerate(parts_of(table, heads, rows)):
            title = table.title if number == 0 else f"{table.title} (continued)"
            part = [[row[place] for place in places] for row in rows]
            self._print_line("")
            self._print_table([heads[place] for place in places], part, title, right)
        if any(starred):
            self._print_line("* the best of its column")
        self._wrapped(table.note)

    def end_section(self) -> None:
        if self._claims:
            self._print_line("")
        for claim in self._claims:
            self._wrapped(f"[{claim.verdict}] {claim.text}", "- ", "  ")
            self._wrapped(claim.evidence, "    ", "    ")

    def _wrapped(self, text: str, first: str = "", indent: str = "") -> None:
        wrapped = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=indent)
        for line in wrapped:
            self._print_line(line)


def parts_of(table: Table, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[int]]:
    """The columns of each part: those that name the rows, and as many others as have room."""
    texts = [column.kind == "text" for column in table.columns]
    labels = list(range(texts.index(False) if False in texts else len(texts)))
    widths = [
        BETWEEN + max(len(heads[place]), *(len(row[place]) for row in rows), 0)
        for place in range(len(heads))
    ]
    while len(labels) > 1 and sum(widths[place] for place in labels) > WIDTH // 2:
        labels.pop()
    parts, room = [list(labels)], WIDTH - sum(widths[place] for place in labels)
    left = room
    for place in range(len(labels), len(heads)):
        if widths[place] > left and len(parts[-1]) > len(labels):
            parts.append(list(labels))
            left = room
        parts[-1].append(place)
        left -= widths[place]
    return parts
