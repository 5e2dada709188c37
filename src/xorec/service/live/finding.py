"""Finding users and items by some letters of their id or name."""

from __future__ import annotations

from typing import Literal

import numpy as np

from xorec.core.jsonable import jsonable
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.service.events.records import Id
from xorec.service.live.model import LiveModel

_MOST = 100_000
"""Places of the letters that are looked at."""


def find_ids(live: LiveModel, kind: Literal["user", "item"], letters: str, k: int) -> list[Id]:
    """Up to k ids that have these letters in them, or in the item's name; those that begin first.

    Letters count as they are written.
    """
    ids = live.users if kind == "user" else live.items
    names = live.recommender.names if kind == "item" else None
    rows: dict[int, bool] = {}
    for text in (_text_of(ids), names):
        if text is not None:
            for row, begins in _rows_with(text, letters, k):
                rows[row] = rows.get(row, False) or begins
    said = []
    if kind == "item":
        said = [
            item
            for item, info in list(live.catalogue.infos.items())
            if (info.name and letters in info.name) or letters in str(item)
        ]
    exact = ids.find(ids.parse(letters))
    order = sorted(rows, key=lambda row: (row != exact, not rows[row], row))
    if kind == "user":
        order = [row for row in order if live.user_row(jsonable(ids[row])) >= 0]
        said = [one for one in live.recent.users() if letters in str(one)]
    found = [jsonable(ids[row]) for row in order[:k]]
    return list(dict.fromkeys([*found, *said]))[:k]


def _text_of(ids: Ids) -> Text | None:
    if isinstance(ids.values, Text):
        return ids.values
    return _digits(ids)


def _digits(ids: Ids) -> Text:
    """Whole numbers as text; made once."""
    kept: Text | None = vars(ids).get("_digits_text")
    if kept is None:
        kept = Text.pack(map(str, np.asarray(ids.values).tolist()))
        vars(ids)["_digits_text"] = kept
    return kept


def _rows_with(text: Text, letters: str, k: int) -> list[tuple[int, bool]]:
    """Rows that have the letters, at the most some more than k; whether they begin with them."""
    data, wanted = text.data.tobytes(), letters.encode("utf-8", "surrogateescape")
    if not wanted:
        return [(row, True) for row in range(min(k, len(text)))]
    found: dict[int, bool] = {}
    begin, count, at = 0, 0, data.find(wanted)
    offsets = text.offsets
    while at >= 0 and count < _MOST and sum(found.values()) < k:
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        if at + len(wanted) <= offsets[row + 1]:
            found[row] = found.get(row, False) or at == offsets[row]
        begin, count = at + 1, count + 1
        at = data.find(wanted, begin)
    return list(found.items())
