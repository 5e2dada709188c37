"""SLIM: every item is predicted from its nearest items, by ridge regression in closed form.

Sparse linear methods (Ning and Karypis 2011) choose what an item is predicted from by an L1
penalty; here it is chosen first. With G = X'X, X the users x items matrix of ones, or of the roots
of the weights, item j is predicted from S, the N items i of largest G_ij / sqrt(G_ii), by

    w = (G_SS + l2 P_SS + growth G_jj I)^-1 G_Sj,

P diagonal with powers of G_ii, so that popular neighbours are held down more,
and a user's score for j is the sum of w over the items that the user has. Items are independent of
each other, and no matrix of items by items is needed.

A pair of user u with n_u items counts (typical / n_u)^user_exponent times its weight in G, typical
the power of two next to the mean of n_u: a long history says less of each two of its items. The
weight of a neighbour i is held down by l2 (G_ii / typical)^item_exponent, typical the same of
items: what many have says less of each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.engine import Arrays, Engine, LocalEngine, Shared, row_ranges
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import DataUpdate, Part, expect
from xorec.models.baselines.item_knn import (
    ItemModel,
    NearestItems,
    item_blocks,
    nearest_block,
    pairs_of,
    root_matrix,
    root_weights,
    shared_pairs,
    with_weights_of,
)
from xorec.models.linear_algebra import solve_spd
from xorec.representations.base import Representation, StoredAs
from xorec.representations.neighbours import Neighbours
from xorec.training.config import Float, Int, ModelConfig, Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_USERS_AT_ONCE = 1 << 16
"""Users of a cut, at least: their heads take 256 kB."""
_PAIRS_OF_A_CUT = 16
"""Pairs of a neighbour in a cut, on average and at least: shorter cuts are not worth their loop."""


@fast_kernel
def ridge_by_users(by_item: Any, users: int, most: int, penalty: Any, nearest: Any) -> None:
    """The weights of the neighbours of the items nearest.rows, into nearest.weights.

    by_item (indptr, users, roots): roots of the pairs' weights, or none. G between the neighbours
    is counted by the users who have two of them: each user keeps a chain of the neighbours that
    were met, and each one more meets those; users come in cuts whose chains stay in the cache,
    in the same order whatever the cuts are. penalty: (of a neighbour (m,), of the item that is
    predicted (m,)), which are added up. most: pairs of N items, at most.
    """
    indptr, item_users, roots = by_item
    rows, items, weights, counts = nearest
    of_neighbour, of_item = penalty
    head = np.full(users, -1, dtype=np.int32)
    chain = np.empty((most, 2), dtype=np.int32)
    worth = np.empty(most if len(roots) else 0, dtype=np.float32)
    system, right = _room(items.shape[1])
    sizes = np.empty(items.shape[1] + 1)
    begins, ends = np.empty((2, items.shape[1] + 1), dtype=np.int64)
    for at_row in range(len(rows)):
        j, n = rows[at_row], counts[at_row]
        padded = _clear(system, right, n)
        pairs = 0
        for p in range(n + 1):
            i = items[at_row, p] if p < n else j
            begins[p], sizes[p] = indptr[i], 0.0
            pairs += indptr[i + 1] - indptr[i]
        cuts = max(1, min(users // _USERS_AT_ONCE, pairs // (_PAIRS_OF_A_CUT * (n + 1))))
        width = (users + cuts - 1) // cuts
        for first in range(0, users, width):
            links = 0
            for p in range(n + 1):
                i, row = (items[at_row, p], system[p]) if p < n else (j, right)
                at, size = begins[p], sizes[p]
                while at < indptr[i + 1] and item_users[at] < first + width:
                    user = item_users[at] - first
                    link = head[user]
                    if len(roots):
                        while link >= 0:
                            row[chain[link, 0]] += np.float64(roots[at]) * worth[link]
                            link = chain[link, 1]
                        size += np.float64(roots[at]) * roots[at]
                    else:
                        while link >= 0:
                            row[chain[link, 0]] += 1
                            link = chain[link, 1]
                        size += 1
                    if p < n:
                        chain[links, 0], chain[links, 1] = p, head[user]
                        if len(roots):
                            worth[links] = roots[at]
                        head[user] = links
                        links += 1
                    at += 1
                ends[p], sizes[p] = at, size
            for p in range(n):
                for at in range(begins[p], ends[p]):
                    head[item_users[at] - first] = -1
            begins[: n + 1] = ends[: n + 1]
        for p in range(n):
            system[p, p] = sizes[p] + of_neighbour[items[at_row, p]] + of_item[j]
        solve_spd(system, padded, right)
        for p in range(n):
            weights[at_row, p] = right[p]


@fast_kernel
def ridge_by_matrix(G: Any, penalty: Any, nearest: Any) -> None:
    """`ridge_by_users` where G = X'X is there, of which the lower half is read."""
    rows, items, weights, counts = nearest
    of_neighbour, of_item = penalty
    system, right = _room(items.shape[1])
    for at_row in range(len(rows)):
        j, n = rows[at_row], counts[at_row]
        padded = _clear(system, right, n)
        for p in range(n):
            i = items[at_row, p]
            for q in range(p):
                other = items[at_row, q]
                system[p, q] = G[i, other] if i > other else G[other, i]
            system[p, p] = G[i, i] + of_neighbour[i] + of_item[j]
            right[p] = G[i, j] if i > j else G[j, i]
        solve_spd(system, padded, right)
        for p in range(n):
            weights[at_row, p] = right[p]


