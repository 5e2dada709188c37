"""What the rows of `codes.py` are made of: vectors and codes, each learned once and kept."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.split import Split
from xorec.evaluation.protocol import evaluate
from xorec.lab.reproduce.cache import Cache, Result
from xorec.models import model_class
from xorec.models.siml.dsiml import DSIML
from xorec.representations.codes import Codes
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.vectors import Floats, Vectors
from xorec.training.discrete.rotation import learn_rotation, to_dimensions

ALS_GRID = {"regularization": [0.01, 0.1, 1.0], "alpha": [1.0, 5.0, 20.0]}
MAIN, SHORTLIST = 64, 200
METRICS = ("recall@20", "recall@20_expected", "ndcg@20", "ndcg@20_expected")


class Made(NamedTuple):
    """Something that can be evaluated, with the seconds that it took."""

    ranks: Any
    seconds: float


Maker = Callable[[], Made]


class Bench:
    """One data set, its parts, and what has been learned from them so far."""

    def __init__(self, parts: Split, settings: dict[str, Any], cache: Path, options: RunOptions):
        assert parts.validation is not None
        self.train, self.validation, self.test = parts.train, parts.validation, parts.test
        self.all = parts.train.union(parts.validation)
        self.settings, self.options, self._cache = settings, options, Cache(cache)
        self._about = [parts.describe(), *(p.digest() for p in (self.train, self.all, self.test))]

    def _kept(self, kind: str, what: dict[str, Any], compute: Callable[[], Result]) -> Result:
        """A result from the cache, or computed now."""
        key = {"data": self._about, "seed": self.options.seed, **what}
        return self._cache.get(kind, key, compute)

    def _learned(self, name: str, size: int, part: str) -> Result:
        """A model's vectors, seconds and what validation chose: learned on "train" or on "all"."""
        settings = self.settings.get(name, {})
        learn = self._als if name == "als" else self._model
        what = {"size": size, "part": part, "settings": settings}
        return self._kept(name, what, lambda: learn(name, size, part, settings))

    def vectors(self, name: str, size: int) -> tuple[Floats, Floats, float]:
        """User and item vectors of a model, learned from all training pairs, and the seconds."""
        found = self._learned(name, size, "all")
        return found.arrays["users"], found.arrays["items"], found.values["seconds"]

    def _model(self, name: str, size: int, part: str, settings: dict[str, Any]) -> Result:
        settings = {**settings, "dimensions": size}
        if part == "all":
            settings |= self._learned(name, size, "train").values["chosen"]
        model, began = model_class(name)(**settings), time.perf_counter()
        data = (self.all, None) if part == "all" else (self.train, self.validation)
        learned = model.fit(*data, self.options).representation_.tensors()
        seconds = time.perf_counter() - began
        users, items = learned["user_vectors"], learned["item_vectors"]
        return made_of(users, items, seconds, {"epochs": model.epochs_})

    def _als(self, name: str, size: int, part: str, settings: dict[str, Any]) -> Result:
        from implicit.als import AlternatingLeastSquares
        from scipy.sparse import csr_matrix

        def fit(data: Interactions, setting: dict[str, Any]) -> tuple[Floats, Floats]:
            one = {"random_state": self.options.seed, "num_threads": self.options.thread_count}
            model = AlternatingLeastSquares(factors=size, **{**one, **setting})
            model.fit(csr_matrix(data.matrix()), show_progress=False)
            return np.asarray(model.user_factors), np.asarray(model.item_factors)

        if part == "all":
            setting = self._learned(name, size, "train").values["chosen"]
            began = time.perf_counter()
            vectors = fit(self.all, setting)
            return made_of(*vectors, time.perf_counter() - began, setting)
        grid = {k: settings.get(k, v) for k, v in ALS_GRID.items()}
        values = [v if isinstance(v, list) else [v] for v in grid.values()]
        fixed = {k: v for k, v in settings.items() if k not in ALS_GRID}
        best: tuple[Any, ...] = (-1.0,)
        for picked in itertools.product(*values):
            setting = {**fixed, **dict(zip(grid, picked, strict=True))}
            began = time.perf_counter()
            vectors = fit(self.train, setting)
            seconds = time.perf_counter() - began
            result = evaluate(
                Vectors(*vectors), self.train, self.validation, ks=(20,), options=self.options
            )
            if result["ndcg@20"] > best[0]:
                best = (result["ndcg@20"], *vectors, seconds, setting)
        return made_of(*best[1:])

    def floats(self, name: str, size: int = MAIN) -> Made:
        """The vectors themselves."""
        users, items, seconds = self.vectors(name, size)
        return Made(Vectors(users, items), seconds)

    def plain(self, name: str, **settings: Any) -> Made:
        """A model without epochs."""
        began = time.perf_counter()
        model = model_class(name)(**settings).fit(self.all, None, self.options)
        return Made(model.representation_, time.perf_counter() - began)

    def signs(self, name: str, turned: bool, bits: int = MAIN) -> Made:
        """The signs of vectors, turned by ITQ or as they are."""
        users, items, seconds = self.vectors(name, MAIN)
        began = time.perf_counter()
        if turned:
            users, items = to_dimensions(users, items, bits)
            rotation = learn_rotation(np.vstack([users, items]), seed=self.options.seed)
            users, items = users @ rotation, items @ rotation
        return Made(Codes.from_signs(users, items), seconds + time.perf_counter() - began)

    def dsiml(self, bits: int, **more: Any) -> Made:
        """DSIML from SIML's vectors, by the settings of `dsiml` and of its optimiser."""
        settings = self.settings.get(more["optimizer"], {})
        settings = {**self.settings.get("dsiml", {}), **settings, **more, "bits": bits}
        users, items, seconds = self.vectors("siml", MAIN)
        began = time.perf_counter()
        model = DSIML.from_vectors(users, items, **settings).fit(self.all, None, self.options)
        return Made(model.representation_, seconds + time.perf_counter() - began)

    def shortlist(self, optimizer: str) -> Made:
        """DSIML's nearest items, ordered by SIML's vectors."""
        codes = self.dsiml(MAIN, optimizer=optimizer)
        users, items, _ = self.vectors("siml", MAIN)
        vectors = RankingVectors.of(users, items)
        two_stage = TwoStage(codes.ranks, vectors, None, Sources(SHORTLIST))
        return Made(two_stage, codes.seconds)

    def row(self, name: str, make: Maker) -> dict[str, Any]:
        """What was measured of one row: from the cache, or now."""

        def measure() -> Result:
            made = make()
            result = evaluate(made.ranks, self.all, self.test, ks=(20,), options=self.options)
            size = {"seconds": made.seconds, "bytes": made.ranks.nbytes}
            return Result({"row": name, **{metric: result[metric] for metric in METRICS}, **size})

        return self._kept("row", {"name": name, "settings": self.settings}, measure).values


def made_of(users: Floats, items: Floats, seconds: float, chosen: dict[str, Any]) -> Result:
    """Learned vectors as a result."""
    return Result({"seconds": seconds, "chosen": chosen}, {"users": users, "items": items})
