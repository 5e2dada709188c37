"""A model, fitted or not, as plain values: what travels between a driver and its executors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.pickles import pickled, unpickled
from xorec.models.base import Model

_SETTINGS = ("config", "_given_config")
"""What a model has of a class that may have no name."""


def packed_model(model: Model[Any]) -> npt.NDArray[np.uint8]:
    """All of a model; settings as plain values.

    >>> from xorec import BPR
    >>> opened_model(packed_model(BPR(dimensions=8))).config.dimensions
    8
    """
    own = {name: value for name, value in vars(model).items() if name not in _SETTINGS}
    settings = {name: getattr(model, name).model_dump() for name in _SETTINGS}
    return pickled({"model": model.name, "settings": settings, "own": own})


def opened_model(array: npt.NDArray[np.uint8]) -> Model[Any]:
    """The model again."""
    from xorec.models import model_class

    state = unpickled(array)
    kind = model_class(state["model"])
    model: Model[Any] = kind()
    settings = {name: kind.Config(**values) for name, values in state["settings"].items()}
    vars(model).update({**state["own"], **settings})
    return model
