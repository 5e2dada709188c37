"""ItemKNN: people who have this also have that. Cosine of the items' users, nearest items kept.

Items come in blocks; each finds its neighbours from all pairs, which every block can see. SLIM and
EASE use the same blocks, and the same matrix X of users x items. With weights, an entry of X is the
root of the pair's weight: the diagonal of X'X then has the sums of the weights, as it has the
numbers of pairs without them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.engine import Arrays, joined, row_ranges
from xorec.core.kernels import kernel
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.base import DataUpdate, Model, Part, expect
from xorec.representations.base import Representation
from xorec.representations.histories import is_weighted
from xorec.representations.neighbours import Neighbours
from xorec.search.top_k import score_key, select
from xorec.training.config import Float, Int, ModelConfig, Space

if TYPE_CHECKING:
    from scipy.sparse import csr_array


C = TypeVar("C", bound=ModelConfig)


class NearestItems(NamedTuple):
    """The nearest items (r, width) of `rows` (r,), their similarities, and how many there are."""

    rows: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int64]


@kernel
def nearest_items(by_user: Any, by_item: Any, about: Any, shrink: Any, nearest: Any) -> None:
    """The nearest items of the items nearest.rows into the other arrays of `nearest`.

    by_user (indptr, items, roots), by_item (indptr, users, roots): the pairs and the roots of their
    weights; about: (tie rank of each item, item at each rank, sum of each item's weights). Best
    first; equal ones by the tie rule. Items that share no user are no neighbours.
    """
    indptr, indices, roots = by_user
    item_indptr, item_users, item_roots = by_item
    tie_rank, item_at, sizes = about
    rows, items, weights, counts = nearest
    m, width = len(tie_rank), items.shape[1]
    together = np.zeros(m, dtype=np.float64)
    touched = np.empty(m, dtype=np.int32)
    keys = np.empty(m, dtype=np.uint64)
    for r in range(len(rows)):
        i, found = rows[r], 0
        for at in range(item_indptr[i], item_indptr[i + 1]):
            user = item_users[at]
            for pair in range(indptr[user], indptr[user + 1]):
                j = indices[pair]
                if j != i:
                    if together[j] == 0:
                        touched[found] = j
                        found += 1
                    together[j] += np.float64(item_roots[at]) * roots[pair]
        for place in range(found):
            j = touched[place]
            cosine = np.float32(together[j]) / (np.sqrt(sizes[i] * sizes[j]) + shrink)
            keys[place] = score_key(cosine) | np.uint64(tie_rank[j])
        kept = min(width, found)
        if kept < found:
            select(keys, found, kept)
        keys[:kept].sort()
        for place in range(kept):
            j = item_at[np.int64(keys[place] & np.uint64(0xFFFFFFFF))]
            items[r, place] = j
            weights[r, place] = np.float32(together[j]) / (np.sqrt(sizes[i] * sizes[j]) + shrink)
        counts[r] = kept
        for place in range(found):
            together[touched[place]] = 0


_LEAST = 16
"""Items of a block, at least: they differ much in what they cost."""


def item_blocks(rows: npt.NDArray[np.int32]) -> list[Arrays]:
    """These items, some at a time."""
    return [{"rows": rows[begin:end]} for begin, end in row_ranges(len(rows), least=_LEAST)]


def shared_pairs(train: Interactions, roots: npt.NDArray[np.float32]) -> dict[str, Any]:
    """The pairs by user and by item, and the roots of what each counts."""
    indptr, users = train.by_item
    by_user = {"user_starts": train.indptr, "items": train.indices, "roots": roots}
    by_item = {"item_starts": indptr, "users": users, "item_roots": roots[train.item_order]}
    return {**by_user, **by_item}


def pairs_of(shared: Arrays) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """by_user, by_item as kernels take them."""
    by_user = shared["user_starts"], shared["items"], shared["roots"]
    return by_user, (shared["item_starts"], shared["users"], shared["item_roots"])


def nearest_block(block: Arrays, shared: Arrays, width: int, shrink: float) -> Arrays:
    """The nearest items of the items of a block: see `nearest_items`."""
    rows, shape = block["rows"], (len(block["rows"]), width)
    items, weights = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32)
    nearest = NearestItems(rows, items, weights, np.zeros(len(rows), dtype=np.int64))
    about = shared["tie_rank"], shared["item_at"], shared["sizes"]
    nearest_items(*pairs_of(shared), about, np.float32(shrink), nearest)
    return {"items": items, "weights": weights, "counts": nearest.counts}


def root_weights(train: Interactions) -> npt.NDArray[np.float32]:
    """The root of each pair's weight; ones where there are none."""
    if train.weights is None:
        return np.ones(train.n_pairs, dtype=np.float32)
    return np.sqrt(train.weights)


def root_matrix(train: Interactions) -> csr_array[np.float32]:
    """X: users x items, with the roots of the weights."""
    return train.matrix(root_weights(train))


def with_weights_of(train: Interactions, history: csr_array[np.float32]) -> Interactions:
    """The pairs with the weights that some of them had in the history of a fit, the others with 1.

    >>> from xorec.testing.data import planted, weighted
    >>> data = weighted(planted(4, 9, per_user=3))
    >>> np.allclose(with_weights_of(data, root_matrix(data)).weights, data.weights)
    True
    """
    if not is_weighted(history):
        return train
    from scipy.sparse import csr_array

    indptr = np.pad(history.indptr, (0, train.n_users - history.shape[0]), mode="edge")
    shape = (train.n_users, train.n_items)
    more = csr_array((history.data**2 - 1, history.indices, indptr), shape=shape)
    weights: csr_array[np.float32] = train.matrix() + more  # type: ignore[assignment]
    return replace(train, weights=weights.data)


class ItemModel(Model[C]):
    """Learns weights between items; a user is a row of X. For SLIM, EASE and their like, too.

    Such a model writes `_learn` alone and returns `Neighbours.of(weights, root_matrix(train))`; one
    that returns `ItemWeights` says so in `_kind`.
    """

    def _kind(self) -> Any:
        """The kind of representation that it learns: one with the `history` of the users."""
        return Neighbours

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user is their items: a sparse row of ones, (1, n_items)."""
        from scipy.sparse import csr_array

        items, n_items = np.unique(history), expect(representation, self._kind()).n_items
        ones = np.ones(len(items), dtype=np.float32)
        return csr_array((ones, items, [0, len(items)]), shape=(1, n_items))

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """All weights again: exact, and as long as a fit. New pairs have a weight of 1."""
        history = expect(representation, self._kind()).history
        train = with_weights_of(update.train, history)
        return self._learn(train, None, RunOptions(threads=update.threads))


class ItemKNNConfig(ModelConfig):
    """Settings of ItemKNN."""

    neighbours: int = Field(
        100, ge=1, description="neighbours kept for each item: more cost memory"
    )
    shrink: float = Field(
        0.0, ge=0, description="added to the denominator of the cosine: more distrusts rare items"
    )


class ItemKNN(ItemModel[ItemKNNConfig]):
    """similarity(i, j) = |U_i and U_j| / (sqrt(|U_i| |U_j|) + shrink), U_i the users of item i.

    With weights w_ui, |U_i| is the sum of w_ui, |U_i and U_j| the sum of sqrt(w_ui w_uj), and a
    user's items count by sqrt(w_ui).

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "rye"), ("bob", "tea"), ("bob", "rye"), ("eve", "tea")]
    >>> data = xorec.Interactions.from_pairs(pairs)
    >>> shop = xorec.Recommender.from_model(xorec.ItemKNN().fit(data), data)
    >>> [found.id for found in shop.recommend("eve", 1).items]
    ['rye']
    """

    name = "item-knn"
    work = "neighbours"
    runs_on_engine = True
    Config = ItemKNNConfig
    weighting = "cosine of weighted users; a user's items count by the root of their weights"
    space: ClassVar[Space] = {"neighbours": Int(10, 500, log=True), "shrink": Float(0.0, 50.0)}

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        from scipy.sparse import csr_array

        m = train.n_items
        width = min(self.config.neighbours, m)
        order = tie_rank(train.items, train.item_counts)
        sizes = np.bincount(train.indices, train.weights, m).astype(np.float32)
        pairs = shared_pairs(train, root_weights(train))
        about: Arrays = {"tie_rank": order, "item_at": np.argsort(order), "sizes": sizes}
        blocks = item_blocks(np.arange(m, dtype=np.int32))
        settings = {"width": width, "shrink": self.config.shrink}
        found = options.block_engine.map_blocks(nearest_block, blocks, [pairs, about], **settings)
        nearest = joined(list(found))
        kept = np.arange(width) < nearest["counts"][:, None]
        indptr = np.concatenate([[0], np.cumsum(nearest["counts"])])
        entries = nearest["weights"][kept], nearest["items"][kept], indptr
        return Neighbours.of(csr_array(entries, shape=(m, m)), root_matrix(train))
