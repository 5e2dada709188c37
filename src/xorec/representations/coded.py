"""Coded: what all representations by codes of users and items have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import digest
from xorec.core.bits import Words
from xorec.core.code_rows import CodeRows
from xorec.representations.base import Representation, Rows, Tensors

CodeLike = CodeRows | npt.NDArray[Any]
"""Words uint64 (n, W), what a file keeps of them, or codes that are checked already."""


class Coded(Representation):
    """user_rows, item_rows: the codes, `bits` long. Words are made of them when asked for."""

    def __init__(self, user_codes: CodeLike, item_codes: CodeLike, bits: int) -> None:
        self.user_rows = CodeRows.of(user_codes, bits, "user codes")
        self.item_rows = CodeRows.of(item_codes, bits, "item codes")
        self.bits = bits

    @property
    def n_users(self) -> int:
        return len(self.user_rows)

    @property
    def n_items(self) -> int:
        return len(self.item_rows)

    @property
    def user_codes(self) -> Words:
        """The users' codes as words (n, W)."""
        return self.user_rows.words

    @property
    def item_codes(self) -> Words:
        """The items' codes as words (m, W)."""
        return self.item_rows.words

    @property
    def code_length(self) -> int:
        return self.bits

    def codes_of(self, items: Rows) -> Words:
        return self.item_rows[items]

    def metadata(self) -> dict[str, Any]:
        """`codes`: their length, and a digest that equal codes share on every machine."""
        words = {"users": self.user_codes, "items": self.item_codes}
        found = digest({name: words[name].astype("<u8", copy=False) for name in words})
        return {"codes": {"bits": self.bits, "digest": found}}

    def tensors(self) -> Tensors:
        return {
            "user_codes": self.user_rows.stored,
            "item_codes": self.item_rows.stored,
            "bits": np.array([self.bits]),
        }
