"""Weights: how strong each pair is, from counts, hours and the like.

Raw strengths have a wide range (hours from 0.1 to 10,000), and few of them would outweigh all
others. On the logarithmic scale a pair of the median strength weighs 1 + log 2 and one a hundred
times as strong weighs three times as much; the weights are then divided by their mean, so that
settings (L2 penalties, passes) mean what they mean without weights, and a new pair of unknown
strength weighs 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError

WEIGHT_SCALES = ("log", "none")
"""log: (1 + log(1 + w / median)) / mean; none: as they are."""


def scaled_weights(raw: npt.NDArray[Any], scale: str = "log") -> npt.NDArray[np.float32] | None:
    """The weights of pairs whose raw strengths these are; None if all weigh the same.

    >>> scaled_weights(np.array([1.0, 1.0, 100.0])).astype(float).round(2).tolist()
    [0.56, 0.56, 1.87]
    >>> scaled_weights(np.array([3.0, 3.0])) is None
    True
    """
    check_scale(scale)
    if len(raw) and raw.min() == raw.max():
        return None
    weights = raw.astype(np.float64)
    if scale == "log" and len(raw):
        weights = 1 + np.log1p(weights / np.median(weights))
        weights /= weights.mean()
    return weights.astype(np.float32)


def check_scale(scale: str) -> None:
    """Refuse a scale that is not known."""
    if scale not in WEIGHT_SCALES:
        raise OptionError(f"weight_scale is {scale!r}: use {' or '.join(WEIGHT_SCALES)}.")


def summed_weights(
    raw: npt.NDArray[Any],
    pairs: npt.NDArray[np.int64],
    order: npt.NDArray[np.integer],
    parts: npt.NDArray[np.int8] | None,
) -> npt.NDArray[np.float64]:
    """The strength of each pair that was kept: the sum over the rows that were merged into it.

    raw: of each row; pairs: a number for each row, the same for equal pairs, ascending over
    `order`, the rows that were kept. Only rows of the same part count. Equal rows in another
    order give the same bits: they are summed by size.
    """
    place = np.searchsorted(pairs[order], pairs)
    if parts is not None:
        inside = parts == parts[order][place]
        place, raw = place[inside], raw[inside]
    by_size = np.lexsort((raw, place))
    starts = np.searchsorted(place[by_size], np.arange(len(order)))
    sums: npt.NDArray[np.float64] = np.add.reduceat(raw[by_size].astype(np.float64), starts)
    return sums
