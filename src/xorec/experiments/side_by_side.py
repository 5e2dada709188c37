"""Fits of several models on the same pairs: one after the other, or side by side on an engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xorec.core.engine import Arrays, Engine
from xorec.core.files import temporary_folder
from xorec.core.kept import Kept
from xorec.core.options import RunOptions
from xorec.core.pickles import pickled, unpickled
from xorec.data.interactions import Interactions
from xorec.models.base import Model
from xorec.models.fitting import fit_with_validation
from xorec.models.model_state import opened_model, packed_model


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
        for model in models:
            yield timed_fit(model, parts, options)
        return
    yield from _fitted_on(engine, models, parts, options)


def timed_fit(model: Model[Any], parts: Parts, options: RunOptions) -> TimedFit:
    """One fit, here."""
    began = time.perf_counter()
    made = fit_with_validation(model, *parts, options)
    return TimedFit(made, time.perf_counter() - began)


def _fitted_on(
    engine: Engine, models: Sequence[Model[Any]], parts: Parts, options: RunOptions
) -> Iterator[TimedFit]:
    with temporary_folder() as folder:
        path = folder / "parts"
        path.write_bytes(pickled(parts).tobytes())
        blocks = [{"model": packed_model(model)} for model in models]
        how = {"seed": options.seed, "keep_starts": options.cache is not None}
        with engine.share_file("parts", path) as shared:
            for made in engine.for_long_blocks().map_blocks(fit_model, blocks, [shared], **how):
                yield TimedFit(opened_model(made["model"]), float(made["seconds"]))


_PARTS = Kept[Parts](most=1)
"""Of a process that fits for others, by the path of the parts."""


def fit_model(block: Arrays, shared: Arrays, *, seed: int, keep_starts: bool) -> Arrays:
    """A block function: one model. Vectors that several start from are kept beside the parts."""
    path = Path(str(shared["parts"]))
    parts = _PARTS.get(str(path), lambda: unpickled(np.fromfile(path, np.uint8)))
    options = RunOptions(seed=seed, threads=1)
    if keep_starts:
        options = replace(options, cache=Path(f"{path}.starts"))
    made = timed_fit(opened_model(block["model"]), parts, options)
    return {"model": packed_model(made.model), "seconds": np.array(made.seconds)}
