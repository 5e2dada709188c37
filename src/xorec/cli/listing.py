"""A list of recommendations, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xorec.recommendations import Recommendations, Recommended


def print_list(best: Recommendations, query_name: str, json: bool) -> None:
    """Print the list; `query_name` says what it was asked for ("user" or "item")."""
    from xorec.cli.output import print_json

    if json:
        rows = [
            {"id": one.id, "name": one.name, "distance": one.distance, "score": one.score}
            for one in best.items
        ]
        print_json({query_name: best.query, "items": rows})
        return
    print_items(best.items, "score")


def print_items(items: Sequence[Recommended], score: str) -> None:
    """A table of the items, best first; `score` heads the column of scores."""
    from xorec.cli.output import print_table

    named = any(one.name is not None and one.name != str(one.id) for one in items)
    columns = ("rank", "item", "name", score) if named else ("rank", "item", score)
    print_table(
        columns,
        [
            (rank, str(one.id), one.name or "", one.score)
            if named
            else (rank, str(one.id), one.score)
            for rank, one in enumerate(items, start=1)
        ],
    )
