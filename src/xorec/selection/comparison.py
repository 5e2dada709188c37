"""Comparison: several models, one split, the same rules for all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from xorec.core.engine import Arrays
from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.threads import LRUCache
from xorec.data.interactions import Interactions
from xorec.data.split import as_split
from xorec.evaluation.protocol import Evaluation, evaluate
from xorec.models import model_class
from xorec.models.base import Model, fit_with_validation, opened_model, packed_model
from xorec.selection.model_specs import ModelSpec, Settings, merged, parse_spec, shown
from xorec.selection.serving import ServingCost, serving_cost
from xorec.selection.shared_work import read_shared, shared_object, task_options


class TimedFit(NamedTuple):
    """A fitted model, and how long that took."""

    model: Model[Any]
    seconds: float


class Parts(NamedTuple):
    """What models learn from, and what finds their epochs (`fit_with_validation`)."""

    train: Interactions
    validation: Interactions | None


def fitted(models: Sequence[Model[Any]], parts: Parts, options: RunOptions) -> Iterator[TimedFit]:
    """The models, fitted, in their order; on a remote engine each is a task in one thread."""
    engine = options.remote_engine
    if engine is None:
        yield from (timed_fit(model, parts, options) for model in models)
        return
    blocks = [{"model": packed_model(model)} for model in models]
    how = {"seed": options.seed, "keep_starts": options.cache is not None}
    with shared_object(engine, "parts", parts) as shared:
        for made in engine.for_long_blocks().map_blocks(fit_model, blocks, [shared], **how):
            yield TimedFit(opened_model(made["model"]), float(made["seconds"]))


def timed_fit(model: Model[Any], parts: Parts, options: RunOptions) -> TimedFit:
    """One fit, here."""
    began = time.perf_counter()
    made = fit_with_validation(model, *parts, options)
    return TimedFit(made, time.perf_counter() - began)


_PARTS = LRUCache[Parts](most=1)
"""Of a process that fits for others, by the path of the parts."""


def fit_model(block: Arrays, shared: Arrays, *, seed: int, keep_starts: bool) -> Arrays:
    """A block function: one model."""
    path = str(shared["parts"])
    parts, options = _PARTS.get(path, lambda: read_shared(path)), task_options(path, seed)
    options = options if keep_starts else replace(options, cache=None)
    made = timed_fit(opened_model(block["model"]), parts, options)
    return {"model": packed_model(made.model), "seconds": np.array(made.seconds)}


@dataclass(frozen=True, eq=False)
class Contender:
    """A fitted model with what was measured of it; settings: those that only this one has."""

    model: Model[Any]
    evaluation: Evaluation
    seconds_fit: float
    serving: ServingCost
    settings: Settings = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The model's name, its bits where it learns codes, and the settings of its own."""
        bits = getattr(self.model.config, "bits", "")
        rest = {name: value for name, value in self.settings.items() if name != "bits"}
        return " ".join(filter(None, [self.model.name, str(bits or ""), *shown(rest)]))

    def row(self) -> dict[str, Any]:
        """One flat row for tables and JSON (names: ARCHITECTURE.md)."""
        return {
            "model": self.model.name,
            "label": self.label,
            "kind": self.model.representation_.kind,
            **size_of(self.model.config.model_dump()),
            **self.evaluation.row(),
            "seconds_fit": self.seconds_fit,
            "bytes": self.model.representation_.nbytes,
            **self.serving._asdict(),
        }


def size_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that say how large the model's rows are."""
    return {name: config[name] for name in ("bits", "dimensions") if name in config}


def make_models(
    specs: Sequence[ModelSpec],
    settings: Mapping[str, Settings] | None = None,
    bits: Sequence[int] = (),
) -> list[tuple[ModelSpec, Model[Any]]]:
    """The models with their settings; one that learns codes once for each `bits`.

    A spec that names its own bits has these.

    >>> both = [ModelSpec("dsiml"), ModelSpec("dsiml", {"bits": 32})]
    >>> [model.config.bits for _, model in make_models(both, bits=[20, 64])]
    [20, 64, 32]
    """
    models: list[tuple[ModelSpec, Model[Any]]] = []
    coded = False
    for spec in specs:
        make = model_class(spec.name)
        arguments = merged((settings or {}).get(spec.name, {}), spec.settings)
        if bits and "bits" in make.Config.model_fields:
            coded = True
            lengths = dict.fromkeys(bits if "bits" not in spec.settings else [arguments["bits"]])
            models += [(spec, make(**{**arguments, "bits": one})) for one in lengths]
        else:
            models.append((spec, make(**arguments)))
    if bits and not coded:
        raise OptionError(
            f"bits are given but none of {', '.join(spec.name for spec in specs)} learns codes: "
            "add dsiml, or leave bits out."
        )
    return models


def compare_models(
    data: Any,
    models: Sequence[str],
    *,
    settings: Mapping[str, Settings] | None = None,
    bits: Sequence[int] = (),
    ks: Sequence[int] = (10, 20, 50, 100),
    by_category: bool = False,
    options: RunOptions = DEFAULTS,
) -> list[Contender]:
    """Fit each model on the training pairs and evaluate it once on the test pairs.

    data: a split, or what `split` takes: a fifth is held out for the test, a tenth for validation.
    The validation part, where there is one, finds the number of epochs; then every model learns
    from training and validation pairs together. A model of codes comes once for each of `bits`.
    models: names, with settings of their own where they have them: "dsiml:shortlist=200".
    settings: of all models of a name.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> parts = xorec.split(xorec.Interactions.from_pairs(pairs), validation=0.1)
    >>> [one.label for one in compare_models(parts, ["popularity", "item-knn"])]
    ['popularity', 'item-knn']
    """
    parts = as_split(data, seed=options.seed)
    made = make_models([parse_spec(text) for text in models], settings, bits)
    seen = parts.train
    if parts.validation is not None:
        seen = seen.union(parts.validation, options.thread_count)
    fits = fitted([model for _, model in made], Parts(parts.train, parts.validation), options)
    how: dict[str, Any] = {"ks": ks, "by_category": by_category, "options": options}
    found = []
    for (spec, _), fit in zip(made, fits, strict=True):
        learned = fit.model.representation_
        result = evaluate(learned, seen, parts.test, **how)
        cost = serving_cost(learned, seen, threads=options.thread_count)
        found.append(Contender(fit.model, result, fit.seconds, cost, spec.settings))
    return found


EASE_ITEMS = 8_000
"""With more items EASE, all items by all items, has no place: half a gigabyte, and minutes."""


def ladder(items: int, bits: Sequence[int] = ()) -> tuple[str, ...]:
    """The models to compare on a catalogue of so many items; bits: in place of 20, 32 and 64.

    >>> ladder(50_000, bits=[16])[:4]
    ('popularity', 'dsiml:bits=16', 'dsiml:bits=64:shortlist=200', 'slim:weight_dtype=int8')
    """
    return (
        "popularity",
        *(f"dsiml:bits={length}" for length in bits or (20, 32, 64)),
        "dsiml:bits=64:shortlist=200",
        "slim:weight_dtype=int8",
        "slim",
        *(["ease"] if items <= EASE_ITEMS else []),
        "siml",
        "blend:bits=64",
    )
