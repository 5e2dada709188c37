"""A model of random codes for the benchmarks of stores: items and users with text ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def save_shop(path: Path, items: int, users: int, bits: int, per_user: int = 10) -> None:
    """Write a model file; ids like `item-000000007`, `per_user` seen items a user."""
    from xorec.core.bits import words_for
    from xorec.data.ids import Ids
    from xorec.data.text import Text
    from xorec.recommender.recommender import Recommender
    from xorec.representations.codes import Codes

    rng = np.random.default_rng(0)
    used = np.uint64(2 ** (bits % 64 or 64) - 1)

    def codes(rows: int) -> np.ndarray:
        words = rng.integers(0, 2**64 - 1, (rows, words_for(bits)), dtype=np.uint64, endpoint=True)
        words[:, -1] &= used
        return words

    def ids(name: str, rows: int) -> Ids:
        text = b"".join(b"%s-%09d" % (name.encode(), row) for row in range(rows))
        offsets = np.arange(rows + 1) * (len(name) + 10)
        return Ids("str", Text(np.frombuffer(text, np.uint8), offsets))

    step = items // per_user  # one item of each tenth of the catalogue: ascending, each once
    seen = rng.integers(0, step, (users, per_user), dtype=np.int32) + np.arange(
        per_user, dtype=np.int32
    ) * np.int32(step)
    learned = Codes(codes(users), codes(items), bits)
    Recommender(
        learned,
        user_ids=ids("user", users),
        item_ids=ids("item", items),
        seen=(np.arange(users + 1) * per_user, seen.reshape(-1)),
        item_counts=np.ones(items, dtype=np.int64),
        tie_rank=rng.permutation(items).astype(np.int32),
        metadata={"model": "signs", "config": {}, **learned.metadata()},
    ).save(path, index=False)
