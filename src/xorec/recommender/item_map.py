"""The map of a recommender's items: a layout by name, as whole numbers, kept in the model file.

A layout is made of a row of numbers for each item: bits, vectors, or directions of item weights.
The simple one is their principal components, the two directions in which items differ most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.threads import one_blas_thread
from xorec.recommender.neighbour_layout import neighbour_layout
from xorec.recommender.recommender import Recommender
from xorec.recommender.similarity import compared_items, item_codes
from xorec.recommender.state import RecommenderState
from xorec.representations.base import Representation
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.representations.shared_scores import SharedScores

_DIRECTIONS = 8
_ITERATIONS = 24
_MOST_PRODUCTS = 4e9
"""Products of a weight and a number, in all rounds: fewer rounds where there are many weights."""


def weight_directions(weights: Any) -> npt.NDArray[np.float32]:
    """Leading directions (m, 8) of the weights between m items, sparse or dense; unit columns.

    Subspace iteration with S = D^-1/2 (|W| + |W|') D^-1/2, D the row sums, without its first
    direction sqrt(D), which tells apart nothing: items that speak for the same items lie near each
    other. It starts from fixed numbers and has one order of sums: same weights, same bits.

    >>> two = np.array([[0, 2, 0, 0], [2, 0, .1, 0], [0, .1, 0, 2], [0, 0, 2, 0]], np.float32)
    >>> np.sign(weight_directions(two)[:, 0]).tolist() in ([1, 1, -1, -1], [-1, -1, 1, 1])
    True
    """
    multiply, first = _symmetric(weights)
    n, count = len(first), getattr(weights, "nnz", None) or max(1, np.size(weights))
    wanted = max(1, min(_DIRECTIONS, n - 1))
    rounds = int(np.clip(_MOST_PRODUCTS / (count * wanted * 2), 4, _ITERATIONS))
    with one_blas_thread():
        block = np.sin(np.outer(np.arange(1, n + 1), np.arange(1, wanted + 1)) * 1.6180339887)
        for _ in range(rounds):
            block = _orthonormal(multiply(block) + block, first)  # + block: no eigenvalue below 0
        _, rotation = np.linalg.eigh(block.T @ multiply(block))
        return np.ascontiguousarray(block @ rotation[:, ::-1], dtype=np.float32)


def _symmetric(weights: Any) -> tuple[Any, npt.NDArray[np.float64]]:
    """The product with S, and its first direction."""
    W = abs(weights)
    degrees = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(np.maximum(degrees, 1e-12)).astype(np.float64)
    inverse = (1 / np.where(degrees > 0, root, np.inf))[:, None]
    first = np.where(degrees > 0, root, 0)
    T = W.T.tocsr() if hasattr(W, "tocsr") else W.T

    def product(block: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        scaled = (block * inverse).astype(np.float32)
        return np.asarray(inverse * (W @ scaled + T @ scaled), dtype=np.float64)

    return product, first / max(float(np.linalg.norm(first)), 1e-12)


def _orthonormal(
    block: npt.NDArray[np.float64], first: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Orthonormal columns of the same span, without `first`."""
    rest = block - np.outer(first, first @ block)
    q, r = np.linalg.qr(rest)
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


Floats = npt.NDArray[np.float32]
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Features:
    """Rows of numbers (m, d), made piece by piece: bits of a million items stay packed.

    >>> codes = np.array([[0b01], [0b11]], dtype=np.uint64)
    >>> Features(codes, bits=2).rows(slice(0, 2))
    array([[ 1., -1.],
           [ 1.,  1.]], dtype=float32)
    """

    stored: npt.NDArray[Any]
    bits: int = 0

    def rows(self, which: slice) -> Floats:
        """Some rows: bits as -1 and 1."""
        some = np.ascontiguousarray(self.stored[which])
        if not self.bits:
            return some.astype(np.float32, copy=False)
        spread = np.unpackbits(some.view(np.uint8), axis=1, bitorder="little", count=self.bits)
        return spread.astype(np.float32) * 2 - 1


def features_of(state: RecommenderState) -> Features:
    """Codes before vectors before item weights; where items are not compared, their popularity."""
    learned, coded = state.representation, item_codes(state)
    if coded is not None:
        return Features(*coded)
    vectors = learned.arrays().get("item_vectors")
    if vectors is not None:
        return Features(vectors)
    if isinstance(learned, Neighbours):
        return Features(weight_directions(learned.similarity))
    if isinstance(learned, ItemWeights):
        found = weight_directions(learned.weights)
        spread = np.zeros((learned.n_items, found.shape[1]), dtype=np.float32)
        spread[learned.items] = found
        return Features(spread)
    scores = learned.item_scores if isinstance(learned, SharedScores) else state.item_counts
    return Features(_along_a_line(np.asarray(scores), state.tie_rank))


def _along_a_line(scores: npt.NDArray[Any], tie_rank: npt.NDArray[np.int32]) -> Floats:
    """x: the score; y: spread by the tie order, for items without similarities."""
    size = np.log1p(np.maximum(scores, 0).astype(np.float64))
    apart = (tie_rank * _GOLDEN) % 1 - 0.5
    spread = np.column_stack([size / max(float(size.max(initial=0)), 1e-9), 0.3 * apart])
    return spread.astype(np.float32)


_PLANE_SAMPLE = 20_000
_ROWS_AT_ONCE = 65_536


def principal_plane(features: Features) -> npt.NDArray[np.float32]:
    """Two numbers an item (m, 2). Signs by rule: the largest weight of a direction is positive.

    Directions come from at most 20,000 items, evenly spaced; all items are then projected. One
    BLAS thread: the same bits on any number of them.
    """
    with one_blas_thread():
        sample = features.rows(slice(None, None, max(1, len(features.stored) // _PLANE_SAMPLE)))
        centre = sample.mean(axis=0, dtype=np.float64)
        about = sample.astype(np.float64) - centre
        _, directions = np.linalg.eigh(about.T @ about)
        axes = directions[:, ::-1][:, :2]
        if axes.shape[1] < 2:
            axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
        largest = axes[np.abs(axes).argmax(axis=0), np.arange(2)]
        axes = (axes * np.where(largest < 0, -1.0, 1.0)).astype(np.float32)
        xy = np.empty((len(features.stored), 2), dtype=np.float32)
        for begin in range(0, len(xy), _ROWS_AT_ONCE):
            which = slice(begin, begin + _ROWS_AT_ONCE)
            xy[which] = (features.rows(which) - centre.astype(np.float32)) @ axes
    return xy


_JUDGED = 500
_JUDGED_AT_ONCE = 16


def kept_neighbours(
    among_items: Representation,
    xy: npt.NDArray[np.int16],
    cuts: tuple[int, ...] = (10, 50),
    k: int = 10,
) -> dict[int, float]:
    """By cut: which share of the k nearest of 500 items are among the `cut` nearest on the map.

    Items are evenly spaced rows. An item as near as the k-th counts as one of the nearest, k at
    most: codes have many ties, and none of them is more of a neighbour than another. On the map,
    ties go by row.
    """
    n = len(xy)
    k, deepest = min(k, n - 1), min(max(cuts), n - 1)
    rows = np.unique(np.linspace(0, n - 1, min(n, _JUDGED)).astype(np.int64))
    x, y = xy[:, 0].astype(np.float32), xy[:, 1].astype(np.float32)
    kept = dict.fromkeys(cuts, 0)
    for begin in range(0, len(rows), _JUDGED_AT_ONCE):
        some = rows[begin : begin + _JUDGED_AT_ONCE]
        scores = among_items.score(among_items.queries(some))
        for row, likeness in zip(some.tolist(), scores, strict=True):
            distance = np.square(x - x[row]) + np.square(y - y[row])
            distance[row], likeness[row] = np.inf, -np.inf
            near = np.argpartition(distance, deepest - 1)[:deepest]
            near = near[np.argsort(distance[near], kind="stable")]
            is_near = likeness[near] >= np.partition(likeness, n - k)[n - k]
            for cut in cuts:
                kept[cut] += min(k, int(is_near[:cut].sum()))
    return {cut: kept[cut] / max(1, k * len(rows)) for cut in cuts}


Layout = Literal["pca", "neighbours"]
LAYOUTS: tuple[str, ...] = get_args(Layout)
LARGEST = 32_767


def layout_of(recommender: Recommender) -> str:
    """How the map that is stored with a recommender was made; "" where there is none."""
    if recommender.map_xy is None:
        return ""
    return str(recommender.metadata.get("map", {}).get("layout", "unknown"))


def principal_places(recommender: Recommender) -> npt.NDArray[np.int16]:
    """Places by principal components; of every model, deterministic.

    >>> from xorec.testing.examples import shop
    >>> principal_places(shop()).shape
    (3, 2)
    """
    return whole(principal_plane(features_of(recommender)))


def with_map(
    recommender: Recommender, layout: str = "neighbours", options: RunOptions = DEFAULTS
) -> tuple[Recommender, dict[str, Any]]:
    """The recommender with a map, and what to say of it: seconds are not in it, so that equal
    input gives equal files. Besides the layout, which share of the 10 nearest neighbours of an
    item is among the 10 and the 50 nearest on the map (where items are compared at all).
    """
    if layout not in LAYOUTS:
        raise OptionError(f"layout is {layout!r}: give {' or '.join(LAYOUTS)}.")
    compares = recommender.representation.compares_items and len(recommender.item_ids) > 1
    if layout == "neighbours" and not compares:
        raise OptionError(
            "this model does not compare items: take --layout pca, or a model that learns from "
            "pairs."
        )
    laid = principal_plane(features_of(recommender))
    xy = whole(laid if layout == "pca" else neighbour_layout(recommender, laid, options))
    about: dict[str, Any] = {"layout": layout, "seed": options.seed}
    if compares:
        kept = kept_neighbours(compared_items(recommender), xy)
        about |= {f"kept_{cut}": round(share, 4) for cut, share in kept.items()}
    made = replace(recommender, map_xy=xy, metadata={**recommender.metadata, "map": about})
    if "index" in vars(recommender):
        vars(made)["index"] = recommender.index  # nothing of it has changed
    return made, about


def whole(xy: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int16]:
    """As whole numbers, -32767 to 32767: one scale for both axes, around the middle.

    >>> whole(np.array([[0.0, 1.0], [4.0, 2.0]])).tolist()
    [[-32767, -8192], [32767, 8192]]
    """
    if not len(xy):
        return np.zeros((0, 2), dtype=np.int16)
    wide = xy.astype(np.float64)
    wide -= (wide.max(axis=0) + wide.min(axis=0)) / 2
    reach = float(np.abs(wide).max())
    return np.asarray(np.rint(wide / (reach or 1) * LARGEST), dtype=np.int16)
