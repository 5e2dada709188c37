"""Pictures, each by one call (extra `plots`): `from xorec import plots`.

Each is a `Picture`: a notebook shows it, `save("trade.svg")` or `save("trade.png")` writes it.
Equal input gives equal bytes.
"""

from xorec.plots.comparisons import bits as bits
from xorec.plots.comparisons import frontier as frontier
from xorec.plots.models import distances as distances
from xorec.plots.models import item_map as item_map
from xorec.plots.models import training_curves as training_curves

__all__ = ["bits", "distances", "frontier", "item_map", "training_curves"]
