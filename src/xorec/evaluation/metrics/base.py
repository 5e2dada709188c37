"""What a metric is, and what its kernels see of the rankings of some users.

A user has T relevant items: those of the test part. Under the tie rule each has one rank. Where
scores are equal, any order inside a group of equals is as good, so a metric also has an expected
value over uniformly random orders, in closed form. Of the `tied` items of a group that begins
after `above` better ones, r are relevant. Each place of the group is then relevant with
probability r / tied, two places at once with r (r - 1) / (tied (tied - 1)), and places of
different groups are independent. A group cut by k counts with the places that are inside.
Without ties the expected value is the metric itself, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import inlined

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32]

MISSED = int(np.iinfo(np.int32).max)
"""The rank, and the number above, of a test item that no k reaches."""


class Cuts(NamedTuple):
    """ks (K,): the cut-offs, ascending. discount: 1 / log2(rank + 1) for the ranks 1, 2, ...

    ideal: DCG of 0, 1, 2, ... hits at the very top. Both reach as far as any ranking.
    """

    ks: Ints
    discount: Floats
    ideal: Floats


class RankedTests(NamedTuple):
    """Where the test items of users stand; those of user u are at `indptr[u]:indptr[u + 1]`.

    ranks: 1-based, under the tie rule, ascending for each user. above, tied: how many items score
    higher and how many score the same (itself among them), ascending by `above` for each user; so
    both lists of a user run in an order of their own. What no k reaches comes last, as MISSED.
    """

    indptr: Ints
    ranks: Ranks
    above: Ranks
    tied: Ranks


Measure = Callable[[RankedTests, Cuts, Floats], None]
"""A kernel: fills (users, K), the value of each user at each cut-off."""


def _as_it_is(values: Floats, n_test: Ints, k: int) -> Floats:
    return values


@dataclass(frozen=True)
class UserMetric:
    """A metric with a value for each user; `ranked` under the tie rule, `expected` over tie orders.

    formula: what it is for one user, in words. scale: (values (n,), test items (n,), k) to the
    values of the metric. pooled: sum of values / test items of all users, instead of a mean over
    users; its values have a name of their own then, `per_user`.
    """

    name: str
    formula: str
    ranked: Measure
    expected: Measure | None
    scale: Callable[[Floats, Ints, int], Floats] = _as_it_is
    pooled: bool = False
    per_user: str = ""

    def name_at(self, k: int, ending: str) -> str:
        """What the values of each user are called, "recall@10" or "recall@10_expected"."""
        return f"{self.per_user or self.name}@{k}{ending}"

    @property
    def measures(self) -> dict[str, Measure]:
        """The kernels by the ending that the names of their values get."""
        twin = {} if self.expected is None else {"_expected": self.expected}
        return {"": self.ranked, **twin}


@dataclass(frozen=True)
class ItemMetric:
    """A metric of how often each item is shown to anyone: `of` takes these counts, (items,)."""

    name: str
    formula: str
    of: Callable[[npt.NDArray[np.integer]], float]


def discounts(length: int) -> Floats:
    """1 / log2(rank + 1) for the ranks 1 .. length."""
    return 1.0 / np.log2(np.arange(2, length + 2, dtype=np.float64))


def make_cuts(ks: tuple[int, ...], n_items: int) -> Cuts:
    """The tables for ascending cut-offs of rankings of so many items."""
    discount = discounts(min(ks[-1], n_items))
    ideal = np.concatenate([[0.0], np.cumsum(discount)])
    return Cuts(np.array(ks, dtype=np.int64), discount, ideal)


@inlined
def group_end(above: Any, at: Any, end: Any) -> Any:
    """Where the relevant items end that share the group of the one `at`."""
    past = at + 1
    while past < end and above[past] == above[at]:
        past += 1
    return past
