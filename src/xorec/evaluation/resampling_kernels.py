"""Resampling with counter-based random numbers: no state, no memory, the same on every machine."""

from __future__ import annotations

import numpy as np

from xorec.core.kernels import kernel
from xorec.core.rng import below, draw, stream
from xorec.evaluation.metrics.base import Floats


@kernel
def bootstrap_ratios(top: Floats, bottom: Floats, samples: int, seed: int) -> Floats:
    """sum(top) / sum(bottom) over n users drawn with replacement, for each sample: (samples,)."""
    n = len(top)
    ratios = np.empty(samples)
    for sample in range(samples):
        key = stream(seed, sample, 0)
        above, under = 0.0, 0.0
        for place in range(n):
            user = below(draw(key, place), n)
            above += top[user]
            under += bottom[user]
        ratios[sample] = above / under
    return ratios


@kernel
def flipped_sums(differences: Floats, samples: int, seed: int) -> Floats:
    """The sum of the differences, each with a random sign, for each sample: (samples,)."""
    n = len(differences)
    sums = np.empty(samples)
    for sample in range(samples):
        key = stream(seed, sample, 1)
        total = 0.0
        for start in range(0, n, 64):
            signs = draw(key, start)
            for place in range(start, min(start + 64, n)):
                total += differences[place] * (1.0 - 2.0 * np.float64(signs & np.uint64(1)))
                signs >>= np.uint64(1)
        sums[sample] = total
    return sums
