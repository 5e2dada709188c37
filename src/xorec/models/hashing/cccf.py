"""CCCF (Liu et al. 2019): several short codes for each user and item, mixed by weights.

x_ui = sum over the groups g of eta_ug xi_ig b_ug.d_ig, with G groups of r bits. The weights come
first (`cccf_weights`) and stay; then the codes are learned by DCF's sweeps on x with the targets
divided by G (`factored_codes`): all groups of a user together, then all groups of an item.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np  # noqa: F401
from pydantic import Field

from xorec.core.bits import Words, pack_signs
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import expect, expect_size
from xorec.models.hashing.cccf_weights import group_weights
from xorec.models.hashing.factored_codes import FactoredCodes, FactoredCodesConfig
from xorec.models.hashing.factored_kernels import Entities
from xorec.models.hashing.factored_sweeps import Floats
from xorec.representations.base import Representation
from xorec.representations.composed import ComposedCodes, ComposedQueries
from xorec.training.checkpoint import Arrays
from xorec.training.space import Choice, Float, Space

_MOST_GROUPS, _FEWEST_BITS = 8, 5


class CCCFConfig(FactoredCodesConfig):
    """Settings of CCCF."""

    groups: int = Field(
        0, ge=0, le=64, description="short codes in a code; 0: as many as suit the number of bits"
    )
    bandwidth: float = Field(
        3.0,
        gt=0,
        description="angle to its anchor, in right angles, from which a group weighs 0 (h)",
    )


class CCCF(FactoredCodes[CCCFConfig]):
    """Compositional codes by the squared loss.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> CCCF(bits=8, groups=2, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "cccf"
    Config = CCCFConfig
    space: ClassVar[Space] = {
        "negative_target": Float(-0.6, -0.15),
        "start_reg": Float(0.02, 0.06, log=True),
        "negatives": Choice((5, 10)),
        "bandwidth": Float(2.0, 5.0, log=True),
    }
    cost = 2.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.config.bits % self.groups:
            raise OptionError(
                f"cccf: groups is {self.config.groups} but bits is {self.config.bits}: the groups "
                "must be of one length, so take a number that divides the bits, or 0."
            )

    @property
    def groups(self) -> int:
        """As set; else the most that divide the bits, up to 8 and of no fewer than 5 bits."""
        bits = self.config.bits
        fits = [
            g for g in range(1, _MOST_GROUPS + 1) if bits % g == 0 and bits // g >= _FEWEST_BITS
        ]
        return self.config.groups or max(fits)

    def _weights(self, train: Interactions, options: RunOptions) -> tuple[Floats, Floats]:
        size = self.config.bits // self.groups
        return group_weights(train, self.groups, size, self.config.bandwidth, options)

    def _represent(self, arrays: Arrays) -> Representation:
        codes = (pack_signs(arrays["user_rows"]), pack_signs(arrays["item_rows"]))
        weights = (arrays["user_weights"].copy(), arrays["item_weights"].copy())
        return ComposedCodes(*codes, *weights, self.config.bits)

    def _stored(self, representation: Representation) -> tuple[Words, Words, Floats, Floats]:
        representation = expect(representation, ComposedCodes)
        expect_size("bits", representation.bits, self.config.bits)
        expect_size("groups", representation.user_weights.shape[1], self.groups)
        codes = (representation.user_codes, representation.item_codes)
        return (*codes, representation.user_weights, representation.item_weights)

    def _query(self, user: Entities) -> Any:
        return ComposedQueries(pack_signs(user.rows), user.weights)
