"""xorec: recommendations at the speed of XOR.

    import xorec

    data = xorec.read("ratings.csv")
    parts = xorec.split(data, validation=0.1)
    model = xorec.BPR().fit(parts.train, parts.validation)
    xorec.Recommender.from_model(model, parts.train).recommend(4711, k=10)

Names are imported when they are first used, so `import xorec` costs nothing. The models among them
are those of the registry, `xorec.models`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself would be most of what importing xorec costs
if TYPE_CHECKING:
    from typing import Any

    from xorec import plots as plots
    from xorec.core.errors import XorecError as XorecError
    from xorec.core.options import RunOptions as RunOptions
    from xorec.data.datasets.catalog import load_data as load_data
    from xorec.data.interactions import Interactions as Interactions
    from xorec.data.io.read import read as read
    from xorec.data.prepare import prepare as prepare
    from xorec.data.split import folds as folds
    from xorec.data.split import split as split
    from xorec.evaluation.protocol import evaluate as evaluate
    from xorec.evaluation.significance import compare as compare
    from xorec.models import *  # noqa: F403
    from xorec.recommender.recommender import Recommender as Recommender
    from xorec.selection.race.fit import fit as fit
    from xorec.selection.tuning.tuning import tune as tune

__version__ = "0.2.0"

_HOMES = {
    "Interactions": "xorec.data.interactions",
    "Recommender": "xorec.recommender.recommender",
    "RunOptions": "xorec.core.options",
    "XorecError": "xorec.core.errors",
    "compare": "xorec.evaluation.significance",
    "evaluate": "xorec.evaluation.protocol",
    "fit": "xorec.selection.race.fit",
    "folds": "xorec.data.split",
    "load_data": "xorec.data.datasets.catalog",
    "prepare": "xorec.data.prepare",
    "read": "xorec.data.io.read",
    "split": "xorec.data.split",
    "tune": "xorec.selection.tuning.tuning",
}
"""Public name: the module that it is in. The models are in their registry."""


def _homes() -> dict[str, str]:
    from xorec.models import CLASSES

    return {**_HOMES, **CLASSES}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return sorted(_homes())
    if not name.startswith("_") and (home := _homes().get(name)):
        return getattr(import_module(home), name)
    if name == "plots":
        return import_module("xorec.plots")
    raise AttributeError(f"module 'xorec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_homes()])
