"""Encoder: vectors that come from free (ego) vectors by propagation, which Adam learns.

A model hands in the gradients of its loss at the vectors (`user_gradients`, `item_gradients`, and
how often a row came); `learn` takes them back through the propagation, takes one step of Adam on
the ego vectors, and propagates anew. With 0 layers the vectors are the ego vectors: matrix
factorisation.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_kernel
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.representations.vectors import Vectors
from xorec.training.adam_kernels import Moments, adagrad, adam
from xorec.training.checkpoint import Arrays
from xorec.training.propagation import Propagation
from xorec.training.rows import Gradients

Floats = npt.NDArray[np.float32]


@fast_kernel
def to_unit(rows: Any, unit: Any, begin: Any, end: Any) -> None:
    """unit = row / |row|; a row of zeros stays."""
    for row in range(begin, end):
        total = np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * rows[row, f]
        factor = np.float32(1) / np.sqrt(total) if total > np.float32(0) else np.float32(0)
        for f in range(rows.shape[1]):
            unit[row, f] = factor * rows[row, f]


@fast_kernel
def through_unit(rows: Any, unit: Any, gradients: Any, begin: Any, end: Any) -> None:
    """Gradients at `unit` become gradients at `rows`: (g - (g.e) e) / |row|, e the unit row."""
    for row in range(begin, end):
        total, along = np.float32(0), np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * rows[row, f]
            along += gradients[row, f] * unit[row, f]
        factor = np.float32(1) / np.sqrt(total) if total > np.float32(0) else np.float32(0)
        for f in range(rows.shape[1]):
            gradients[row, f] = factor * (gradients[row, f] - along * unit[row, f])


def start_arrays(
    train: Interactions, dimensions: int, scale: float, seed: int, optimizer: str = "adam"
) -> Arrays:
    """Small normal ego vectors, users then items, and the optimiser at its start."""
    rng = np.random.Generator(np.random.Philox(seed))
    rows = train.n_users + train.n_items
    ego = np.float32(scale) * rng.standard_normal((rows, dimensions), dtype=np.float32)
    if optimizer == "adagrad":
        return {"ego": ego, "grad_sq_sum": np.zeros(rows, dtype=np.float32)}
    moments = {"first": np.zeros_like(ego), "second": np.zeros_like(ego)}
    return {"ego": ego, **moments, "steps": np.zeros(1, dtype=np.int64)}


class Encoder:
    """Works on the arrays of a fit in place.

    unit: the vectors are scaled to unit length after the propagation.
    """

    def __init__(
        self,
        graph: Propagation,
        arrays: Arrays,
        n_users: int,
        pool: ThreadPool,
        *,
        unit: bool = False,
    ) -> None:
        self._graph, self._arrays, self._n_users, self._pool = graph, arrays, n_users, pool
        ego = arrays["ego"]
        self._unit = unit
        self.vectors, self.gradients = np.empty_like(ego), np.zeros_like(ego)
        self._spare = (np.empty_like(ego), np.empty_like(ego))
        self._propagated = np.empty_like(ego) if unit else self.vectors
        self.counts = np.zeros(len(ego), dtype=np.float32)
        self._encode()

    @property
    def users(self) -> Floats:
        return self.vectors[: self._n_users]

    @property
    def items(self) -> Floats:
        return self.vectors[self._n_users :]

    @property
    def user_gradients(self) -> Gradients:
        """The gradients at the users' vectors, and how often each user came."""
        return Gradients(self.gradients[: self._n_users], self.counts[: self._n_users])

    @property
    def item_gradients(self) -> Gradients:
        """The gradients at the items' vectors, and how often each item came."""
        return Gradients(self.gradients[self._n_users :], self.counts[self._n_users :])

    def learn(self, rate: float, shrink: float) -> None:
        """One step. shrink times how often a row came is the weight of its squared norm / 2."""
        arrays, gradients = self._arrays, self.gradients
        if self._unit:
            at = (self._propagated, self.vectors, gradients)
            self._graph.over_rows(self._pool, partial(through_unit, *at))
        back = gradients
        if self._graph.layers:
            back = self._propagated  # it is made anew below
            self._graph.apply(gradients, back, self._spare, self._pool)
        self.counts *= np.float32(shrink)
        if "grad_sq_sum" in arrays:
            state = (arrays["grad_sq_sum"], np.float32(rate))
            step = partial(adagrad, arrays["ego"], back, self.counts, *state)
        else:
            arrays["steps"] += 1
            moments = Moments(arrays["first"], arrays["second"], arrays["steps"][0])
            step = partial(adam, arrays["ego"], back, self.counts, moments, np.float32(rate))
        self._graph.over_rows(self._pool, step)
        gradients.fill(0)
        self.counts.fill(0)
        self._encode()

    def _encode(self) -> None:
        self._graph.apply(self._arrays["ego"], self._propagated, self._spare, self._pool)
        if self._unit:
            self._graph.over_rows(self._pool, partial(to_unit, self._propagated, self.vectors))

    def representation(self) -> Vectors:
        """What was learned so far: copies."""
        return Vectors(self.users.copy(), self.items.copy())
