"""A list of recommendations, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from xorec.cli.arguments import EngineChoice, Run
    from xorec.recommender.batch import BatchJob
    from xorec.recommender.results import Recommendations, Recommended


def print_list(best: Recommendations, json: bool, raw: bool) -> None:
    """Print the list: a table, one JSON object, or raw rows."""
    from xorec.cli.output import print_json

    if json:
        print_json(best.to_dict())
    elif raw:
        print_raw_items(best.items)
    else:
        print_items(best.items, "score", best.item_kind)


def print_raw_items(items: Sequence[Recommended]) -> None:
    """Rank, id, name and score of each item as they are, with tabs: for pipes."""
    from xorec.cli.output import print_raw

    print_raw((rank, one.id, one.name, one.score) for rank, one in enumerate(items, start=1))


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


def write_lists(job: BatchJob, output: Path | None, run: Run, where: EngineChoice) -> None:
    """Write everybody's lists to a file, and say how many there are."""
    from xorec.cli.arguments import told_of_new_folder
    from xorec.cli.output import print_json, print_line, show_bytes
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
