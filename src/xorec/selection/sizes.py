"""Sizes: how many bits a representation takes for a user, for an item, and for all together."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from xorec.representations.base import Representation


@dataclass(frozen=True)
class Sizes:
    """user_bits, item_bits: of one row, without the bits that only fill up a word. shared_bits:
    what belongs to nobody alone (codebooks)."""

    user_bits: int
    item_bits: int
    shared_bits: int

    def row(self) -> dict[str, int]:
        """One flat row."""
        return dict(vars(self))


def sizes_of(representation: Representation) -> Sizes:
    """From the tensors: those of users and of items have it in their names.

    >>> import numpy as np
    >>> from xorec.representations.codes import Codes
    >>> sizes_of(Codes.from_signs(np.ones((3, 20)), np.ones((5, 20)))).row()
    {'user_bits': 20, 'item_bits': 20, 'shared_bits': 0}
    """
    bits = {"user": 0, "item": 0, "shared": 0}
    tensors = representation.tensors()
    for name, tensor in tensors.items():
        side = name.partition("_")[0]
        if side not in ("user", "item"):
            bits["shared"] += 8 * tensor.nbytes if tensor.ndim > 1 else 0
        elif name.endswith("_codes"):
            bits[side] += representation.code_length or _codeword_bits(tensors["codebooks"].shape)
        elif len(tensor):
            bits[side] += 8 * tensor.nbytes // len(tensor)
    return Sizes(bits["user"], bits["item"], bits["shared"])


def _codeword_bits(shape: tuple[int, ...]) -> int:
    """Of one codeword from each of shape[0] books of shape[1]."""
    return int(shape[0] * log2(shape[1]))
