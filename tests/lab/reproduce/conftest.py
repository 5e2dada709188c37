from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.data.categories import Categories
from xorec.data.interactions import Interactions
from xorec.data.split import split
from xorec.data.text import Text
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import DataSpec, Plan, make_plan
from xorec.testing.data import planted

MakeDataset = Callable[..., DatasetRun]


def small_plan(**more: Any) -> Plan:
    """Two quick methods, short fits."""
    settings = {"bpr": {"epochs": 2}, "dsiml": {"epochs": 1, "start": "siml"}}
    starts = {"siml": {"epochs": 2, "dimensions": 16}}
    fields: dict[str, Any] = {
        "seeds": (0, 1),
        "trials": 1,
        "bits": (16,),
        "dimensions": 8,
        "continuous": ("popularity", "bpr"),
        "settings": {**settings, "starts": starts},
        "lambdas": (0.1, 1.0),
        "gammas": (1.1,),
    }
    return make_plan(**{**fields, **more})


def with_categories(data: Interactions) -> Interactions:
    """Item i is in category i % 5, items of even rows in `even` as well."""
    own = [[i % 5, 5] if i % 2 == 0 else [i % 5] for i in range(data.n_items)]
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in own])])
    labels = Text.pack([*(f"group {g}" for g in range(5)), "even"])
    places = np.array([place for one in own for place in one], dtype=np.int32)
    return replace(data, categories=Categories(labels, indptr, places))


@pytest.fixture
def make_dataset(tmp_path: Path) -> MakeDataset:
    """A dataset of planted data under a plan."""

    def make(plan: Plan | None = None, **more: Any) -> DatasetRun:
        plan = plan or small_plan(**more)
        data = with_categories(planted(150, 80, per_user=12))
        parts = split(data, validation=plan.validation, test=plan.test, seed=plan.seed)
        options = RunOptions(threads=1)
        return DatasetRun(DataSpec(path="planted"), parts, plan, Cache(tmp_path / "cache"), options)

    return make
