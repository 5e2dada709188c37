"""LightRec's loss and its steps.

mean of softplus(u.q_j - u.q_i) + decay/2 (|u|^2 + |q_i|^2 + |q_j|^2) over the triplets of a batch,
q the quantised items, + distill x the error of the scores (`lightrec_distill`), by Adam.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from xorec.core.threads import ThreadPool
from xorec.models.factorization.bpr_gradients import BPRGradientStep
from xorec.models.hashing.lightrec_distill import Teacher
from xorec.models.hashing.lightrec_encoder import Array, ItemEncoder
from xorec.training.adam_kernels import Moments, adam
from xorec.training.checkpoint import Arrays
from xorec.training.rows import Gradients

_LEARNED = ("users", "codebooks", "transforms")


def start_arrays(users: Array, codebooks: Array) -> Arrays:
    """The arrays of a fit: what is learned (M = I at first), and Adam at its start."""
    books, _, size = codebooks.shape
    transforms = np.repeat(np.eye(size, dtype=np.float32)[None], books, axis=0)
    learned = dict(zip(_LEARNED, (users.copy(), codebooks, transforms), strict=True))
    moments = {
        f"{name}_{moment}": np.zeros_like(array)
        for name, array in learned.items()
        for moment in ("first", "second")
    }
    return {**learned, **moments, "steps": np.zeros(1, dtype=np.int64)}


@dataclass(frozen=True)
class Weights:
    """What the terms count, and the softness of the encoder's choice."""

    decay: float
    distill: float
    temperature: float


class Learner:
    """Works on the arrays of a fit in place."""

    def __init__(
        self, arrays: Arrays, teacher: Teacher, weights: Weights, pool: ThreadPool
    ) -> None:
        self._arrays, self._teacher, self._weights, self._pool = arrays, teacher, weights, pool
        self.users: Array = arrays["users"]
        self._encoder = ItemEncoder(arrays["codebooks"], arrays["transforms"], weights.temperature)
        self.user_gradients, self.item_gradients = (
            Gradients(np.zeros_like(rows), np.zeros(len(rows), rows.dtype))
            for rows in (teacher.users, teacher.items)
        )
        self.codes, self.items = self._encoder.encode(teacher.items, pool)

    def step(self, triplets: int) -> BPRGradientStep:
        """The gradients of BPR's mean loss over a batch of so many triplets."""
        vectors, share = (self.users, self.items), np.float32(1 / triplets)
        return BPRGradientStep(self.user_gradients, self.item_gradients, *vectors, share)

    def learn(self, rate: float) -> float:
        """One step of Adam with the gradients of a batch; returns the error of the scores."""
        users, items = self.user_gradients, self.item_gradients
        shrink = self.users.dtype.type(self._weights.decay / users.counts.sum())
        error = self._distill()
        items.sums[...] += shrink * items.counts[:, None] * self.items
        at_words, at_transforms = self._encoder.gradients(
            self._teacher.items, self.codes, items.sums, self._pool
        )
        self._arrays["steps"] += 1
        self._step("users", users.sums, shrink * users.counts, rate)
        self._step("codebooks", at_words, None, rate)
        self._step("transforms", at_transforms, None, rate / self.users.shape[1])
        for array in (*users, *items):
            array.fill(0)
        self.codes, self.items = self._encoder.encode(self._teacher.items, self._pool)
        return error

    def _distill(self) -> float:
        """Add the gradients of the distillation; returns its value."""
        error, at_users, at_items = self._teacher.gradients(self.users, self.items)
        weight = self.users.dtype.type(self._weights.distill)
        self.user_gradients.sums[...] += weight * at_users
        self.item_gradients.sums[...] += weight * at_items
        return error

    def _step(self, name: str, gradients: Array, shrink: Array | None, rate: float) -> None:
        arrays, size = self._arrays, gradients.shape[-1]
        rows, gradients, first, second = (
            array.reshape(-1, size)
            for array in (
                arrays[name],
                gradients,
                arrays[f"{name}_first"],
                arrays[f"{name}_second"],
            )
        )
        shrink = np.zeros(len(rows), rows.dtype) if shrink is None else shrink
        moments = Moments(first, second, arrays["steps"][0])
        step = partial(adam, rows, gradients, shrink, moments, np.float32(rate))
        self._pool.map_ranges(len(rows), step)
