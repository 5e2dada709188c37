"""A model to serve that nobody had to learn: codes drawn by seed, with what each user has."""

from __future__ import annotations

import numpy as np

from xorec.data.ids import Ids
from xorec.data.tie_rank import tie_rank
from xorec.experiments.bench.data import make_data
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes

_STREAM = 6


def drawn_recommender(
    items: int, users: int, bits: int = 64, *, seen: int = 20, seed: int = 0
) -> Recommender:
    """Low-rank codes, and `seen` items of each user, popular ones more often. Ids are numbers from
    0; an item's is its row. It folds in as `dsiml` does.

    >>> drawn_recommender(100, 10, bits=16).recommend(3, k=5).ids() == (
    ...     drawn_recommender(100, 10, bits=16).recommend(3, k=5).ids()
    ... )
    True
    """
    from xorec.models.siml.dsiml import DSIML

    data = make_data("low-rank", items, bits, users, seed, vectors=False)
    rng = np.random.default_rng((seed, _STREAM))
    places = (rng.random((users, seen)) ** 2 * items).astype(np.int32)
    places.sort(axis=1)
    first = np.ones(places.shape, dtype=np.bool_)
    first[:, 1:] = places[:, 1:] != places[:, :-1]
    indptr = np.concatenate([[0], first.sum(axis=1).cumsum()]).astype(np.int64)
    taken = places[first]
    ids = Ids("int64", np.arange(items))
    counts = np.bincount(taken, minlength=items).astype(np.int64)
    codes = Codes(data.query_codes, data.item_codes, bits)
    return Recommender(
        codes,
        users=Ids("int64", np.arange(users)),
        items=ids,
        seen=(indptr, taken),
        prior=counts,
        tie_rank=tie_rank(ids, counts),
        metadata={
            "model": "dsiml",
            "config": DSIML(bits=bits).config.model_dump(),
            "seed": seed,
            "data": {"users": users, "items": items, "pairs": len(taken), "digest": "drawn"},
            **codes.metadata(),
        },
    )
