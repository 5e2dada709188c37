"""The data of rq3: codes, vectors and seen lists of a size, drawn by a seed or learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.bits import Words
from xorec.core.errors import DataError, OptionError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.text import gather_spans
from xorec.data.tie_rank import TieRank, tie_rank
from xorec.experiments.bench.data import make_data
from xorec.experiments.reproduce.speed.floats import without_bias
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Floats, Vectors
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Exclude

NEAREST = 20
"""Half of a seen list is from so many nearest items, or more where the list is longer."""
_AT_ONCE = 8_192

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SpeedData:
    """Who asks and what for: codes (n, words), vectors (n, dimensions), lists of seen items."""

    bits: int
    user_codes: Words
    item_codes: Words
    user_vectors: Floats
    item_vectors: Floats
    tie_rank: TieRank
    seen: Exclude

    @property
    def n_users(self) -> int:
        return len(self.user_codes)

    @property
    def n_items(self) -> int:
        return len(self.item_codes)

    def spread(self, count: int) -> Rows:
        """`count` users, evenly spaced."""
        return np.arange(count) * self.n_users // count

    def seen_of(self, users: Rows) -> Exclude:
        """The lists of these users."""
        indptr, indices = self.seen
        if len(users) == self.n_users:
            return self.seen
        places, cut = gather_spans(np.asarray(indptr, dtype=np.int64), users)
        return cut, indices[places]


def drawn(users: int, items: int, bits: int, seen: int, options: RunOptions) -> SpeedData:
    """Low-rank factors with some noise, like learned vectors, and their signs.

    Half of the seen items of a user are among the nearest, as people have what suits them.
    """
    made = make_data("low-rank", items, bits, users, options.seed)
    assert made.item_vectors is not None
    assert made.query_vectors is not None
    threads = options.thread_count
    index = HammingIndex(
        made.item_codes, bits, made.tie_rank, sample=made.query_codes[:_AT_ONCE], threads=threads
    )
    length = min(seen, items // 2)
    rng = np.random.default_rng([options.seed, users, items])
    counts, lists = [np.zeros(1, dtype=np.int64)], []
    with options.progress.task(f"{items:,} items: seen lists", users) as task:
        for begin in range(0, users, _AT_ONCE):
            codes = made.query_codes[begin : begin + _AT_ONCE]
            width = min(items, max(NEAREST, length))
            near = index.search(codes, width, threads=threads).items
            found = _seen(near, items, length, rng)
            counts.append(found[0])
            lists.append(found[1])
            task.advance(len(codes))
    return SpeedData(
        bits,
        made.query_codes,
        made.item_codes,
        made.query_vectors,
        made.item_vectors,
        made.tie_rank,
        (np.cumsum(np.concatenate(counts)), np.concatenate(lists)),
    )


def _seen(
    near: npt.NDArray[np.int32], items: int, length: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """How many items each user has seen, and which, ascending.

    The rule of `search_bench_data.seen_lists` for hundreds of thousands of users: all at once, so
    that an item drawn twice makes a list shorter.
    """
    half = length // 2
    own = rng.random(near.shape, dtype=np.float32).argsort(axis=1)[:, :half]
    anywhere = rng.integers(items, size=(len(near), length - half), dtype=np.int32)
    rows = np.concatenate([np.take_along_axis(near, own, axis=1), anywhere], axis=1)
    rows.sort(axis=1)
    new = np.ones(rows.shape, dtype=np.bool_)
    new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    return new.sum(axis=1, dtype=np.int64), rows[new]


def learned(
    codes: Representation, vectors: Representation, seen: Interactions, seed: int = 0
) -> SpeedData:
    """What two models have learned from the pairs `seen`: one codes, the other vectors."""
    if not isinstance(codes, Codes) or codes.user_vectors is not None:
        raise OptionError(f"codes are {codes.kind} here: give codes on both sides, as dsiml's.")
    if not isinstance(vectors, Vectors):
        raise OptionError(f"vectors are {vectors.kind} here: give vectors, such as bpr's.")
    for name, one in (("codes", codes), ("vectors", vectors)):
        if (one.n_users, one.n_items) != (seen.n_users, seen.n_items):
            raise DataError(
                f"the {name} are of {one.n_users:,} users and {one.n_items:,} items but the pairs "
                f"of {seen.n_users:,} and {seen.n_items:,}: give models that learned from them."
            )
    return SpeedData(
        codes.bits,
        codes.user_codes,
        codes.item_codes,
        *without_bias(vectors),
        tie_rank(seen.items, seen.item_counts, seed),
        (as_contiguous(seen.indptr), as_contiguous(seen.indices)),
    )
