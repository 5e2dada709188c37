"""The codes and the distance of an index, checked."""

from __future__ import annotations

from typing import Literal

import numpy as np

from xorec.core.arrays import as_contiguous
from xorec.core.bits import MOST_BITS, Words, words_for
from xorec.core.errors import DataError, OptionError

Distance = Literal["hamming", "masked"]
"""The bits that differ, or those that the query has and the item lacks."""


def check_codes(codes: Words, bits: int, what: str = "codes") -> Words:
    """Words (n, W) of `bits` bits."""
    codes = np.asarray(codes)
    if not 1 <= bits <= MOST_BITS:
        raise DataError(f"bits is {bits}: give a number from 1 to {MOST_BITS}.")
    if codes.dtype != np.uint64 or codes.ndim != 2 or codes.shape[1] != words_for(bits):
        raise DataError(
            f"the {what} are {codes.dtype} of shape {codes.shape}, but {bits} bits need uint64 of "
            f"shape (n, {words_for(bits)}): pack them with xorec.core.bits.pack_signs."
        )
    if bits % 64 and len(codes) and int(codes[:, -1].max()) >> (bits % 64):
        raise DataError(f"the {what} have bits behind the last of {bits}: these must be zero.")
    return as_contiguous(codes)


def is_masked(distance: str) -> bool:
    """Whether this is the distance of masked codes."""
    if distance not in ("hamming", "masked"):
        raise OptionError(f'the distance is {distance!r}: give "hamming" or "masked".')
    return distance == "masked"
