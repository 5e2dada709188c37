"""Where items lie in the plane: the two leading directions of their codes or vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.recommender.recommender import Recommender

_SAMPLE = 20_000
_LARGEST = 32_767


def projected(recommender: Recommender) -> npt.NDArray[np.int16]:
    """Two whole numbers an item (m, 2), -32767 to 32767: principal components, signs by rule.

    Directions come from at most 20,000 items, evenly spaced; all items are then projected.
    """
    rows = _features(recommender)
    sample = rows[:: max(1, len(rows) // _SAMPLE)].astype(np.float64)
    centre = sample.mean(axis=0)
    covariance = (sample - centre).T @ (sample - centre)
    _, directions = np.linalg.eigh(covariance)
    axes = directions[:, ::-1][:, :2]
    if axes.shape[1] < 2:
        axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(2)]
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    places = (rows - centre.astype(np.float32)) @ axes.astype(np.float32)
    reach = np.abs(places).max(axis=0)
    scaled = places / np.where(reach > 0, reach, 1) * _LARGEST
    return np.asarray(np.rint(scaled), dtype=np.int16)


def _features(recommender: Recommender) -> npt.NDArray[np.float32]:
    """What is projected: bits as -1 and 1, or vectors."""
    arrays = recommender.representation.arrays()
    codes, bits = arrays.get("item_codes"), recommender.representation.code_length
    if codes is not None and bits is not None:
        spread = np.unpackbits(codes.view(np.uint8), axis=1, bitorder="little", count=bits)
        return spread.astype(np.float32) * 2 - 1
    if "item_vectors" in arrays:
        return np.asarray(arrays["item_vectors"], dtype=np.float32)
    raise OptionError("this model has neither codes nor vectors of items: there is no map of it.")
