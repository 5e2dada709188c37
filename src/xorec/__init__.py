"""xorec: recommendations at the speed of XOR.

    import xorec

    data = xorec.read("ratings.csv")
    train, test = xorec.split(data).train, ...

Names are imported when they are first used, so `import xorec` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "Interactions": "xorec.data.interactions",
    "read": "xorec.data.read",
    "prepare": "xorec.data.prepare",
    "split": "xorec.data.split",
    "load_data": "xorec.data.catalog",
    "evaluate": "xorec.evaluation.protocol",
    "Recommender": "xorec.recommender",
    "RunOptions": "xorec.options",
    "XorecError": "xorec.errors",
    "Popularity": "xorec.models.popularity",
    "ItemKNN": "xorec.models.item_knn",
    "BPR": "xorec.models.bpr",
}

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'xorec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
