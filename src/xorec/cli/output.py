"""Results on standard output: one JSON object, or a table that fits 80 columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from xorec.core.jsonable import jsonable


def print_json(result: Any) -> None:
    """One JSON object and a newline. NaN and infinity become null, which JSON knows."""
    json.dump(jsonable(result), sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def print_line(text: str = "") -> None:
    """A line of text."""
    sys.stdout.write(text + "\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    right: Collection[str] = (),
) -> None:
    """A table: text to the left; numbers, and the columns named in `right`, to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    table.show_edge = False
    for place, column in enumerate(columns):
        numeric = cells and all(isinstance(row[place], int | float) for row in cells)
        justify: Literal["left", "right"] = "right" if numeric or column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for row in cells:
        table.add_row(*(Text(show(value)) for value in row))
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
