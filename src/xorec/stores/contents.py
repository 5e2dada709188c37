"""Contents: what `xorec export` writes of a model, as tables in bounded batches.

Numbers are those of the model file: a vector or weight of bytes stays whole numbers, with its
scale beside it, so that the product is the same to the bit wherever it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec import __version__
from xorec.core.bits import CodeRows
from xorec.core.errors import OptionError, StoreError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.text import Text, not_unicode
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.histories import is_weighted
from xorec.representations.two_stage import TwoStage
from xorec.stores.schema import About, Ranking, Schema, schema_of
from xorec.stores.tables import Batch, spans

Values = tuple[int, Mapping[str, Any]]
"""The rows of a table, and its columns: arrays, or functions that make the values of a slice of
rows. There may be more columns than the schema asks for."""


@dataclass(frozen=True)
class Table:
    """A table to write. rows: how many there will be, at most; batches(): them, by the key."""

    schema: Schema
    rows: int
    batches: Callable[[], Iterator[Batch]]

    @property
    def name(self) -> str:
        return self.schema.name


@dataclass(frozen=True)
class Contents:
    """The tables of an export, and what it says of itself (which is a table, too: `about`)."""

    about: About
    tables: tuple[Table, ...]

    @property
    def rows(self) -> int:
        """Rows of all tables, at most."""
        return sum(table.rows for table in self.tables)


def contents_of(
    recommender: Recommender,
    *,
    users: bool = False,
    lists: int = 0,
    options: RunOptions = DEFAULTS,
) -> Contents:
    """What an export of this model has. users: their codes and what they have. lists: of so many
    items for every user, which brings the users along; 0 for none.

    >>> from xorec.testing.examples import shop
    >>> [table.name for table in contents_of(shop(), lists=2).tables]
    ['about', 'items', 'users', 'seen', 'lists']
    >>> contents_of(shop())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xorec.core.errors.OptionError: item-knn has no codes that a store could rank by ...
    """
    if lists < 0:
        raise OptionError(f"lists is {lists}: give a number of items, or leave it out.")
    about = _about(recommender, users=users or lists > 0, lists=lists)
    if about.ranking == "lists" and not lists:
        score = recommender.representation.score_description
        raise OptionError(
            f"{about.model or 'the model'} has no codes that a store could rank by (its score is "
            f"{score}): export its lists, with --lists K."
        )
    most, found = about.users * min(lists, about.items), _values(recommender, about)
    return Contents(
        about,
        tuple(
            Table(schema, most, lambda: _lists(recommender, lists, options))
            if name == "lists"
            else _table(schema, *found[name])
            for name, schema in schema_of(about).items()
        ),
    )


def _about(recommender: Recommender, *, users: bool, lists: int) -> About:
    learned, ranking = recommender.representation, _ranking(recommender)
    codes = None if ranking == "lists" else _codes(learned)
    second: dict[str, Any] = {}
    if ranking == "two-stage":
        assert isinstance(learned, TwoStage)
        vectors, weights = learned.vectors, learned.weights
        second = {
            "sources": tuple(learned.sources),
            "blend": float(learned.blend),
            "dimensions": 0 if vectors is None else int(vectors.users.rows.shape[1]),
            "keep": "" if vectors is None or vectors.items is None else vectors.items.keep,
            "bias": vectors is not None and vectors.bias is not None,
            "weights_keep": "" if weights is None else weights.postings.keep,
            "history_weights": weights is not None and is_weighted(weights.history),
        }
    return About(
        model=str(recommender.metadata.get("model", "")),
        ranking=ranking,
        bits=0 if codes is None else codes.bits,
        items=len(recommender.item_ids),
        item_kind=recommender.item_ids.kind,
        users=len(recommender.user_ids) if users else 0,
        user_kind=recommender.user_ids.kind if users else "",
        offsets=codes is not None and codes.item_offsets is not None,
        names=recommender.names is not None,
        categories=recommender.categories is not None,
        lists=lists,
        digest=str(recommender.metadata.get("codes", {}).get("digest", "")),
        xorec=__version__,
        **second,
    )


def _ranking(recommender: Recommender) -> Ranking:
    """How a store can rank as this model does.

    Item weights look at a history. Where that is not what the user has, only lists are right: one
    table of the export holds both.
    """
    learned = recommender.representation
    if isinstance(learned, TwoStage):
        if learned.weights is None:
            return "two-stage"
        history, (indptr, items) = learned.weights.history, recommender.seen
        same = np.array_equal(history.indptr, indptr) and np.array_equal(history.indices, items)
        return "two-stage" if same else "lists"
    if isinstance(learned, Codes) and learned.user_vectors is None:
        return "masked-codes" if learned.kind == "masked-codes" else "codes"
    return "lists"


def _codes(learned: Representation) -> Codes:
    """The codes that the store's distances are between."""
    codes = learned.codes if isinstance(learned, TwoStage) else learned
    assert isinstance(codes, Codes)
    return codes


def _table(schema: Schema, rows: int, columns: Mapping[str, Any]) -> Table:
    def values(name: str, span: slice) -> Any:
        made = columns[name]
        return made(span) if callable(made) else made[span]

    def batches() -> Iterator[Batch]:
        for span in spans(rows):
            yield {column.name: values(column.name, span) for column in schema.columns}

    return Table(schema, rows, batches)


