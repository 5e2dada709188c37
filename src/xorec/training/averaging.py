"""Means of rows over the epochs, the late ones weighing more: what is left of noisy steps.

After epoch t the mean moves by (1 + LATE) / (t + LATE) of the way to the rows (polynomial-decay
averaging, Shamir & Zhang 2013): the last quarter of the epochs has about two thirds of the weight,
and nobody need know how many there will be. It costs no step, and stands for steps that shrink.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.training.checkpoint import Arrays

LATE = 3
_ROWS = 1 << 16
"""That are moved at once: what is written in between stays small."""
_DONE = "epochs_averaged"


def start_means(arrays: Arrays, names: tuple[str, ...]) -> None:
    """Room for the means of these arrays, beside them."""
    arrays[_DONE] = np.zeros(1, dtype=np.int64)
    for name in names:
        arrays[f"mean_{name}"] = np.zeros_like(arrays[name])


def add_to_means(arrays: Arrays) -> None:
    """Take in the rows as an epoch has left them, in place."""
    arrays[_DONE] += 1
    share = np.float32((1 + LATE) / (int(arrays[_DONE][0]) + LATE))
    for name in (name for name in arrays if f"mean_{name}" in arrays):
        rows, mean = arrays[name], arrays[f"mean_{name}"]
        for begin in range(0, len(rows), _ROWS):
            part = slice(begin, begin + _ROWS)
            mean[part] += share * (rows[part] - mean[part])


def mean_of(arrays: Arrays, name: str) -> npt.NDArray[np.float32] | None:
    """The mean; None as long as no epoch is done."""
    return arrays[f"mean_{name}"] if arrays[_DONE][0] else None
