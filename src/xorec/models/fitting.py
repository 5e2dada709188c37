"""How a model is fitted when part of the training pairs may be used to find when to stop."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import Model


def fit_with_validation(
    model: Model[Any],
    train: Interactions,
    validation: Interactions | None,
    options: RunOptions = DEFAULTS,
) -> Model[Any]:
    """Find the number of epochs on `validation`, then fit anew on both parts together.

    So every model, with epochs or without, learns from the same pairs in the end. A model that
    has no epochs (nor a start that has), or no validation part, is fitted once. Returns the model
    of the last fit.
    """
    if validation is None or not {"epochs", "start"} & set(type(model.config).model_fields):
        both = train if validation is None else train.union(validation, options.thread_count)
        return model.fit(both, None, options)
    first = options.for_stage("validation")
    model.fit(train, validation, first)
    if model.epochs_:
        options.progress.note(f"{model.name}: validation chose {model.epochs_} epochs.")
    again = type(model)(**model.refit_settings())
    return again.fit(train.union(validation, options.thread_count), None, options)


def checkpoints(path: Path) -> list[Path]:
    """The checkpoint files that a fit has left at `path`: of all its stages."""
    return [path, *path.parent.glob(f"{glob.escape(path.name)}.*")]
