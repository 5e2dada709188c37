"""SIML's steps over the blocks of a pass, for vectors and for the codes of them.

`Rows` are the users or the items: what moves, and what the others see of it. Names of the scratch
arrays are as in `siml_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.models.siml.siml_kernels import ITEMS, USERS, show_items, step_items, step_users
from xorec.training.passes import Triplets
from xorec.training.row_kernels import SPHERE, show_codes

Floats = npt.NDArray[np.float32]


def unit_codes(rows: npt.NDArray[Any]) -> Floats:
    """sign(row) / sqrt(d): codes as unit vectors."""
    unit = np.float32(1 / np.sqrt(rows.shape[1]))
    return np.where(rows >= 0, unit, -unit).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of users or items: `own` move, `shown` are seen by the others.

    spent: the sum of the squared gradients of each row so far. stamps: the last block in which
    an item was shown anew.
    """

    own: Floats
    shown: Floats
    spent: Floats
    stamps: npt.NDArray[np.int64]

    @classmethod
    def of(cls, own: Floats, spent: Floats, *, items: bool = False) -> Rows:
        """Rows over arrays that the steps change in place. Users' vectors show themselves."""
        shown = own.copy() if items else own
        return cls(own, shown, spent, np.full(len(own) if items else 0, -1, dtype=np.int64))

    @classmethod
    def codes(
        cls, own: Floats, spent: Floats, terms: Terms, pool: ThreadPool, *, items: bool = False
    ) -> Rows:
        """Rows behind codes, shown as the terms of an epoch have it."""
        shown = np.empty_like(own)
        seed = terms.seed ^ (ITEMS if items else USERS)
        how = (np.float32(terms.reach), np.float32(terms.hard), seed, terms.epoch)
        pool.map_ranges(len(own), lambda begin, end: show_codes(own, shown, *how, begin, end))
        return cls(own, shown, spent, np.full(len(own) if items else 0, -1, dtype=np.int64))


@dataclass(frozen=True)
class Terms:
    """The loss and its steps, as the kernels take them; of codes also how they are shown."""

    gamma_squared: float
    lambda_: float
    temperature: float
    offset: float
    npair: bool
    kind: int = SPHERE
    rate: float = 1.0
    reg: float = 0.0
    reach: float = 0.0
    hard: float = 1.0
    seed: int = 0
    epoch: int = 0

    @property
    def loss(self) -> tuple[Any, ...]:
        numbers = (self.gamma_squared, self.lambda_, self.temperature, self.offset)
        return (*map(np.float32, numbers), self.npair)

    @property
    def place(self) -> tuple[Any, ...]:
        shown = np.float32(self.reach), np.float32(self.hard)
        return self.kind, *shown, self.seed, self.epoch

    @property
    def steps(self) -> tuple[np.float32, np.float32]:
        return np.float32(self.rate), np.float32(self.reg)


@dataclass(frozen=True, eq=False)
class Teacher:
    """Unit vectors whose order the rows learn beside the pairs (see `teacher_kernels`).

    lessons: what that order weighs for each user, or none at all: no teacher.
    """

    users: Floats
    items: Floats
    lessons: Floats


_EMPTY = np.zeros((0, 0), dtype=np.float32)
NO_TEACHER = Teacher(_EMPTY, _EMPTY, np.zeros(0, dtype=np.float32))


class Steps:
    """The steps over one block (see `training.passes.Steps`). block: its number, for the stamps."""

    def __init__(
        self,
        triplets: Triplets,
        users: Rows,
        items: Rows,
        terms: Terms,
        block: int = 0,
        teacher: Teacher = NO_TEACHER,
    ) -> None:
        self._triplets, self.users, self.items = triplets, users, items
        self._terms, self._block, self._teacher = terms, block, teacher
        pairs, count = triplets.negatives.shape
        self._push, self._pull = (np.empty((pairs, count), dtype=np.float32) for _ in range(2))
        self._lift, self._losses = (np.empty(pairs, dtype=np.float32) for _ in range(2))
        self._lean = np.empty((pairs, users.own.shape[1]), dtype=np.float32)

    def learn_users(self, own: slice) -> None:
        t, users, terms = self._triplets, self.users, self._terms
        rows = (t.users[own], t.positives[own], t.negatives[own])
        kept = (self._push[own], self._pull[own], self._lift[own], self._lean[own])
        told = (self._teacher.users, self._teacher.items, self._teacher.lessons)
        steep = np.float32(2 * terms.temperature)
        settings = (*terms.steps, *terms.loss, *terms.place, users.spent, *told, steep)
        step_users(
            users.own, users.shown, self.items.shown, *rows, *kept, self._losses[own], *settings
        )

    def learn_items(self, part: int, parts: int) -> None:
        t, items = self._triplets, self.items
        vectors = (items.own, self.users.shown, items.shown, t.users, t.positives, t.negatives)
        kept = (self._push, self._pull, self._lift, self._lean)
        step_items(*vectors, *kept, *self._terms.steps, items.spent, part, parts)

    def finish(self, part: int, parts: int) -> None:
        t, items = self._triplets, self.items
        stamp = (*self._terms.place, items.stamps, self._block, part, parts)
        show_items(items.own, items.shown, t.positives, t.negatives, *stamp)

    def loss(self) -> float:
        return float(self._losses.sum(dtype=np.float64))
