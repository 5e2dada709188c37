"""Principal components: the two directions in which items differ most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.threads import one_blas_thread
from xorec.recommender.layout.features import Features

_SAMPLE = 20_000
_AT_ONCE = 65_536


def principal_plane(features: Features) -> npt.NDArray[np.float32]:
    """Two numbers an item (m, 2). Signs by rule: the largest weight of a direction is positive.

    Directions come from at most 20,000 items, evenly spaced; all items are then projected. One
    BLAS thread: the same bits on any number of them.
    """
    with one_blas_thread():
        sample = features.rows(slice(None, None, max(1, len(features) // _SAMPLE)))
        centre = sample.mean(axis=0, dtype=np.float64)
        about = sample.astype(np.float64) - centre
        _, directions = np.linalg.eigh(about.T @ about)
        axes = directions[:, ::-1][:, :2]
        if axes.shape[1] < 2:
            axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
        largest = axes[np.abs(axes).argmax(axis=0), np.arange(2)]
        axes = (axes * np.where(largest < 0, -1.0, 1.0)).astype(np.float32)
        places = np.empty((len(features), 2), dtype=np.float32)
        for begin in range(0, len(places), _AT_ONCE):
            which = slice(begin, begin + _AT_ONCE)
            places[which] = (features.rows(which) - centre.astype(np.float32)) @ axes
    return places
