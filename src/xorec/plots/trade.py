"""The picture of the trade."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xorec.evaluation.metrics.names import heading
from xorec.plots.frontier_picture import Point, draw
from xorec.plots.pictures import Picture, require_matplotlib
from xorec.plots.rows import rows_of


def frontier(compared: Iterable[Any], *, metric: str = "ndcg@10", title: str = "") -> Picture:
    """How good lists are, against bytes an item and against microseconds a query.

    compared: what `compare_models` gives, or the rows of `xorec compare --json`. Filled marks, and
    the line of steps, are those that nothing beats for less.

    >>> from xorec import plots
    >>> cheap = {"label": "dsiml 64", "kind": "codes", "bytes_per_item": 25, "us_per_query": 12}
    >>> dear = {"label": "slim", "kind": "neighbours", "bytes_per_item": 300, "us_per_query": 40}
    >>> picture = plots.frontier([{**cheap, "ndcg@10": 0.31}, {**dear, "ndcg@10": 0.42}])
    >>> "dsiml 64" in picture.svg
    True
    """
    require_matplotlib()
    rows = rows_of(compared, "label", metric, "bytes_per_item", "us_per_query")
    points = [
        Point(
            str(row["label"]),
            str(row.get("kind", "")),
            float(row[metric]),
            float(row["bytes_per_item"]),
            float(row["us_per_query"]),
        )
        for row in rows
    ]
    return draw(points, heading(metric), title or f"{heading(metric)} against what it costs")
