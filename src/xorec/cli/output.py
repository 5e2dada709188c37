"""Results on standard output: one JSON object, or a table that fits 80 columns."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from xorec.core.jsonable import jsonable
from xorec.core.printable import json_text, printable


def print_json(result: Any) -> None:
    """One JSON object and a newline. NaN and infinity become null, which JSON knows."""
    sys.stdout.write(json_text(jsonable(result)) + "\n")


def print_line(text: str = "") -> None:
    """A line of text, or several; control characters as escapes."""
    sys.stdout.write(printable(text, lines=True) + "\n")


def print_raw(rows: Iterable[Sequence[object]]) -> None:
    """Rows for another program: values as they are, tabs between them."""
    sys.stdout.flush()
    for row in rows:
        line = "\t".join("" if value is None else str(value) for value in row) + "\n"
        sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    right: Collection[str] = (),
) -> None:
    """A table: text to the left; numbers, and the columns named in `right`, to the right.

    Control characters are shown as escapes.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    heading = None if title is None else Text(printable(title))
    table = Table(title=heading, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    table.show_edge = False
    for place, column in enumerate(columns):
        numeric = cells and all(isinstance(row[place], int | float) for row in cells)
        justify: Literal["left", "right"] = "right" if numeric or column in right else "left"
        table.add_column(Text(printable(column)), justify=justify, overflow="fold")
    for row in cells:
        table.add_row(*(Text(printable(show(value))) for value in row))
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 80 if console.width < 80 else console.width
    console.print(table)


def show(value: object) -> str:
    """A value as a cell: counts with commas, measures with four decimals."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"


def show_bytes(count: int) -> str:
    """1234567 as `1.2 MB`."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
