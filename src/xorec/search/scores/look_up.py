"""LookUpIndex: exact top-k of scores that are sums of look-ups, one for each byte of an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.lazy_kernel import is_loaded
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.representations.look_up_kernels import look_up_all
from xorec.representations.single_query import look_up
from xorec.search.batches import Nearest, Numbers
from xorec.search.filters import Filters
from xorec.search.scores.blocks import Arrays, BlockIndex, Part
from xorec.search.scores.look_up_kernels import scan_look_up


class LookedUp(Protocol):
    """A representation whose score is the sum over s of tables(query)[s, columns[s, item]].

    Queries are vectors.
    """

    @property
    def columns(self) -> npt.NDArray[np.uint8]:
        """The items, (S, m)."""
        ...

    def tables(self, queries: Any) -> npt.NDArray[np.float32]:
        """The tables of queries, (B, S, 256)."""
        ...

    @property
    def query_length(self) -> int:
        """Numbers of a query."""
        ...

    @property
    def score_description(self) -> str:
        """What a score is."""
        ...


class LookUpIndex(BlockIndex):
    """The columns are the items' bytes."""

    def __init__(self, codes: LookedUp, tie_rank: TieRank) -> None:
        super().__init__((codes.columns,), tie_rank)
        self.codes = codes

    @property
    def score_description(self) -> str:
        return self.codes.score_description

    def _ready(self, queries: Any) -> Arrays:
        vectors = np.ascontiguousarray(np.atleast_2d(queries), dtype=np.float32)
        if vectors.shape[1] != self.codes.query_length:
            raise DataError(
                f"a query has {vectors.shape[1]} numbers but {self.codes.query_length} are needed."
            )
        if not np.isfinite(vectors).all():
            raise DataError("the queries have NaN or infinity among them.")
        return (vectors,)

    def _scan(
        self, part: Part, ready: Arrays, filters: Filters, nearest: Nearest
    ) -> Callable[[Numbers], object]:
        (columns,), (vectors,) = part.columns, ready

        def scan(which: Numbers) -> None:
            tables = self.codes.tables(vectors[which])
            scan_look_up(columns, part.rows, tables, which, filters, nearest)

        return scan

    def _score(self, part: Part, ready: Arrays) -> Scores:
        (columns,), (vectors,) = part.columns, ready
        if len(vectors) == 1 and not is_loaded(look_up_all):
            return look_up(columns, self.codes.tables(vectors)[0])[None]
        scores = np.empty((len(vectors), len(part.rows)), dtype=np.float32)
        look_up_all(columns, self.codes.tables(vectors), scores)
        return scores
