"""DCF (Zhang et al. 2016): codes by squared loss on sampled pairs, balanced and decorrelated.

minimise  sum over sampled (u, i) of (s_ui - b_u.d_i)^2 - 2 alpha tr(B'X) - 2 alpha tr(D'Y),

s = +r for a pair that is there, `negative_target` r for one that is not (`factored_codes`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from xorec.core.bits import Words, pack_signs
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import expect, expect_size
from xorec.models.hashing.factored_codes import FactoredCodes, FactoredCodesConfig
from xorec.models.hashing.factored_kernels import Entities
from xorec.models.hashing.factored_sweeps import Floats
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.training.checkpoint import Arrays
from xorec.training.config import Choice, Float, Space


class DCFConfig(FactoredCodesConfig):
    """Settings of DCF."""


class DCF(FactoredCodes[DCFConfig]):
    """Binary matrix factorisation with the squared loss: one group, whose weights are 1.

    >>> import xorec
    >>> data = xorec.Interactions.from_pairs([("ann", "tea"), ("ann", "rye"), ("bob", "fig")])
    >>> codes = xorec.DCF(bits=16, negatives=1, epochs=2).fit(data).representation_
    >>> codes.user_codes.shape, codes.bits
    ((2, 1), 16)
    """

    name = "dcf"
    Config = DCFConfig
    space: ClassVar[Space] = {
        "negative_target": Float(-0.6, -0.15),
        "start_reg": Float(0.02, 0.06, log=True),
        "negatives": Choice((5, 10)),
    }
    cost = 2.0

    @property
    def groups(self) -> int:
        return 1

    def _weights(self, train: Interactions, options: RunOptions) -> tuple[Floats, Floats]:
        return _ones(train.n_users), _ones(train.n_items)

    def _represent(self, arrays: Arrays) -> Representation:
        return Codes.from_signs(arrays["user_rows"], arrays["item_rows"])

    def _stored(self, representation: Representation) -> tuple[Words, Words, Floats, Floats]:
        representation = expect(representation, Codes)
        expect_size("bits", representation.bits, self.config.bits)
        users, items = representation.user_codes, representation.item_codes
        return users, items, _ones(len(users)), _ones(len(items))

    def _query(self, user: Entities) -> Any:
        return pack_signs(user.rows)


def _ones(count: int) -> Floats:
    return np.ones((count, 1), dtype=np.float32)
