"""Results on standard output: one JSON object, or a table that fits 80 columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from xorec.core.printable import json_text, jsonable, printable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from xorec.cli.arguments import EngineChoice, Run
    from xorec.recommender.batch import BatchJob
    from xorec.recommender.results import Recommendations, Recommended

TableColumns = Mapping[str, tuple[str, Callable[[Any], str]]]
"""By head: the name of a value of a flat row, and how it is shown."""


def print_json(result: Any) -> None:
    """One JSON object and a newline. NaN and infinity become null, which JSON knows."""
    sys.stdout.write(json_text(jsonable(result)) + "\n")


def print_line(text: str = "") -> None:
    """A line of text, or several; control characters as escapes."""
    sys.stdout.write(printable(text, lines=True) + "\n")


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: TableColumns,
    title: str | None = None,
    left: int = 1,
) -> None:
    """A table of flat rows, whose first `left` columns stand to the left. None is an empty cell."""
    cells = [
        ["" if row[name] is None else shown(row[name]) for name, shown in columns.values()]
        for row in rows
    ]
    print_table(list(columns), cells, title, right=list(columns)[left:])


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
        console.width = max(80, console.width)
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
    """The columns with the numbers `shown`; fixed: only the first of them may be folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = None if title is None else Text(printable(title))
    table = Table(title=heading, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    table.show_edge = False
    texts = [[printable(show(row[at])) for at in shown] for row in cells]
    for column, at in enumerate(shown):
        head = printable(columns[at])
        numeric = cells and all(isinstance(row[at], int | float) for row in cells)
        justify: Literal["left", "right"] = "right" if numeric or columns[at] in right else "left"
        width = max(map(len, (head, *(row[column] for row in texts)))) if fixed and at > 0 else None
        table.add_column(Text(head), justify=justify, overflow="fold", min_width=width)
    for row in texts:
        table.add_row(*map(Text, row))
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
    if count < 1000:
        return f"{count:.0f} B"
    size, units = count / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:,.1f} {units[0]}"


def print_list(best: Recommendations, json: bool, raw: bool) -> None:
    """Print the list: a table, one JSON object, or raw rows."""
    if json:
        print_json(best.to_dict())
    elif raw:
        print_raw_items(best.items)
    else:
        print_items(best.items, "score", best.item_kind)


def print_raw_items(items: Sequence[Recommended]) -> None:
    """Rank, id, name and score of each item for another program: as they are, with tabs."""
    sys.stdout.flush()
    for rank, one in enumerate(items, start=1):
        row = (rank, one.id, one.name, one.score)
        line = "\t".join("" if value is None else str(value) for value in row) + "\n"
        sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


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
    """Write the lists of all users, or items, to a file, and say how many there are."""
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
