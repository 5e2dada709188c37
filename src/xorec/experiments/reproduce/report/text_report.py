"""The report in a terminal: tables of at most 80 columns, and the verdicts as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from xorec.experiments.reproduce.report.cells import cells_of
from xorec.experiments.reproduce.sections import Claim, Section, Table

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


def print_report(
    sections: Sequence[Section], print_table: PrintTable, print_line: Callable[[str], None]
) -> None:
    """Print the tables and the claims of all sections."""
    for section in sections:
        print_line("")
        for line in textwrap.wrap(section.title, WIDTH):
            print_line(line)
        print_line("=" * min(WIDTH, len(section.title)))
        for table in section.tables:
            print_line("")
            _table(table, print_table, print_line)
        if section.claims:
            print_line("")
        for claim in section.claims:
            _claim(claim, print_line)


def _claim(claim: Claim, print_line: Callable[[str], None]) -> None:
    for line in textwrap.wrap(
        f"[{claim.verdict}] {claim.text}", WIDTH, initial_indent="- ", subsequent_indent="  "
    ):
        print_line(line)
    for line in textwrap.wrap(
        claim.evidence, WIDTH, initial_indent="    ", subsequent_indent="    "
    ):
        print_line(line)


def _table(table: Table, print_table: PrintTable, print_line: Callable[[str], None]) -> None:
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
        if number:
            print_line("")
        shown = [[row[place] for place in places] for row in rows]
        print_table([heads[place] for place in places], shown, title, right)
    if any(starred):
        print_line("* the best of its column")
    for line in textwrap.wrap(table.note, WIDTH):
        print_line(line)


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
