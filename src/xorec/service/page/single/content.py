"""What the page of one model shows: some users with their lists, similar items, the map.

Everything is by the place of an item in one table: those that are shown first, then the ones that
most users have; points of the map have the same places, with further ones behind. Equal models have
equal pages: no time stands in it.
"""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec import __version__
from xorec.core.bits import bytes_for
from xorec.core.printable import jsonable
from xorec.recommender.item_map import layout_of, principal_places
from xorec.recommender.recommender import Recommender
from xorec.search.hits import Hits
from xorec.search.top_k import top_k_row

Rows = npt.NDArray[np.int64]
Json = dict[str, Any]
REASONS = 3
SIMILAR = 10
_HISTORY = 200
"""Items of a user that are kept: those that most users have."""
_COMPARED = 3_000
"""Items whose similar ones are kept."""
_NAMED = 20_000
"""Items that have names on the page."""
POINTS = 200_000
"""Of the map: where there are more items, some of them stand for all."""
_TOP = 253


class Ranked(NamedTuple):
    """A list by rows of the model. distances: None where items were not ranked by codes."""

    items: Rows
    scores: npt.NDArray[Any]
    distances: npt.NDArray[Any] | None


class UserLists(NamedTuple):
    """Some users, what they have, and their lists, by rows of the model."""

    users: Rows
    history: list[Rows]
    lists: list[Ranked]


def content(recommender: Recommender, users: int, k: int, points: int = POINTS) -> Json:
    """All data of the page, as JSON has it."""
    chosen = _lists(recommender, _sample(recommender, users), k)
    reasons = [
        [_reasons(recommender, own, int(row)) for row in listed.items]
        for own, listed in zip(chosen.history, chosen.lists, strict=True)
    ]
    near = _similar(recommender, chosen)
    table = _table(recommender, chosen, reasons, near)
    places = np.full(len(recommender.item_ids), -1, dtype=np.int64)
    places[table] = np.arange(len(table))
    return {
        "facts": facts(recommender),
        "bits": recommender.representation.code_length,
        "items": _items(recommender, table),
        "users": _users(recommender, chosen, reasons, places),
        "similar": {int(places[row]): _listed(places, found) for row, found in near.items()},
        "map": _map(recommender, table, points),
    }


def facts(recommender: Recommender) -> Json:
    """What a model file says of itself."""
    about = recommender.metadata
    names = ("model", "config", "seed", "data", "race", "validation", "updates")
    return {
        "xorec": __version__,
        "users": len(recommender.user_ids),
        "items": len(recommender.item_ids),
        "pairs": int(recommender.seen[0][-1]),
        "bytes": int(recommender.representation.nbytes),
        "score": recommender.representation.score_description,
        **{name: jsonable(about[name]) for name in names if name in about},
    }


def _sample(recommender: Recommender, count: int) -> Rows:
    """Users who have something, spread over all rows; the same ones every time."""
    having = np.flatnonzero(np.diff(recommender.seen[0]))
    spread = np.linspace(0, len(having) - 1, min(count, len(having))).astype(np.int64)
    return np.asarray(having[np.unique(spread)], dtype=np.int64)


def _lists(recommender: Recommender, users: Rows, k: int) -> UserLists:
    if not len(users):
        return UserLists(users, [], [])
    hits = recommender.index.search(
        recommender.representation.queries(users),
        min(k, len(recommender.item_ids)),
        exclude=recommender.items_of_many(users),
    )
    history = [recommender.items_of(int(row)).astype(np.int64) for row in users]
    return UserLists(users, history, [_ranked(hits, b) for b in range(len(users))])


def _ranked(hits: Hits, b: int) -> Ranked:
    rows, scores = hits.row(b)
    distances = None if hits.distances is None else hits.distances[b, : len(rows)]
    return Ranked(rows.astype(np.int64), scores, distances)


def _reasons(recommender: Recommender, own: Rows, row: int) -> Rows:
    """Those of a user's items that are most like one of the list."""
    learned = recommender.representation
    if not learned.compares_items or not len(own):
        return own[:0]
    near, _ = top_k_row(learned.likeness(own, row), REASONS, recommender.tie_rank[own])
    return own[near]


def _similar(recommender: Recommender, chosen: UserLists) -> dict[int, Ranked]:
    """The items most like each that is listed, then owned."""
    if not recommender.representation.compares_items or len(recommender.item_ids) < 2:
        return {}
    rows = _distinct([*(one.items for one in chosen.lists), *chosen.history])[:_COMPARED]
    if not len(rows):
        return {}
    hits = recommender.item_neighbours.nearest(rows, min(SIMILAR, len(recommender.item_ids) - 1))
    return {row: _ranked(hits, at) for at, row in enumerate(rows.tolist())}