@inlined
def _room(width: Any) -> Any:
    """(system, right) for so many neighbours, rounded up to whole fours."""
    padded = (width + 3) // 4 * 4
    return np.empty((padded, padded + 8)), np.empty(padded)


@inlined
def _clear(system: Any, right: Any, n: Any) -> Any:
    """Zeros, and ones on the diagonal behind n; returns n rounded up to whole fours."""
    padded = (n + 3) // 4 * 4
    system[:padded, :padded] = 0
    right[:padded] = 0
    for p in range(n, padded):
        system[p, p] = 1
    return padded


MATRIX_ITEMS = 16_384
"""Up to so many items, G is made as a whole: at most 1 GiB."""

Rows = npt.NDArray[np.int32]


def typical_pairs(n_pairs: int, count: int) -> float:
    """Pairs of one of so many users or items: a power of two, so it seldom changes."""
    return float(2.0 ** np.round(np.log2(max(1, n_pairs) / max(1, count))))


def _together(m: int, pairs: Shared, engine: Engine) -> npt.NDArray[np.float32]:
    """The lower half of G = X'X; what stands above it means nothing."""
    G = np.empty((m, m), dtype=np.float32)
    ranges = row_ranges(m, least=16)
    blocks = [{"range": np.array(one)} for one in ranges]
    for (a, b), made in zip(
        ranges, engine.map_blocks(together_block, blocks, [pairs]), strict=True
    ):
        G[a:b, :b] = made["rows"]
    return G


def together_block(block: Arrays, shared: Arrays) -> Arrays:
    """Some rows of G, up to the last that means something."""
    from xorec.models.baselines.ease import count_together

    a, b = (int(end) for end in block["range"])
    rows = np.zeros((b - a, len(shared["item_starts"]) - 1), dtype=np.float32)
    count_together(*pairs_of(shared), rows, a, b)
    return {"rows": rows[:, :b]}


def ridge_block(block: Arrays, shared: Arrays, users: int = 0, most: int = 0) -> Arrays:
    """The weights of the neighbours of the items of a block: by G where it is there."""
    weights = np.empty_like(block["weights"])
    nearest = NearestItems(block["rows"], block["items"], weights, block["counts"])
    penalty = shared["of_neighbour"], shared["of_item"]
    if "G" in shared:
        ridge_by_matrix(shared["G"], penalty, nearest)
    else:
        ridge_by_users(pairs_of(shared)[1], users, most, penalty, nearest)
    return {"weights": weights}


class SLIMConfig(ModelConfig):
    """Settings of SLIM."""

    renamed: ClassVar[dict[str, str]] = {"keep": "weight_dtype"}

    neighbours: int = Field(
        100, ge=1, description="how many items predict an item: more cost memory and time"
    )
    l2: float = Field(
        20.0, gt=0, description="L2 penalty of the weights: larger trusts the data less"
    )
    growth: float = Field(
        0.2, ge=0, description="added to l2 for each pair of the item: larger dampens popular items"
    )
    user_exponent: float = Field(
        0.3,
        ge=0,
        le=1,
        description="pairs of a user with n items weigh n^-this: larger trusts them less",
    )
    item_exponent: float = Field(
        0.4, ge=0, le=1, description="l2 of a neighbour with n pairs grows as n^this"
    )
    smallest: float = Field(
        0.003, ge=0, description="weights smaller than this (absolute) are dropped: less memory"
    )
    weight_dtype: StoredAs = Field(
        "float32",
        description="number format of the weights; float16: half the size, int8: a quarter",
    )


