"""Python objects as arrays, for tasks: between a driver and its own executors, nowhere else.

These run the driver's functions anyway. Model files and studies have no pickles.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt


def pickled(thing: Any) -> npt.NDArray[np.uint8]:
    """The bytes of an object.

    >>> unpickled(pickled({"epochs": 3}))
    {'epochs': 3}
    """
    return np.frombuffer(pickle.dumps(thing, protocol=5), dtype=np.uint8)


def unpickled(array: npt.NDArray[np.uint8]) -> Any:
    """The object."""
    return pickle.loads(array.tobytes())
