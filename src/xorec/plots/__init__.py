"""Pictures, each by one call (extra `plots`): `from xorec import plots`.

Each is a `Picture`: a notebook shows it, `save("trade.svg")` or `save("trade.png")` writes it.
Equal input gives equal bytes.
"""

from xorec.plots.code_lengths import bits as bits
from xorec.plots.curves import training_curves as training_curves
from xorec.plots.hamming import distances as distances
from xorec.plots.maps import item_map as item_map
from xorec.plots.trade import frontier as frontier

__all__ = ["bits", "distances", "frontier", "item_map", "training_curves"]
