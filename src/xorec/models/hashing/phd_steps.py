"""PHD's steps over the blocks of a pass: users, then items, once a block each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xorec.models.hashing.phd_kernels import add_items, draw_items, step_items, step_users
from xorec.representations.vectors import Floats
from xorec.training.checkpoint import Arrays
from xorec.training.passes import Triplets


@dataclass(frozen=True)
class Terms:
    """The loss and its steps; names as in `phd_kernels`."""

    rate: float
    kl: float
    target: float
    noise: float
    hard: float


@dataclass(frozen=True, eq=False)
class Rows:
    """Users and items in one epoch: logits, what they have spent, what was drawn.

    Names as in `phd_kernels`; turn: the number of the epoch's first block, for the draws.
    """

    users: Floats
    items: Floats
    user_spent: Floats
    item_spent: Floats
    bits: Floats
    lacks: Floats
    chances: Floats
    sums: Floats
    met: Floats
    seed: int
    turn: int

    @classmethod
    def of(cls, arrays: Arrays, terms: Terms, seed: int, epoch: int) -> Rows:
        """Over arrays that the steps change in place; the items' first codes are drawn."""
        users, items = arrays["users"], arrays["items"]
        lacks, chances = np.empty_like(items), np.empty_like(items)
        turn = epoch << 24
        draw_items(items, chances, lacks, items.dtype.type(terms.hard), seed, turn)
        drawn = (np.empty_like(users), lacks, chances)
        sums, met = np.zeros_like(items), np.zeros(len(items), dtype=items.dtype)
        spent = (arrays["user_spent"], arrays["item_spent"])
        return cls(users, items, *spent, *drawn, sums, met, seed, turn)


class Steps:
    """The steps over one block (see `training.passes.Steps`). block: its number in the epoch."""

    def __init__(self, triplets: Triplets, rows: Rows, terms: Terms, block: int) -> None:
        pairs, count = triplets.negatives.shape
        number = rows.items.dtype.type
        self._triplets, self._rows, self._turn = triplets, rows, rows.turn + block
        self._rate, self._kl, self._hard = map(number, (terms.rate, terms.kl, terms.hard))
        self._target, self._noise = number(terms.target), number(terms.noise)
        self._slopes = np.empty((pairs, count + 1), dtype=number)
        self._losses = np.empty(pairs, dtype=number)

    def learn_users(self, own: slice) -> None:
        t, rows = self._triplets, self._rows
        block = (t.users[own], t.positives[own], t.negatives[own])
        kept = (self._slopes[own], self._losses[own])
        terms = (self._rate, self._kl, self._target, self._noise, self._hard)
        tables = (rows.users, rows.user_spent, rows.bits, rows.lacks)
        step_users(*tables, *block, *kept, *terms, rows.seed, self._turn)

    def learn_items(self, part: int, parts: int) -> None:
        t, rows = self._triplets, self._rows
        block = (t.users, t.positives, t.negatives, self._slopes)
        add_items(rows.bits, rows.sums, rows.met, *block, part, parts)

    def finish(self, part: int, parts: int) -> None:
        rows = self._rows
        tables = (rows.items, rows.item_spent, rows.chances, rows.lacks, rows.sums, rows.met)
        terms = (self._rate, self._kl, self._hard)
        step_items(*tables, *terms, rows.seed, self._turn, part, parts)

    def loss(self) -> float:
        return float(self._losses.sum(dtype=np.float64))
