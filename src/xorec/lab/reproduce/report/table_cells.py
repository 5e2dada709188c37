"""The values of a table: as a person reads them, for all renderings, and exact, for a CSV file."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xorec.lab.reproduce.sections import Column, Table
from xorec.plots.safe_text import no_formula

NOTHING = "\N{EN DASH}"
"""What stands where a value is missing."""
SMALLEST_P = 0.001


@dataclass(frozen=True)
class Cell:
    """A value as text, what follows its plus-minus sign or nothing, and if it is the best."""

    text: str
    spread: str = ""
    best: bool = False

    def __str__(self) -> str:
        return f"{self.text} ± {self.spread}" if self.spread else self.text


def cells_of(table: Table) -> list[list[Cell]]:
    """The rows of the table, a cell for each of its columns."""
    best = {column.key: _largest(table.rows, column.key) for column in table.columns if column.best}
    rows = table.rows[: table.shown]
    return [[_cell(row, column, best) for column in table.columns] for row in rows]


def plain(value: Any) -> Any:
    """A plain Python number for one of NumPy's."""
    return value.item() if hasattr(value, "item") and not isinstance(value, str | bytes) else value


def is_missing(value: Any) -> bool:
    """None or not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _cell(row: Mapping[str, Any], column: Column, best: Mapping[str, float | None]) -> Cell:
    value = plain(row.get(column.key))
    if is_missing(value):
        return Cell("" if column.kind == "paper" else NOTHING)
    spread = plain(row.get(column.spread)) if column.spread else None
    return Cell(
        _text(value, column),
        "" if is_missing(spread) else _text(spread, column),
        column.key in best and value == best[column.key],
    )


def _text(value: Any, column: Column) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or column.kind == "text":
        return str(value)
    if column.kind == "count":
        return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"
    if column.kind == "p" and value < SMALLEST_P:
        return f"< {SMALLEST_P}"
    return f"{value:,.{column.digits}f}"


def _largest(rows: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """The largest number of a column; no column of one row has a best."""
    values = [plain(row.get(key)) for row in rows]
    numbers = [
        value for value in values if isinstance(value, int | float) and not is_missing(value)
    ]
    return max(numbers) if len(numbers) > 1 else None


def csv_text(table: Table) -> str:
    """The rows of a table with every key that any of them has, and every digit."""
    keys = list(dict.fromkeys(key for row in table.rows for key in row))
    keys = keys or [column.key for column in table.columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([no_formula(key) for key in keys])
    writer.writerows([_exact(row.get(key)) for key in keys] for row in table.rows)
    return text.getvalue()


def _exact(value: Any) -> Any:
    """A value of a CSV file: a float with all digits, nothing for None, JSON for what is nested.

    Text is never a formula: people open these files in spreadsheets.
    """
    value = plain(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=plain)
    if isinstance(value, str):
        return no_formula(value)
    return "" if value is None else value
