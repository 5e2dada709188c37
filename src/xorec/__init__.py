"""xorec: recommendations at the speed of XOR.

    import xorec

    data = xorec.read("ratings.csv")
    parts = xorec.split(data, validation=0.1)
    model = xorec.BPR().fit(parts.train, parts.validation)
    xorec.Recommender.from_model(model, parts.train).recommend(4711, k=10)

Names are imported when they are first used, so `import xorec` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xorec.data.catalog import load_data
    from xorec.data.interactions import Interactions
    from xorec.data.prepare import prepare
    from xorec.data.read import read
    from xorec.data.split import split
    from xorec.errors import XorecError
    from xorec.evaluation.protocol import evaluate
    from xorec.evaluation.significance import compare
    from xorec.experiments.tuning import tune
    from xorec.models.als import ALS
    from xorec.models.bpr import BPR
    from xorec.models.cccf import CCCF
    from xorec.models.cml import CML
    from xorec.models.cpr import CPR
    from xorec.models.dcf import DCF
    from xorec.models.dpr import DPR
    from xorec.models.drmf import DRMF
    from xorec.models.dsiml import DSIML
    from xorec.models.ease import EASE
    from xorec.models.item_knn import ItemKNN
    from xorec.models.lightgcn import LightGCN
    from xorec.models.lightrec import LightRec
    from xorec.models.phd import PHD
    from xorec.models.popularity import Popularity
    from xorec.models.signs import Signs
    from xorec.models.siml import SIML
    from xorec.models.siml_gcn import SIMLGCN
    from xorec.models.sml import SML
    from xorec.options import RunOptions
    from xorec.recommender import Recommender

__version__ = "0.1.0.dev0"

__all__ = [
    "ALS",
    "BPR",
    "CCCF",
    "CML",
    "CPR",
    "DCF",
    "DPR",
    "DRMF",
    "DSIML",
    "EASE",
    "PHD",
    "SIML",
    "SIMLGCN",
    "SML",
    "Interactions",
    "ItemKNN",
    "LightGCN",
    "LightRec",
    "Popularity",
    "Recommender",
    "RunOptions",
    "Signs",
    "XorecError",
    "compare",
    "evaluate",
    "load_data",
    "prepare",
    "read",
    "split",
    "tune",
]

_HOMES = {
    "ALS": "xorec.models.als",
    "BPR": "xorec.models.bpr",
    "CCCF": "xorec.models.cccf",
    "CML": "xorec.models.cml",
    "CPR": "xorec.models.cpr",
    "DCF": "xorec.models.dcf",
    "DPR": "xorec.models.dpr",
    "DRMF": "xorec.models.drmf",
    "DSIML": "xorec.models.dsiml",
    "EASE": "xorec.models.ease",
    "Interactions": "xorec.data.interactions",
    "ItemKNN": "xorec.models.item_knn",
    "LightGCN": "xorec.models.lightgcn",
    "LightRec": "xorec.models.lightrec",
    "PHD": "xorec.models.phd",
    "Popularity": "xorec.models.popularity",
    "Recommender": "xorec.recommender",
    "RunOptions": "xorec.options",
    "SIML": "xorec.models.siml",
    "SIMLGCN": "xorec.models.siml_gcn",
    "SML": "xorec.models.sml",
    "Signs": "xorec.models.signs",
    "XorecError": "xorec.errors",
    "compare": "xorec.evaluation.significance",
    "evaluate": "xorec.evaluation.protocol",
    "load_data": "xorec.data.catalog",
    "prepare": "xorec.data.prepare",
    "read": "xorec.data.read",
    "split": "xorec.data.split",
    "tune": "xorec.experiments.tuning",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'xorec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
