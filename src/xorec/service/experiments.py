"""Experiments: who gets which model, by hash; nothing is stored for a user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.core.suggestions import did_you_mean
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
