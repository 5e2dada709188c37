"""A list of recommendations, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from xorec.core.options import RunOptions
    from xorec.recommender.batch import Lists
    from xorec.recommender.results import Recommendations, Recommended


def print_list(best: Recommendations, query_name: str, json: bool, listed: str = "item") -> None:
    """Print the list; `query_name` says what it was asked for, `listed` what stands in it."""
    from xorec.cli.output import print_json

    if json:
        rows = [
            {"id": one.id, "name": one.name, "distance": one.distance, "score": one.score}
            for one in best.items
        ]
        print_json({query_name: best.query, f"{listed}s": rows})
        return
    print_items(best.items, "score", listed)


def print_items(items: Sequence[Recommended], score: str, listed: str = "item") -> None:
    """A table of the items, best first; `score` heads the column of scores."""
    from xorec.cli.output import print_table

    named = any(one.name is not None and one.name != str(one.id) for one in items)
    columns = ("rank", listed, "name", score) if named else ("rank", listed, score)
    print_table(
        columns,
        [
            (rank, str(one.id), one.name or "", one.score)
            if named
            else (rank, str(one.id), one.score)
            for rank, one in enumerate(items, start=1)
        ],
    )


def write_lists(lists: Lists, output: Path | None, options: RunOptions, json: bool) -> None:
    """Write everybody's lists to a file, and say how many there are."""
    import time

    from xorec.cli.output import print_json, print_line, show_bytes
    from xorec.core.errors import OptionError
    from xorec.recommender.batch import write

    if output is None:
        raise OptionError("say where the lists go: give -o FILE.parquet or -o FILE.csv.")
    began = time.perf_counter()
    rows = write(lists, output, options)
    seconds = time.perf_counter() - began
    count, size = len(lists.asked), output.stat().st_size
    if json:
        facts = {"lists": count, "rows": rows, "k": lists.k, "bytes": size, "seconds": seconds}
        print_json({"output": str(output), **facts})
    else:
        print_line(f"{output}: {count:,} lists, {rows:,} rows, {show_bytes(size)}, {seconds:.1f} s")
