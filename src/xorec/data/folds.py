"""folds: cross-validation. Every pair is tested once, by a model that has not learned it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from xorec.core.errors import OptionError
from xorec.data.interactions import TEST, TRAIN
from xorec.data.io.read import ReadOptions, as_interactions
from xorec.data.split import Split, split


def folds(
    data: Any,
    count: int = 5,
    *,
    validation: float = 0.0,
    seed: int = 0,
    keep_last: bool = True,
    **reading: Unpack[ReadOptions],
) -> Iterator[Split]:
    """Split `data` into `count` random parts of the same size, each the test part of one split.

    data: Interactions, or what `read` takes; a split that it brings along is not used.
    reading: how `read` reads it: user_column, ...
    validation: a share of each training part. keep_last: a user or item whose training pairs would
    all leave gets the first of them back, so that pair is tested in no fold. Which part a pair is
    in hangs on the seed and the raw ids alone.

    >>> pairs = [(user, item) for user in range(5) for item in range(20)]
    >>> [(parts.train.n_pairs, parts.test.n_pairs) for parts in folds(pairs, 4)]
    [(75, 25), (75, 25), (75, 25), (75, 25)]
    """
    from xorec.data.cut import bring_back, pair_keys

    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise OptionError(f"count is {count!r}: give a whole number of folds, 2 or more.")
    data = as_interactions(data, **reading)
    data.require_pairs()
    keys = pair_keys(data.indptr, data.indices, data.users.hashes(seed), data.items.hashes(seed))
    fold_of = np.empty(data.n_pairs, dtype=np.int64)
    fold_of[np.argsort(keys, kind="stable")] = np.arange(data.n_pairs) % count
    for fold in range(count):
        held_out = fold_of == fold
        wanted = int(np.count_nonzero(held_out))
        if keep_last:
            when = keys.view(np.int64)
            bring_back(data.indptr, data.indices, when, keys, held_out, data.n_items)
        parts = np.where(held_out, TEST, TRAIN).astype(np.int8)
        given = split(
            replace(data, parts=parts, parts_from={}),
            method="given",
            validation=validation,
            seed=seed,
            keep_last=keep_last,
        )
        settings = {**given.settings, "method": "folds", "fold": fold, "folds": count}
        kept_back = given.kept_back + wanted - int(np.count_nonzero(held_out))
        yield replace(given, settings=settings, kept_back=kept_back)
