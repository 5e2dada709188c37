"""Straight-through learning of codes: signs in the forward pass, gradients to latent vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.optim.passes import Triplets
from xorec.optim.straight_through_kernels import settle_items, step_items, step_users
from xorec.representations.vectors import Floats


def unit_codes(latent: Floats) -> Floats:
    """sign(latent) / sqrt(d), as float32 rows of unit length."""
    unit = np.float32(1 / np.sqrt(latent.shape[1]))
    return np.where(latent >= 0, unit, -unit).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Tables:
    """Latent rows and the unit codes of them, for users and for items."""

    latent_users: Floats
    latent_items: Floats
    users: Floats
    items: Floats

    @classmethod
    def of(cls, latent_users: Floats, latent_items: Floats) -> Tables:
        """Tables over latent rows, which the steps change in place."""
        codes = (unit_codes(latent_users), unit_codes(latent_items))
        return cls(latent_users, latent_items, *codes)


@dataclass(frozen=True, eq=False)
class StraightThroughSteps:
    """The steps over one block. terms: gamma^2, lambda, tau, offset, npair, as the kernels want."""

    triplets: Triplets
    tables: Tables
    rate: np.float32
    terms: tuple[Any, ...]
    push: Floats
    pull: Floats
    lift: Floats
    lean: Floats
    losses: Floats

    @classmethod
    def of(
        cls, triplets: Triplets, tables: Tables, rate: np.float32, terms: tuple[Any, ...]
    ) -> StraightThroughSteps:
        pairs, count = triplets.negatives.shape
        shapes = ((pairs, count), (pairs, count), pairs, (pairs, tables.users.shape[1]), pairs)
        scratch = (np.empty(shape, dtype=np.float32) for shape in shapes)
        return cls(triplets, tables, rate, terms, *scratch)

    def learn_users(self, own: slice) -> None:
        t, tables = self.triplets, self.tables
        rows = (t.users[own], t.positives[own], t.negatives[own], self.push[own], self.pull[own])
        kept = (self.lift[own], self.lean[own], self.losses[own])
        codes = (tables.latent_users, tables.users, tables.items)
        step_users(*codes, *rows, *kept, self.rate, *self.terms)

    def learn_items(self, part: int, parts: int) -> None:
        t, tables = self.triplets, self.tables
        rows = (t.users, t.positives, t.negatives, self.push, self.pull, self.lift, self.lean)
        codes = (tables.latent_items, tables.users, tables.items)
        step_items(*codes, *rows, self.rate, part, parts)

    def finish(self, part: int, parts: int) -> None:
        t, tables = self.triplets, self.tables
        codes = (tables.latent_items, tables.items)
        settle_items(*codes, t.positives, t.negatives, part, parts)

    def loss(self) -> float:
        return float(self.losses.sum(dtype=np.float64))
