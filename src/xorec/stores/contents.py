"""Contents: what `xorec export` writes of a model, as tables in bounded batches.

The second stage of a model as tables: what puts the items that were found by code in order.

Numbers are those of the model file: a vector or weight of bytes stays whole numbers, with its
scale beside it, so that whoever multiplies gets the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec import __version__
from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes
from xorec.representations.histories import is_weighted
from xorec.representations.two_stage import TwoStage
from xorec.stores import values
from xorec.stores.about import About, Ranking
from xorec.stores.schema import Schema, schema_of
from xorec.stores.tables import Batch, spans
from xorec.stores.values import Values, row_numbers, rows_of_pairs


def facts(recommender: Recommender) -> dict[str, Any]:
    """What `About` says of it."""
    learned = _two_stage(recommender)
    vectors, weights = learned.vectors, learned.weights
    return {
        "sources": tuple(learned.sources),
        "blend": float(learned.blend),
        "dimensions": 0 if vectors is None else int(vectors.users.rows.shape[1]),
        "keep": "" if vectors is None or vectors.items is None else vectors.items.keep,
        "bias": vectors is not None and vectors.bias is not None,
        "weights_keep": "" if weights is None else weights.postings.keep,
        "history_weights": weights is not None and is_weighted(weights.history),
    }


def item_vectors(recommender: Recommender, told: About) -> Values:
    """The score by vectors is (the user's . vector) x scale + bias."""
    vectors = _two_stage(recommender).vectors
    assert vectors is not None
    assert vectors.items is not None
    stored, bias = vectors.items, vectors.bias
    makers: dict[str, Callable[[slice], Any]] = {
        "item_row": row_numbers,
        "vector": lambda span: stored.rows[span].astype(np.float32),
        "scale": lambda span: stored.scales[span],
    }
    if bias is not None:
        makers["bias"] = lambda span: bias[span]
    return len(stored.rows), makers


def user_vectors(recommender: Recommender, told: About) -> Values:
    """The users' vectors as they are multiplied: float32."""
    vectors = _two_stage(recommender).vectors
    assert vectors is not None
    users = vectors.users
    return len(users.rows), {"user_row": row_numbers, "vector": users.floats}


def item_weights(recommender: Recommender, told: About) -> Values:
    """What an item says for another: weight x scale, times what it counts for the user."""
    weights = _two_stage(recommender).weights
    assert weights is not None
    postings = weights.postings

    def rows(span: slice) -> Any:
        return rows_of_pairs(postings.indptr, span)

    return len(postings.items), {
        "item_row": rows,
        "other_row": lambda span: postings.items[span].astype(np.int32),
        "weight": lambda span: postings.weights[span].astype(np.float32),
        "scale": lambda span: postings.scales[rows(span)],
    }


def item_neighbours(recommender: Recommender, told: About) -> Values:
    """The nearest items of each item by code, from rank 1 on."""
    table = recommender.index.tensors()["item_neighbours"]
    width = table.shape[1]

    def places(span: slice) -> Any:
        return np.divmod(np.arange(span.start, span.stop, dtype=np.int32), width)

    return table.size, {
        "item_row": lambda span: places(span)[0],
        "rank": lambda span: places(span)[1] + 1,
        "other_row": lambda span: table[places(span)],
    }


def _two_stage(recommender: Recommender) -> TwoStage:
    learned = recommender.representation
    assert isinstance(learned, TwoStage)
    return learned


_VALUES: dict[str, Callable[[Recommender, About], values.Values]] = {
    "about": values.about,
    "items": values.items,
    "categories": values.categories,
    "users": values.users,
    "seen": values.seen,
    "item_vectors": item_vectors,
    "user_vectors": user_vectors,
    "item_weights": item_weights,
    "item_neighbours": item_neighbours,
}
"""Where the rows of a table come from; those of lists are searched for."""


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
    schemas = schema_of(about).values()
    return Contents(about, tuple(_table(schema, recommender, about, options) for schema in schemas))


def _about(recommender: Recommender, *, users: bool, lists: int) -> About:
    learned, ranking = recommender.representation, ranking_of(recommender)
    codes = None if ranking == "lists" else values.codes_of(learned)
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
        **(facts(recommender) if ranking == "two-stage" else {}),
    )


def ranking_of(recommender: Recommender) -> Ranking:
    """How a store can rank as this model does."""
    learned = recommender.representation
    if isinstance(learned, TwoStage):
        return "two-stage" if _has_seen_as_history(recommender, learned) else "lists"
    if isinstance(learned, Codes) and learned.user_vectors is None:
        return "masked-codes" if learned.kind == "masked-codes" else "codes"
    return "lists"


def _has_seen_as_history(recommender: Recommender, learned: TwoStage) -> bool:
    """Whether what item weights look at is what the user has: one table holds both then."""
    if learned.weights is None:
        return True
    history, (indptr, items) = learned.weights.history, recommender.seen
    return np.array_equal(history.indptr, indptr) and np.array_equal(history.indices, items)


def _table(schema: Schema, recommender: Recommender, about: About, options: RunOptions) -> Table:
    if schema.name == "lists":
        most = about.users * min(about.lists, about.items)
        return Table(schema, most, lambda: _lists(recommender, about.lists, options))
    rows, makers = _VALUES[schema.name](recommender, about)
    columns = [column.name for column in schema.columns]

    def batches() -> Iterator[Batch]:
        for span in spans(rows):
            yield {name: makers[name](span) for name in columns}

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
