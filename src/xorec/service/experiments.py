"""Experiments: who gets which model, by hash; nothing is stored for a user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean, quoted
from xorec.service.events.records import Id


def share_of(salt: str, user: Id) -> float:
    """Where a user stands between 0 and 1: the same in every process, for ever.

    >>> share_of("spring", 4711) == share_of("spring", 4711) != share_of("autumn", 4711)
    True
    """
    text = json.dumps([salt, user], ensure_ascii=False).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / 2**64


def arm_of(experiments: Mapping[str, Mapping[str, Any]], name: str, user: Id | None) -> str:
    """The model that an experiment gives to a user; its first arm to somebody without an id."""
    found = experiments.get(name)
    if found is None:
        hint = did_you_mean(name, experiments)
        raise OptionError(f"there is no experiment {quoted(name)}.{hint}")
    arms: Mapping[str, float] = found["arms"]
    first = next(iter(arms))
    if user is None or not found.get("active", True):
        return first
    at, whole = share_of(f"{name}:{found.get('salt', '')}", user), sum(arms.values())
    below = 0.0
    for arm, share in arms.items():
        below += share / whole
        if at < below:
            return arm
    return first


def difference_test(
    mine: npt.NDArray[np.float64],
    others: npt.NDArray[np.float64],
    *,
    samples: int = 2000,
    seed: int = 0,
) -> dict[str, float | list[float]]:
    """The difference of two means over different users: bootstrap interval, permutation p-value.

    Users are in one arm only, so nothing is paired: labels are dealt anew.

    >>> found = difference_test(np.full(50, 0.9), np.full(50, 0.1))
    >>> found["difference"], found["p_value"] < 0.001
    (0.8, True)
    """
    rng = np.random.default_rng(seed)
    observed = float(mine.mean() - others.mean())
    both, count = np.concatenate([mine, others]), len(mine)
    draws, dealt = np.empty(samples), np.empty(samples)
    for draw in range(samples):
        first = rng.choice(mine, size=count).mean()
        draws[draw] = first - rng.choice(others, size=len(others)).mean()
        shuffled = rng.permutation(both)
        dealt[draw] = shuffled[:count].mean() - shuffled[count:].mean()
    low, high = np.quantile(draws, [0.025, 0.975])
    as_large = np.count_nonzero(np.abs(dealt) >= abs(observed) * (1 - 1e-12))
    return {
        "difference": round(observed, 12),
        "interval": [float(low), float(high)],
        "p_value": float((as_large + 1) / (samples + 1)),
    }
