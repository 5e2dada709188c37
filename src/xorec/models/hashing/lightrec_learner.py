"""LightRec's loss and its steps.

mean of softplus(u.q_j - u.q_i) + decay/2 (|u|^2 + |q_i|^2 + |q_j|^2) over the triplets of a batch,
q the quantised items, + distill x the error of the scores (`lightrec_distill`), by Adam.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from xorec.core.threads import ThreadPool
from xorec.models.factorization.bpr_gradient_kernels import bpr_items, bpr_users
from xorec.models.hashing.lightrec_distill import Teacher
from xorec.models.hashing.lightrec_encoder import Array, ItemEncoder
from xorec.training.adam_kernels import adam
from xorec.training.checkpoint import Arrays
from xorec.training.passes import Triplets

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
        self._arrays, self._teacher, self._weights, self._team = arrays, teacher, weights, pool
        self.users: Array = arrays["users"]
        self._encoder = ItemEncoder(arrays["codebooks"], arrays["transforms"], weights.temperature)
        self.user_slopes, self.item_slopes = (
            np.zeros_like(rows) for rows in (teacher.users, teacher.items)
        )
        self.user_met, self.item_met = (
            np.zeros(len(rows), rows.dtype) for rows in (teacher.users, teacher.items)
        )
        self.codes, self.items = self._encoder.encode(teacher.items, pool)

    def learn(self, rate: float) -> float:
        """One step of Adam with the slopes of a batch; returns the error of the scores."""
        shrink = self.users.dtype.type(self._weights.decay / self.user_met.sum())
        error = self._distill()
        self.item_slopes += shrink * self.item_met[:, None] * self.items
        at_words, at_transforms = self._encoder.slopes(
            self._teacher.items, self.codes, self.item_slopes, self._team
        )
        self._arrays["steps"] += 1
        self._step("users", self.user_slopes, shrink * self.user_met, rate)
        self._step("codebooks", at_words, None, rate)
        self._step("transforms", at_transforms, None, rate / self.users.shape[1])
        for array in (self.user_slopes, self.user_met, self.item_slopes, self.item_met):
            array.fill(0)
        self.codes, self.items = self._encoder.encode(self._teacher.items, self._team)
        return error

    def _distill(self) -> float:
        """Add the slopes of the distillation; returns its value."""
        error, at_users, at_items = self._teacher.slopes(self.users, self.items)
        weight = self.users.dtype.type(self._weights.distill)
        self.user_slopes += weight * at_users
        self.item_slopes += weight * at_items
        return error

    def _step(self, name: str, slopes: Array, shrink: Array | None, rate: float) -> None:
        arrays, size = self._arrays, slopes.shape[-1]
        rows, slopes, first, second = (
            array.reshape(-1, size)
            for array in (arrays[name], slopes, arrays[f"{name}_first"], arrays[f"{name}_second"])
        )
        shrink = np.zeros(len(rows), rows.dtype) if shrink is None else shrink
        step = partial(adam, rows, slopes, shrink, first, second)
        self._team.map_ranges(len(rows), partial(step, np.float32(rate), arrays["steps"][0]))


class Steps:
    """The gradients of BPR's mean loss over one batch, added to those of the learner."""

    def __init__(self, triplets: Triplets, learner: Learner) -> None:
        self._triplets, self._learner = triplets, learner
        self._pull = np.empty(triplets.negatives.shape, dtype=np.float32)
        self._losses = np.empty(len(triplets.users), dtype=np.float32)

    def learn_users(self, own: slice) -> None:
        t, at = self._triplets, self._learner
        rows = (t.users[own], t.positives[own], t.negatives[own])
        kept = (self._pull[own], self._losses[own], at.user_slopes, at.user_met)
        bpr_users(at.users, at.items, *rows, *kept, np.float32(1 / t.negatives.size))

    def learn_items(self, part: int, parts: int) -> None:
        t, at = self._triplets, self._learner
        rows = (t.users, t.positives, t.negatives, self._pull)
        bpr_items(at.users, *rows, at.item_slopes, at.item_met, part, parts)

    def finish(self, part: int, parts: int) -> None:
        """Nothing is left to do."""

    def loss(self) -> float:
        return float(self._losses.sum(dtype=np.float64))
