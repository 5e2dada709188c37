"""How sure is a figure, and is one model better than another? By resampling users.

The random numbers are counter-based: no state, no memory, the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import kernel
from xorec.core.printable import html_table
from xorec.core.rng import below, draw, stream
from xorec.evaluation.metrics.base import Floats

if TYPE_CHECKING:
    from xorec.evaluation.protocol import Evaluation


@dataclass(frozen=True)
class Interval:
    """Between `low` and `high` with confidence `level`.

    >>> Interval(0.1, 0.2, level=0.95)
    Interval(low=0.1, high=0.2, level=0.95)
    """

    low: float
    high: float
    level: float


@dataclass(frozen=True)
class PairedTest:
    """`difference` = a - b of one metric, its confidence interval, and a two-sided p-value.

    What `compare` gives.

    >>> found = PairedTest("ndcg@10", 0.02, Interval(0.01, 0.03, 0.95), p_value=0.004)
    >>> found.interval.low > 0 and found.p_value < 0.05  # a is better than b
    True
    """

    metric: str
    difference: float
    interval: Interval
    p_value: float

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        interval = f"{self.interval.low:+.4f} to {self.interval.high:+.4f}"
        heads = ("metric", "difference", f"{self.interval.level:.0%} interval", "p")
        cells = (self.metric, f"{self.difference:+.4f}", interval, f"{self.p_value:.4f}")
        return html_table([heads, cells])


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


def bootstrap_interval(
    top: Floats, bottom: Floats, *, level: float = 0.95, samples: int = 1000, seed: int = 0
) -> Interval:
    """Percentile bootstrap over users of sum(top) / sum(bottom); a mean has ones at the bottom."""
    if not 0 < level < 1:
        raise OptionError(f"level is {level}: give a number between 0 and 1, for example 0.95.")
    positive_int(samples, "samples")
    ratios = bootstrap_ratios(top, bottom, samples, seed)
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def sign_flip_test(differences: Floats, *, samples: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a paired randomisation test: were a and b alike, signs are coins.

    The observed signs count as one of the draws, so p is never 0 and never too small.
    """
    positive_int(samples, "samples")
    differences = differences[differences != 0]
    observed = abs(differences.sum())
    sums = np.abs(flipped_sums(differences, samples, seed))
    as_large = np.count_nonzero(sums >= observed * (1 - 1e-12))
    return float((as_large + 1) / (samples + 1))


def compare(
    a: Evaluation,
    b: Evaluation,
    metric: str,
    *,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Is `a` better than `b` in `metric`? Paired by user: both must be of the same test part.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(9) for item in range(9) if (user + item) % 3]
    >>> parts = xorec.split(xorec.Interactions.from_pairs(pairs), seed=0)
    >>> models = [model.fit(parts.train) for model in (xorec.ItemKNN(), xorec.Popularity())]
    >>> a, b = (xorec.evaluate(model, parts.train, parts.test) for model in models)
    >>> found = compare(a, b, "ndcg@10")
    >>> f"{found.difference:+.2f}, p = {found.p_value:.2f}"
    '+0.16, p = 0.14'
    """
    for one in (a, b):
        if not hasattr(one, "test_counts"):
            raise OptionError(
                f"a {type(one).__name__} cannot be compared: give two evaluations, as "
                "xorec.evaluate(model, train, test) makes them."
            )
    if not np.array_equal(a.users, b.users) or not np.array_equal(a.test_counts, b.test_counts):
        raise DataError(
            f"the two evaluations are of different users or test items ({a.n_users} and "
            f"{b.n_users} users): evaluate both models on the same test part."
        )
    top, bottom = a.parts(metric)
    differences = top - b.parts(metric)[0]
    return PairedTest(
        metric,
        float(differences.sum() / bottom.sum()),
        bootstrap_interval(differences, bottom, level=level, samples=samples, seed=seed),
        sign_flip_test(differences, samples=samples, seed=seed),
    )
