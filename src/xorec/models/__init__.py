"""The models by name. A model's module is imported when the model is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xorec.errors import OptionError

MODELS = {
    "popularity": ("xorec.models.popularity", "Popularity"),
    "item-knn": ("xorec.models.item_knn", "ItemKNN"),
    "ease": ("xorec.models.ease", "EASE"),
    "als": ("xorec.models.als", "ALS"),
    "bpr": ("xorec.models.bpr", "BPR"),
    "cml": ("xorec.models.cml", "CML"),
    "sml": ("xorec.models.sml", "SML"),
    "cpr": ("xorec.models.cpr", "CPR"),
    "lightgcn": ("xorec.models.lightgcn", "LightGCN"),
    "siml": ("xorec.models.siml", "SIML"),
    "siml-gcn": ("xorec.models.siml_gcn", "SIMLGCN"),
    "signs": ("xorec.models.signs", "Signs"),
    "dcf": ("xorec.models.dcf", "DCF"),
    "cccf": ("xorec.models.cccf", "CCCF"),
    "dpr": ("xorec.models.dpr", "DPR"),
    "drmf": ("xorec.models.drmf", "DRMF"),
    "phd": ("xorec.models.phd", "PHD"),
    "lightrec": ("xorec.models.lightrec", "LightRec"),
    "dsiml": ("xorec.models.dsiml", "DSIML"),
}
"""Name on the command line: (module, class)."""


def model_class(name: str) -> Any:
    """The class of the model called `name`."""
    if name not in MODELS:
        raise OptionError(f"there is no model {name!r}: the models are {', '.join(MODELS)}.")
    module, attribute = MODELS[name]
    return getattr(import_module(module), attribute)