def _table(
    recommender: Recommender, chosen: UserLists, reasons: list[list[Rows]], near: dict[int, Ranked]
) -> Rows:
    """The rows of all items that the page names."""
    listed = [one.items for one in chosen.lists]
    owned = [_first_of(recommender, own) for own in chosen.history]
    because = [rows for of_user in reasons for rows in of_user]
    popular = np.argsort(recommender.tie_rank, kind="stable")
    similar = (found.items for found in near.values())
    shown = _distinct([*listed, *owned, *because, *similar, *near])
    rest = popular[~np.isin(popular, shown)][: max(0, _NAMED - len(shown))]
    return np.concatenate([shown, rest])


def _distinct(parts: list[Any]) -> Rows:
    """All rows, each where it comes first."""
    whole = [np.atleast_1d(np.asarray(part, dtype=np.int64)) for part in parts]
    rows = np.concatenate(whole) if whole else np.zeros(0, dtype=np.int64)
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


def _first_of(recommender: Recommender, own: Rows) -> Rows:
    return own[np.argsort(recommender.tie_rank[own], kind="stable")][:_HISTORY]


def _items(recommender: Recommender, table: Rows) -> Json:
    """Columns by place in the table."""
    rows = table.tolist()
    names = recommender.names
    words, bits = recommender.representation.codes_of(table), recommender.representation.code_length
    codes = None
    if words is not None and bits is not None:
        raw = np.ascontiguousarray(words.astype("<u8")).view(np.uint8)
        codes = _base64(raw.reshape(len(table), -1)[:, : bytes_for(bits)])
    return {
        "ids": [jsonable(one) for one in recommender.item_ids.take(rows)],
        "names": None if names is None else names.strings(rows),
        "counts": recommender.item_counts[table].tolist(),
        "codes": codes,
    }


def _users(
    recommender: Recommender, chosen: UserLists, reasons: list[list[Rows]], places: Rows
) -> list[Json]:
    learned, bits = recommender.representation, recommender.representation.code_length
    found = []
    for at, row in enumerate(chosen.users.tolist()):
        words = learned.query_code(learned.queries(np.array([row])))
        code = None
        if words is not None and bits is not None:
            code = words.astype("<u8").tobytes()[: bytes_for(bits)].hex()
        found.append(
            {
                "id": jsonable(recommender.user_ids[row]),
                "code": code,
                "count": len(chosen.history[at]),
                "history": places[_first_of(recommender, chosen.history[at])].tolist(),
                "list": _listed(places, chosen.lists[at]),
                "because": [places[some].tolist() for some in reasons[at]],
            }
        )
    return found


def _listed(places: Rows, ranked: Ranked) -> list[list[Any]]:
    """Place, score, distance of each item."""
    rows, scores, distances = ranked
    counted = [None] * len(rows) if distances is None else distances.tolist()
    every = zip(places[rows].tolist(), scores.tolist(), counted, strict=True)
    return [[place, jsonable(float(f"{score:.5g}")), distance] for place, score, distance in every]


def _map(recommender: Recommender, table: Rows, points: int) -> Json:
    """Where items lie, whole numbers of two bytes, and one byte for how many users have each."""
    where = recommender.map_xy if recommender.map_xy is not None else principal_places(recommender)
    others = np.setdiff1d(np.arange(len(where)), table)
    room = max(0, points - len(table))
    if len(others) > room:
        others = others[np.linspace(0, len(others) - 1, room).astype(np.int64)]
    rows = np.concatenate([table, others])
    counts = recommender.item_counts[rows].astype(np.float64)
    most = float(recommender.item_counts.max(initial=1))
    scale = np.log1p(counts) / np.log1p(most) * _TOP
    return {
        "layout": layout_of(recommender) or "pca",
        "points": len(rows),
        "items": len(where),
        "places": _base64(np.asarray(where[rows], dtype="<i2")),
        "colours": _base64(np.rint(scale).astype(np.uint8)),
        "legend": _legend(recommender.item_counts[rows], most),
    }


def _legend(counts: npt.NDArray[Any], most: float) -> list[Json]:
    """Powers of ten, with the bytes that mean them."""
    bands = []
    first = 0
    for low in (0, *(10**n for n in range(len(str(int(most)))))):
        high = 0 if low == 0 else 10 * low - 1
        last = min(_TOP, int(np.rint(np.log1p(min(high, most)) / np.log1p(most) * _TOP)))
        count = int(np.count_nonzero((counts >= low) & (counts <= high)))
        label = "nobody" if low == 0 else f"{low:,} to {high:,} users"
        if count:
            bands.append({"label": label, "first": first, "last": max(first, last), "count": count})
        first = last + 1
    return bands


def _base64(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