class SLIM(ItemModel[SLIMConfig]):
    """A linear model from an item's neighbours to the item.

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "rye"), ("bob", "tea"), ("bob", "rye"), ("eve", "tea")]
    >>> data = xorec.Interactions.from_pairs(pairs)
    >>> shop = xorec.Recommender.from_model(xorec.SLIM(l2=1.0).fit(data), data)
    >>> [found.id for found in shop.recommend("eve", 1).items]
    ['rye']
    """

    name = "slim"
    work = "weights"
    runs_on_engine = True
    Config = SLIMConfig
    weighting = "a pair's entry in the matrix is the square root of its weight"
    space: ClassVar[Space] = {
        "neighbours": Int(30, 300, log=True),
        "l2": Float(2.0, 300.0, log=True),
        "growth": Float(0.0, 0.6),
        "user_exponent": Float(0.0, 0.8),
        "item_exponent": Float(0.0, 0.8),
    }

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        rows = np.arange(train.n_items, dtype=np.int32)
        weights = self._weights(train, rows, options.block_engine)
        return Neighbours.of(weights, root_matrix(train), self.config.weight_dtype)

    def _weights(self, train: Interactions, rows: Rows, engine: Engine) -> csr_array[np.float32]:
        """Sparse (m, m): columns `rows` have the weights of their neighbours, others nothing."""
        from scipy.sparse import csc_array

        m, roots = train.n_items, self._roots(train)
        sizes = np.bincount(train.indices, np.square(roots, dtype=np.float64), m)
        with engine.share(shared_pairs(train, roots)) as pairs:
            nearest = self._nearest(train, rows, pairs, sizes, engine)
            solved = self._solved(train, nearest, pairs, sizes, engine)
        items, weights, counts = (
            np.concatenate([one[name] for one in parts])
            for parts, name in ((nearest, "items"), (solved, "weights"), (nearest, "counts"))
        )
        kept = np.arange(items.shape[1]) < counts[:, None]
        kept &= np.abs(weights) >= self.config.smallest
        lengths = np.zeros(m, dtype=np.int64)
        lengths[rows] = np.count_nonzero(kept, axis=1)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return csc_array((weights[kept], items[kept], indptr), shape=(m, m)).tocsr()

    def _roots(self, train: Interactions) -> npt.NDArray[np.float32]:
        """The root of what each pair counts in G."""
        roots = root_weights(train)
        if self.config.user_exponent:
            typical = typical_pairs(train.n_pairs, train.n_users)
            shares = (typical / np.maximum(1, train.user_counts)) ** (self.config.user_exponent / 2)
            roots = roots * np.repeat(shares.astype(np.float32), train.user_counts)
        return roots

    def _nearest(
        self, train: Interactions, rows: Rows, pairs: Shared, sizes: Any, engine: Engine
    ) -> list[Arrays]:
        """The items of largest G_ij / sqrt(G_ii) of each j: equal ones by a hash of their ids."""
        order = tie_rank(train.items, None)
        about: Arrays = {
            "tie_rank": order,
            "item_at": np.argsort(order),
            "sizes": sizes.astype(np.float32),
        }
        width = min(self.config.neighbours, train.n_items)
        blocks, settings = item_blocks(rows), {"width": width, "shrink": 0.0}
        found = engine.map_blocks(nearest_block, blocks, [pairs, about], **settings)
        return [{**one, **block} for one, block in zip(found, blocks, strict=True)]

    def _solved(
        self, train: Interactions, nearest: list[Arrays], pairs: Shared, sizes: Any, engine: Engine
    ) -> list[Arrays]:
        """The weights of the neighbours of each block."""
        m = train.n_items
        shares = (sizes / typical_pairs(train.n_pairs, m)) ** self.config.item_exponent
        known = {"of_neighbour": self.config.l2 * shares, "of_item": self.config.growth * sizes}
        if m <= MATRIX_ITEMS:
            known["G"] = _together(m, pairs, engine)
            return list(engine.map_blocks(ridge_block, nearest, [known]))
        most = int(np.sort(train.item_counts)[-nearest[0]["items"].shape[1] :].sum())
        return list(
            engine.map_blocks(ridge_block, nearest, [pairs, known], users=train.n_users, most=most)
        )

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The weights of a fit on all pairs; only items that these can change are solved again.

        New pairs have a weight of 1.
        """
        before = expect(representation, Neighbours)
        train = with_weights_of(update.train, before.history)
        rows = self._changed(before, train, update)
        if len(rows) == train.n_items:
            return self._learn(train, None, RunOptions(threads=update.threads))
        weights = self._weights(train, rows, LocalEngine(update.threads))
        stay = np.ones(train.n_items, dtype=np.bool_)
        stay[rows] = False
        weights = weights + before.postings.extended(train.n_items).columns(stay)
        return Neighbours.of(weights, root_matrix(train), self.config.weight_dtype)

    def _changed(self, before: Neighbours, train: Interactions, update: DataUpdate) -> Rows:
        """The items that share a user with an item of a user who has new pairs; or all.

        A new pair changes what all pairs of its user count, so G between their items, and what is
        near to these. All items: where few would stay, where one scale or one matrix is of all.
        """
        everything = np.arange(train.n_items, dtype=np.int32)
        old, new = int(update.known.sum()), train.n_pairs
        same = all(
            typical_pairs(old, was) == typical_pairs(new, now)
            for was, now in ((before.n_users, train.n_users), (before.n_items, train.n_items))
        )
        if not same or train.n_items <= MATRIX_ITEMS or self.config.weight_dtype == "int8":
            return everything
        touched = np.zeros(train.n_items, dtype=np.bool_)
        touched[train.indices[np.isin(train.user_rows, update.users)]] = True
        users = np.zeros(train.n_users, dtype=np.bool_)
        users[train.user_rows[touched[train.indices]]] = True
        touched[train.indices[users[train.user_rows]]] = True
        return np.flatnonzero(touched).astype(np.int32)
