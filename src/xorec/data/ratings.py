"""What to make of ratings, in words: which pairs count as positive, and a threshold to consider."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
