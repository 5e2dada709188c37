"""Counter-based random numbers: (seed, epoch, user, position) -> number.

There is no state, so the numbers do not depend on the order of draws or the number of threads. The
mixer is splitmix64's finaliser (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import inlined, kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_FNV_PRIME = np.uint64(0x100000001B3)
_FNV_START = np.uint64(0xCBF29CE484222325)


@inlined
def mix(value: Any) -> Any:
    """Scramble 64 bits: a bijection whose output looks random for any input sequence."""
    z = np.uint64(value)
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@inlined
def stream(seed: Any, epoch: Any, user: Any) -> Any:
    """The key of one user's numbers in one epoch."""
    key = mix(np.uint64(seed) + _GOLDEN)
    key = mix(key ^ (np.uint64(epoch) * _GOLDEN))
    return mix(key + np.uint64(user) * _GOLDEN)


@inlined
def draw(key: Any, position: Any) -> Any:
    """The 64-bit number at `position` of a stream."""
    return mix(key + (np.uint64(position) + np.uint64(1)) * _GOLDEN)


@inlined
def below(number: Any, bound: Any) -> Any:
    """Turn a 64-bit number into an integer 0 <= r < bound (bound up to 2**53)."""
    return np.int64(np.float64(number >> np.uint64(11)) * (1.0 / 9007199254740992.0) * bound)


@kernel
def hash_text(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], seed: int
) -> npt.NDArray[np.uint64]:
    """A seeded 64-bit hash of each string of a `Text` (FNV-1a, then mixed)."""
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    start = mix(np.uint64(seed) ^ _FNV_START)
    for row in range(len(hashes)):
        value = start
        for at in range(offsets[row], offsets[row + 1]):
            value = (value ^ np.uint64(data[at])) * _FNV_PRIME
        hashes[row] = mix(value)
    return hashes


@kernel
def hash_integers(values: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.uint64]:
    """A seeded 64-bit hash of each integer."""
    hashes = np.empty(len(values), dtype=np.uint64)
    key = mix(np.uint64(seed) + _GOLDEN)
    for row in range(len(values)):
        hashes[row] = mix(key ^ np.uint64(values[row]))
    return hashes
