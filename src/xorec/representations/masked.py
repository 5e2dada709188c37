"""MaskedCodes: the user's code says which bits matter, and an item loses for each that it lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs
from xorec.core.errors import DataError
from xorec.core.kernels import is_loaded
from xorec.representations import single_query
from xorec.representations.base import Floats, Scores
from xorec.representations.coded import CodeLike
from xorec.representations.codes import Codes


class MaskedCodes(Codes):
    """score(u, i) = 1 - |u and not i| / bits, in [0, 1]: the projected Hamming distance.

    The user's set bits are the mask under which both codes are compared, so a bit that the user
    does not have counts for nothing. The codes are those of `Codes`; a set bit is 1.

    >>> codes = MaskedCodes.from_bits(np.array([[1, 1, 0, 0]]), np.array([[1, 0, 1, 1]]))
    >>> codes.scores(np.array([0]))
    array([[0.75]], dtype=float32)
    """

    kind = "masked-codes"

    def __init__(
        self,
        user_codes: CodeLike,
        item_codes: CodeLike,
        bits: int,
        user_vectors: Floats | None = None,
        item_offsets: npt.ArrayLike | None = None,
    ) -> None:
        if user_vectors is not None or item_offsets is not None:
            raise DataError(
                "a mask is made of bits: masked codes take no user vectors and no offsets."
            )
        super().__init__(user_codes, item_codes, bits)

    @classmethod
    def from_bits(cls, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> MaskedCodes:
        """From bits (n, d), (m, d): bool, or 0 and 1."""
        packed = [pack_signs(np.where(np.asarray(bits) > 0, 1, -1)) for bits in (users, items)]
        return cls(packed[0], packed[1], users.shape[1])

    def score(self, queries: Any) -> Scores:
        from xorec.representations.codes import masked_agreement

        queries = np.ascontiguousarray(np.atleast_2d(queries))
        if len(queries) == 1 and not is_loaded(masked_agreement):
            found = single_query.distances(queries[0], self.item_codes, masked=True)
            return single_query.agreement(found, self.bits)[None]
        scores = np.empty((len(queries), self.n_items), dtype=np.float32)
        masked_agreement(queries, self.item_codes, self.bits, scores)
        return scores

    @property
    def score_description(self) -> str:
        return "the share of bits in which the item does not lack what the user has"

    def bits_agreed(self, query: Any, item: int) -> int:
        """The bits in which the item does not lack what the user has."""
        lacks = self.query_code(query) & ~self.item_rows[np.array([item])]
        return self.bits - int(np.bitwise_count(lacks).sum())
