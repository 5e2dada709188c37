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

_MOST_VALUES = 25
"""Scales of ratings have no more steps: 0 to 5 by quarters has 21."""
_GOOD = 0.7
"""A rating is good from here on, between the worst and the best: 4 of 5, 8 of 10."""


def rating_note(ratings: npt.NDArray[Any] | None) -> str | None:
    """One line about ratings that no threshold has cut; None if there is nothing to say.

    >>> rating_note(np.array([1, 2, 4, 5, 5]))
    'every rating counts as positive, 1 to 5; min_rating 4 (--min-rating) would keep 60 %'
    """
    if ratings is None or not len(ratings) or ratings.min() == ratings.max():
        return None
    return note_of_values(*np.unique(ratings, return_counts=True))


def note_of_values(values: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> str | None:
    """The same from the distinct ratings, ascending, and how often each comes."""
    if len(values) < 2:
        return None
    total = int(counts.sum())
    said = [f"every rating counts as positive, {values[0]:g} to {values[-1]:g}"]
    bad = int(counts[values <= 0].sum())
    if bad:
        said[0] += f", {bad:,} of {total:,} of them 0 or less"
    threshold = _threshold(values)
    if threshold is None:
        said.append("they look like strengths: weight_column (--weight-column) would weigh by them")
    else:
        share = f"{counts[values >= threshold].sum() / total:.0%}".replace("%", " %")
        said.append(f"min_rating {threshold:g} (--min-rating) would keep {share}")
    return "; ".join(said)


def _threshold(values: npt.NDArray[Any]) -> float | None:
    """The least good value on a scale of ratings; None if they are not on one."""
    if values[0] < 0 < values[-1]:  # dislike and like
        return float(values[values > 0][0])
    if len(values) > _MOST_VALUES:
        return None
    good = values[0] + _GOOD * (values[-1] - values[0])
    return float(values[values >= good][0])


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
