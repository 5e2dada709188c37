"""The tie rule (METHOD.md, section 6): equal scores rank by a prior, then by a hash of the id.

Never by row number: rows are often sorted by popularity, and that would leak into every figure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.text import Text

TieRank = npt.NDArray[np.int32]


def tie_rank(items: Ids, prior: npt.NDArray[np.generic] | None, seed: int = 0) -> TieRank:
    """The place of every item among equals: a permutation of 0 .. m - 1, int32 (m,).

    Ranking everywhere is by score, descending, then by this number, ascending. The order is: a
    larger `prior` first (popularity in training; None for no prior), then the smaller seeded hash
    of the raw id. Should two hashes ever collide, the smaller id goes first.
    """
    if prior is not None and prior.shape != (len(items),):
        raise DataError(
            f"the prior has shape {prior.shape} but there are {len(items)} items: "
            "give one number for each item."
        )
    hashes = items.hashes(seed)
    order = np.lexsort((hashes,) if prior is None else (hashes, -prior.astype(np.float64)))
    same = hashes[order][1:] == hashes[order][:-1]
    if prior is not None:
        same &= prior[order][1:] == prior[order][:-1]
    places = np.flatnonzero(same)
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else ():
        span = slice(run[0], run[-1] + 2)  # equal by prior and hash: the order is that of the ids
        order[span] = sorted(order[span], key=lambda row: _id_key(items, int(row)))
    rank = np.empty(len(items), dtype=np.int32)
    rank[order] = np.arange(len(items), dtype=np.int32)
    return rank


def _id_key(items: Ids, row: int) -> bytes | int:
    values = items.values
    return values.raw(row) if isinstance(values, Text) else int(values[row])
