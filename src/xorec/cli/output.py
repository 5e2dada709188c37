"""Results on standard output: one JSON object, or a table that fits 80 columns.

A list of recommendations, as a table or as JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from xorec.core.printable import json_text, jsonable, printable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from xorec.cli.arguments import EngineChoice, Run
    from xorec.recommender.batch import BatchJob
    from xorec.recommender.results import Recommendations, Recommended


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
    optional: Sequence[str] = (),
) -> None:
    """A table: text to the left; numbers, and the columns named in `right`, to the right.

    Control characters are shown as escapes.
    optional: columns that go, one after the other, until the others fit. Only the first column is
    folded then.
    """
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 80 if console.width < 80 else console.width
    cells, left_out = [list(row) for row in rows], list(optional)
    shown, roomy = list(range(len(columns))), console.options.update(max_width=10_000)
    while True:
        table = _table(columns, cells, shown, title, right, fixed=bool(optional))
        if not left_out or console.measure(table, options=roomy).minimum <= console.width:
            console.print(table)
            return
        shown.remove(columns.index(left_out.pop(0)))


def _table(
    columns: Sequence[str],
    cells: Sequence[Sequence[object]],
    shown: Sequence[int],
    title: str | None,
    right: Collection[str],
    fixed: bool,
) -> Table:
    """The columns at the places `shown`; fixed: only the first of them may be folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = None if title is None else Text(printable(title))
    table = Table(title=heading, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    table.show_edge = False
    for place in shown:
        numeric = cells and all(isinstance(row[place], int | float) for row in cells)
        justify: Literal["left", "right"] = (
            "right" if numeric or columns[place] in right else "left"
        )
        whole = max(
            len(printable(text)) for text in (columns[place], *(show(row[place]) for row in cells))
        )
        width = whole if fixed and place > 0 else None
        heading = Text(printable(columns[place]))
        table.add_column(heading, justify=justify, overflow="fold", min_width=width)
    for row in cells:
        table.add_row(*(Text(printable(show(row[place]))) for place in shown))
    return table


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
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def print_list(best: Recommendations, json: bool, raw: bool) -> None:
    """Print the list: a table, one JSON object, or raw rows."""
    if json:
        print_json(best.to_dict())
    elif raw:
        print_raw_items(best.items)
    else:
        print_items(best.items, "score", best.item_kind)


def print_raw_items(items: Sequence[Recommended]) -> None:
    """Rank, id, name and score of each item as they are, with tabs: for pipes."""
    print_raw((rank, one.id, one.name, one.score) for rank, one in enumerate(items, start=1))


def print_items(items: Sequence[Recommended], score: str, listed: str = "item") -> None:
    """A table of the items, best first; `score` heads the column of scores."""
    named = any(one.name is not None and one.name != str(one.id) for one in items)
    columns = ("rank", listed, *(["name"] if named else []), score)
    rows = [
        (rank, str(one.id), *([one.name or ""] if named else []), one.score)
        for rank, one in enumerate(items, start=1)
    ]
    print_table(columns, rows)


def write_lists(job: BatchJob, output: Path | None, run: Run, where: EngineChoice) -> None:
    """Write everybody's lists to a file, and say how many there are."""
    from xorec.cli.arguments import told_of_new_folder
    from xorec.core.errors import OptionError
    from xorec.recommender.batch import write

    if output is None:
        raise OptionError("say where the lists go: give -o FILE.parquet or -o FILE.csv.")
    with where.opened(run.options()) as options, told_of_new_folder(output, options.progress):
        done = write(job, output, options)
    if run.json:
        print_json(done.to_dict())
        return
    size, seconds = show_bytes(done.bytes), f"{done.seconds:.1f} s"
    print_line(f"{output}: {done.lists:,} lists, {done.rows:,} rows, {size}, {seconds}")
