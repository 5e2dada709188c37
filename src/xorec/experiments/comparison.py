"""Comparison: several models, one split, the same rules for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.split import as_split
from xorec.data.tie_rank import tie_rank
from xorec.evaluation.protocol import evaluate
from xorec.evaluation.result import Evaluation
from xorec.models import model_class
from xorec.models.base import Model
from xorec.models.fitting import fit_with_validation
from xorec.representations.base import Representation
from xorec.search.index import index_of

if TYPE_CHECKING:
    from xorec.data.interactions import Interactions

_TIMED_QUERIES = 200


@dataclass(frozen=True, eq=False)
class Contender:
    """A fitted model with what was measured of it."""

    model: Model[Any]
    evaluation: Evaluation
    seconds_fit: float
    us_per_query: float

    @property
    def label(self) -> str:
        """The model's name, with the number of bits where it learns codes."""
        bits = getattr(self.model.config, "bits", None)
        return self.model.name if bits is None else f"{self.model.name} {bits}"

    def row(self) -> dict[str, Any]:
        """One flat row for tables and JSON (names: ARCHITECTURE.md)."""
        return {
            "model": self.model.name,
            **size_of(self.model.config.model_dump()),
            **self.evaluation.row(),
            "seconds_fit": self.seconds_fit,
            "bytes": self.model.representation_.nbytes,
            "us_per_query": self.us_per_query,
        }


def size_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that say how large the model's rows are."""
    return {name: config[name] for name in ("bits", "dimensions") if name in config}


def make_models(
    names: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    bits: Sequence[int] = (),
) -> list[Model[Any]]:
    """The models of these names with their settings; one that learns codes once for each `bits`.

    >>> [model.config.bits for model in make_models(["dsiml"], bits=[20, 64])]
    [20, 64]
    """
    models: list[Model[Any]] = []
    coded = False
    for name in names:
        make, arguments = model_class(name), dict((settings or {}).get(name, {}))
        if bits and "bits" in make.Config.model_fields:
            coded = True
            models += [make(**{**arguments, "bits": one}) for one in dict.fromkeys(bits)]
        else:
            models.append(make(**arguments))
    if bits and not coded:
        raise OptionError(
            f"bits are given but none of {', '.join(names)} learns codes: add dsiml, or leave "
            "bits out."
        )
    return models


def compare_models(
    data: Any,
    names: Sequence[str],
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    bits: Sequence[int] = (),
    ks: Sequence[int] = (10, 20, 50, 100),
    by_category: bool = False,
    options: RunOptions = DEFAULTS,
) -> list[Contender]:
    """Fit each model on the training pairs and evaluate it once on the test pairs.

    data: a split, or what `split` takes: a fifth is held out for the test, a tenth for validation.
    The validation part, where there is one, finds the number of epochs; then every model learns
    from training and validation pairs together. A model of codes comes once for each of `bits`.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> parts = xorec.split(xorec.Interactions.from_pairs(pairs), validation=0.1)
    >>> [one.label for one in compare_models(parts, ["popularity", "item-knn"])]
    ['popularity', 'item-knn']
    """
    models = make_models(names, settings, bits)
    parts = as_split(data, seed=options.seed)
    seen = parts.train
    if parts.validation is not None:
        seen = seen.union(parts.validation, options.thread_count)
    return [
        measure(
            partial(fit_with_validation, model, parts.train, parts.validation, options),
            seen,
            parts.test,
            ks=ks,
            by_category=by_category,
            options=options,
        )
        for model in models
    ]


def measure(
    fit: Callable[[], Model[Any]],
    seen: Interactions,
    test: Interactions,
    *,
    ks: Sequence[int] = (10, 20, 50, 100),
    by_category: bool = False,
    options: RunOptions = DEFAULTS,
) -> Contender:
    """Time the fit, evaluate once on `test`, and time single queries; `seen` is what it saw."""
    began = time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - began
    learned = model.representation_
    result = evaluate(learned, seen, test, ks=ks, by_category=by_category, options=options)
    return Contender(
        model, result, seconds, query_time(learned, seen, threads=options.thread_count)
    )


def query_time(
    representation: Representation, seen: Interactions, k: int = 10, threads: int | None = None
) -> float:
    """Median microseconds to find the best items of one user, one user at a time.

    threads: to build the index; None for all cores.
    """
    index = index_of(representation, tie_rank(seen.items, seen.item_counts), threads=threads)
    users = np.linspace(0, seen.n_users - 1, min(_TIMED_QUERIES, seen.n_users)).astype(np.int64)
    times = []
    for user in users:
        began = time.perf_counter()
        user_items = seen.of_user(int(user))
        query = representation.queries(np.array([user]))
        index.search(query, k, exclude=(np.array([0, len(user_items)]), user_items))
        times.append(time.perf_counter() - began)
    return float(np.median(times) * 1e6)