def _lists(recommender: Recommender, k: int, options: RunOptions) -> Iterator[Batch]:
    """The k best items of every user, as `recommend` lists them."""
    from xorec.recommender.batch import for_all_users

    for rows, hits in for_all_users(recommender, k).blocks(options):
        there = np.arange(hits.items.shape[1]) < hits.counts[:, None]
        rank = np.broadcast_to(np.arange(1, there.shape[1] + 1, dtype=np.int32), there.shape)
        every = {
            "user_row": np.repeat(rows, hits.counts).astype(np.int32),
            "rank": rank[there],
            "item_row": hits.items[there],
            "score": hits.scores[there],
        }
        for span in spans(len(every["rank"])):
            yield {name: column[span] for name, column in every.items()}


def _values(recommender: Recommender, about: About) -> dict[str, Values]:
    """The values of all tables but lists, which are searched for."""
    names, facts = map(list, zip(*about.rows(), strict=True))
    item_ids, user_ids = recommender.item_ids, recommender.user_ids
    items: dict[str, Any] = {
        "item_row": _row_numbers,
        "item_id": _ids(item_ids, "the id of an item"),
    }
    items["tie_rank"] = recommender.tie_rank
    users: dict[str, Any] = {
        "user_row": _row_numbers,
        "user_id": _ids(user_ids, "the id of a user"),
    }
    if recommender.names is not None:
        items["name"] = _text(recommender.names, "the name of an item")
    if about.bits:
        codes = _codes(recommender.representation)
        items |= _code_columns(codes.item_rows)
        users |= _code_columns(codes.user_rows)
        if (offsets := codes.item_offsets) is not None:
            items["item_offset"] = lambda span: offsets[span].astype(np.int32)
    indptr, seen_items = recommender.seen
    seen = {"user_row": _rows_of_pairs(indptr), "item_row": seen_items}
    made: dict[str, Values] = {
        "about": (len(names), {"name": names, "value": facts}),
        "items": (len(item_ids), items),
        "users": (len(user_ids), users),
        "seen": (len(seen_items), seen),
    }
    if (found := recommender.categories) is not None:
        indices, labels = found.indices, found.labels
        categories: dict[str, Any] = {"item_row": _rows_of_pairs(found.indptr)}
        categories["category"] = lambda span: _strings(
            labels.strings(indices[span].tolist()), "a category"
        )
        made["categories"] = (len(indices), categories)
    learned = recommender.representation
    if about.ranking == "two-stage" and isinstance(learned, TwoStage):
        if learned.weights is not None:
            seen["weight"] = learned.weights.history.data
        made |= _second_stage_values(learned)
        if learned.sources.neighbours:  # the nearest items by code, from rank 1 on
            table = recommender.index.tensors()["item_neighbours"]
            width = table.shape[1]
            neighbours = {
                "item_row": lambda span: _row_numbers(span) // width,
                "rank": lambda span: _row_numbers(span) % width + 1,
                "other_row": table.reshape(-1),
            }
            made["item_neighbours"] = (table.size, neighbours)
    return made


def _second_stage_values(learned: TwoStage) -> dict[str, Values]:
    """Vectors, whose score is (the user's . the item's) x scale + bias, and item weights: what an
    item says for another is weight x scale, times what it counts for the user."""
    made: dict[str, Values] = {}
    columns: dict[str, Any]
    if (vectors := learned.vectors) is not None:
        users = vectors.users
        columns = {"user_row": _row_numbers, "vector": users.floats}
        made["user_vectors"] = (len(users.rows), columns)
        if (stored := vectors.items) is not None:
            columns = {"item_row": _row_numbers, "scale": stored.scales, "bias": vectors.bias}
            columns["vector"] = lambda span: stored.rows[span].astype(np.float32)
            made["item_vectors"] = (len(stored.rows), columns)
    if learned.weights is not None:
        postings = learned.weights.postings
        rows = _rows_of_pairs(postings.indptr)
        columns = {
            "item_row": rows,
            "other_row": lambda span: postings.items[span].astype(np.int32),
            "weight": lambda span: postings.weights[span].astype(np.float32),
            "scale": lambda span: postings.scales[rows(span)],
        }
        made["item_weights"] = (len(postings.items), columns)
    return made


def _code_columns(rows: CodeRows) -> dict[str, Any]:
    def set_bits(span: slice) -> npt.NDArray[np.int32]:
        return np.asarray(np.bitwise_count(rows[span]).sum(axis=1, dtype=np.int32))

    return {"code": rows, "set_bits": set_bits}


def _row_numbers(span: slice) -> npt.NDArray[np.int32]:
    return np.arange(span.start, span.stop, dtype=np.int32)


def _rows_of_pairs(indptr: npt.NDArray[np.int64]) -> Callable[[slice], npt.NDArray[np.int32]]:
    """The rows that the pairs of a slice belong to; indptr: where each row's pairs begin.

    >>> _rows_of_pairs(np.array([0, 2, 2, 3]))(slice(1, 3))
    array([0, 2], dtype=int32)
    """

    def rows(span: slice) -> npt.NDArray[np.int32]:
        found = np.searchsorted(indptr, np.arange(span.start, span.stop), side="right") - 1
        return np.asarray(found, dtype=np.int32)

    return rows


def _ids(ids: Ids, what: str) -> Any:
    return _text(ids.values, what) if isinstance(ids.values, Text) else ids.values


def _text(text: Text, what: str) -> Callable[[slice], list[str]]:
    return lambda span: _strings(text.strings(range(span.start, span.stop)), what)


def _strings(strings: list[str], what: str) -> list[str]:
    """The strings; refused where one is no Unicode, which no text column takes."""
    if (wrong := not_unicode(strings)) is not None:
        raise StoreError(
            f"{what} is {quoted(wrong)}, whose bytes are no UTF-8 and fit no text column: mend it "
            "in the data and fit again."
        )
    return strings
