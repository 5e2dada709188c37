"""Recommenders of quick models of every kind, on the same planted pairs."""

from __future__ import annotations

from functools import cache
from typing import Any

from xorec.core.options import RunOptions
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

DATA = planted(90, 60, per_user=12)
QUICK: dict[str, Any] = {"bits": 32, "optimizer": "none", "start": {"epochs": 3}}
MODELS: dict[str, Model[Any]] = {
    "codes": DSIML(**QUICK),
    "shortlist": DSIML(**QUICK, shortlist=20),
    "floats": DSIML(**QUICK, asymmetric=True),
    "vectors": BPR(epochs=3),
    "neighbours": ItemKNN(),
    "shared": Popularity(),
}


@cache
def fitted(kind: str) -> Recommender:
    """The recommender of a kind; its indexes are made in the test that needs them first."""
    return Recommender.from_model(MODELS[kind].fit(DATA, options=RunOptions(threads=1)), DATA)
