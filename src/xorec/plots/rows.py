"""What was compared, as rows: contenders, or the rows of `xorec compare --json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xorec.core.errors import OptionError


def rows_of(compared: Iterable[Any], *needed: str) -> list[Mapping[str, Any]]:
    """Flat rows that have the columns `needed`.

    >>> rows_of([{"model": "bpr", "ndcg@10": 0.1}], "ndcg@10")
    [{'model': 'bpr', 'ndcg@10': 0.1}]
    """
    rows = [one if isinstance(one, Mapping) else one.row() for one in compared]
    if not rows:
        raise OptionError("there is nothing to draw: give at least one row of a comparison.")
    for row in rows:
        for name in needed:
            if name not in row:
                known = ", ".join(map(str, row))
                raise OptionError(f"a row has no {name!r}: it has {known}.")
    return rows
