"""Shortlist: what older files have in the place of TwoStage; it is read, never written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from xorec.core.schema import Schema, Tensor
from xorec.representations.codes import Codes
from xorec.representations.quantized import quantized_schema
from xorec.representations.two_stage import TwoStage


class Shortlist:
    """The `size` nearest items by code, in the order of vectors."""

    kind = "shortlist"
    schema: ClassVar[Schema] = {
        **{name: Codes.schema[name] for name in ("bits", "user_codes", "item_codes")},
        **quantized_schema("user"),
        **quantized_schema("item", optional=True),
        "size": Tensor("int64", (1,), least=1),
    }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> TwoStage:
        """The same in the words of today."""
        sources = np.array([tensors["size"][0], 0, 0, 0], dtype=np.int64)
        blend = np.ones(1, dtype=np.float32)
        return TwoStage.from_tensors({**tensors, "sources": sources, "blend": blend})
