"""Data of any size for measuring, made by seed."""

from __future__ import annotations

import numpy as np

from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.selection.plan.sizes import lognormal_points


def made_pairs(users: int, items: int, mean: float, seed: int = 21) -> Interactions:
    """Users with log-normal histories, items by a power law."""
    rng = np.random.Generator(np.random.Philox(seed))
    lengths = rng.choice(lognormal_points(mean, 2.0), users).astype(np.int64) + 1
    owners = np.repeat(np.arange(users), np.minimum(lengths, items // 4))
    places = np.floor(items * rng.random(len(owners)) ** 2.5).astype(np.int64)
    ids = Ids.sorted(range(users)), Ids.sorted(range(items))
    return Interactions.from_rows(*ids, owners.astype(np.int32), places.astype(np.int32))
