"""The second stage of a model as tables: what puts the items that were found by code in order.

Numbers are those of the model file: a vector or weight of bytes stays whole numbers, with its
scale beside it, so that whoever multiplies gets the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xorec.recommender.recommender import Recommender
from xorec.representations.histories import is_weighted
from xorec.representations.two_stage import TwoStage
from xorec.stores.about import About
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
