"""Recommenders for stores: every way to rank that a store may have to repeat, with many ties."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

from xorec.core.bits import pack_signs
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.data.tie_rank import tie_rank
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage

HOSTILE = (
    '"; DROP TABLE items; --',
    '\'; DROP TABLE "users"; --',
    "",
    "a",
    "A",
    "a ",
    " a",
    "a\0b",
    "a\0",
    "🍵",
    "é",
    "e\u0301",
    "\u202e\n\r\t\\N\\x00",
    "%s %(user)s :user $user {user:String} ? {{}}",
    "x" * 4096,
    "🍵" * 1024,
    "NULL",
    "1",
    "1.0",
)
"""Text that all differs and must come out as it went in."""
WITHOUT_NUL = tuple(text for text in HOSTILE if "\0" not in text)


def recommender_of(
    learned: Representation,
    *,
    users: Sequence[Hashable] | None = None,
    items: Sequence[Hashable] | None = None,
    names: Sequence[str] | None = None,
    categories: bool = False,
    seen: float = 0.1,
    seed: int = 0,
) -> Recommender:
    """A recommender around what was learned: ids of whole numbers unless others are given.

    seen: the share of all items that a user has; the first user has none, the last one all.
    """
    rng = np.random.default_rng(seed)
    has = rng.random((learned.n_users, learned.n_items)) < seen
    has[0], has[-1] = False, True
    if isinstance(learned, TwoStage) and learned.weights is not None:
        has = learned.weights.history.toarray() != 0
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int64)
    item_ids = Ids.of(range(1000, 1000 + learned.n_items) if items is None else items)
    counts = has.sum(axis=0) // 4  # many items are equally popular
    labels = Text.pack(["tea 🍵", '"; DROP TABLE', "rest"])
    of_items = np.arange(learned.n_items + 1, dtype=np.int64)
    codes = learned.codes if isinstance(learned, TwoStage) else learned
    return Recommender(
        learned,
        user_ids=Ids.of(range(learned.n_users) if users is None else users),
        item_ids=item_ids,
        seen=(indptr, np.nonzero(has)[1].astype(np.int32)),
        item_counts=counts.astype(np.int64),
        tie_rank=tie_rank(item_ids, counts),
        names=None if names is None else Text.pack(names),
        categories=Categories(labels, of_items, (of_items[:-1] % 3).astype(np.int32))
        if categories
        else None,
        metadata={"model": "dsiml", "config": {}, **codes.metadata()},
    )


def codes(
    bits: int = 64,
    n_users: int = 40,
    n_items: int = 300,
    *,
    distinct: int = 0,
    kind: type[Codes] = Codes,
    offsets: bool = False,
    seed: int = 0,
) -> Codes:
    """Random codes; distinct: so few different ones among the items, 0 for as they come."""
    rng = np.random.default_rng([seed, bits, distinct])
    users, items = (pack_signs(rng.standard_normal((n, bits))) for n in (n_users, n_items))
    if distinct:
        items = items[rng.integers(distinct, size=n_items)]
    if kind is MaskedCodes or not offsets:
        return kind(users, items, bits)
    return Codes(users, items, bits, item_offsets=rng.integers(0, 8, size=n_items))


@cache
def debian(bits: int) -> Recommender:
    """The embedded data, with codes by random directions: ids, names and histories as they are."""
    from xorec.data.datasets.catalog import load_data

    data = load_data("debian")
    items = np.random.default_rng(bits).standard_normal((data.n_items, bits))
    users = np.asarray(data.matrix() @ items)
    learned = Codes.from_signs(users, items)
    return Recommender(
        learned,
        user_ids=data.users,
        item_ids=data.items,
        seen=(data.indptr, data.indices),
        item_counts=data.item_counts,
        tie_rank=tie_rank(data.items, data.item_counts),
        names=data.names,
        categories=data.categories,
        metadata={"model": "signs", "config": {}, **learned.metadata()},
    )


def two_stage(
    bits: int = 64,
    *,
    keep: Any = "int8",
    vectors: bool = True,
    weights: bool = True,
    weighted: bool = False,
    per_item: int = 0,
    bias: bool = False,
    of_bits: bool = False,
    seed: int = 0,
) -> TwoStage:
    """Codes that find, and what puts in order. weighted: a user's items count differently.

    per_item: neighbours of each item that are candidates, too. of_bits: float users against the
    items' bits instead of vectors.
    """
    from scipy.sparse import csr_array

    found = codes(bits, distinct=60, seed=seed)
    rng, n, m = np.random.default_rng([seed, 1]), found.n_users, found.n_items
    floats = [rng.standard_normal((rows, bits if of_bits else 12)) for rows in (n, m)]
    floats[1][::7] = floats[1][3]  # equal vectors: ties of scores
    ranking = None
    if vectors:
        biases = rng.standard_normal(m).astype(np.float32) if bias else None
        ranking = RankingVectors.of(floats[0], None if of_bits else floats[1], keep, biases)
    learned = None
    if weights:
        says = np.where(rng.random((m, m)) < 0.05, rng.standard_normal((m, m)), 0)
        has = np.where(rng.random((n, m)) < 0.08, 1.0, 0.0)
        has[0] = 0
        if weighted:
            has *= rng.uniform(0.3, 3.0, size=has.shape)
        learned = Neighbours.of(
            csr_array(says.astype(np.float32)), csr_array(has.astype(np.float32)), keep
        )
    more = (20, per_item, 15 if per_item else 0) if weights else (0, 0, 0)
    return TwoStage(found, ranking, learned, Sources(30, *more), 0.25)
