"""How DSIML learns its bits (METHOD, sections 3 and 4): one file for each optimiser, one line here.

All else about an optimiser is declared on its class (`base.Optimizer`).
"""

from __future__ import annotations

from xorec.models.siml.optimizers.base import Optimizer
from xorec.models.siml.optimizers.bqp import BinaryQuadratic
from xorec.models.siml.optimizers.flip import Flip
from xorec.models.siml.optimizers.none import TurnedSigns
from xorec.models.siml.optimizers.ste import StraightThrough
from xorec.training.auto import AUTO

OPTIMIZERS: dict[str, type[Optimizer]] = {
    optimizer.name: optimizer
    for optimizer in (
        StraightThrough,
        Flip,
        BinaryQuadratic,
        TurnedSigns,
    )
}


def candidates(setting: str) -> list[type[Optimizer]]:
    """The optimisers that a value of the setting stands for, in the order in which they are tried.

    >>> [optimizer.name for optimizer in candidates("auto")]
    ['none', 'bqp', 'flip', 'ste']
    >>> [optimizer.name for optimizer in candidates("flip")]
    ['flip']
    """
    if setting == AUTO:
        return sorted(OPTIMIZERS.values(), key=lambda optimizer: optimizer.auto_order)
    return [OPTIMIZERS[setting]]
