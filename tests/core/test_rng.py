from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.core.rng import below, draw, hash_integers, hash_text, mix, stream

M = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def python_mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


@kernel
def numbers(seed: int, epoch: int, user: int, count: int) -> np.ndarray:
    key = stream(seed, epoch, user)
    out = np.empty(count, dtype=np.uint64)
    for position in range(count):
        out[position] = draw(key, position)
    return out


@kernel
def places(key: int, count: int, bound: int) -> np.ndarray:
    out = np.empty(count, dtype=np.int64)
    for position in range(count):
        out[position] = below(draw(key, position), bound)
    return out


@kernel
def one_below(number: np.uint64, bound: int) -> Any:
    return below(number, bound)


def test_kernel_equals_the_python_twin() -> None:
    seed, epoch, user = 2**63 - 5, 17, 40_000_000
    key = python_mix((seed + GOLDEN) & M)
    key = python_mix(key ^ (epoch * GOLDEN & M))
    key = python_mix((key + user * GOLDEN) & M)
    expected = [python_mix((key + (p + 1) * GOLDEN) & M) for p in range(50)]
    assert numbers(seed, epoch, user, 50).tolist() == expected


def test_mixing_is_splitmix64() -> None:
    """The first outputs of splitmix64 seeded with 1234567 (its reference implementation)."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]

    @kernel
    def mixed(value: np.uint64) -> Any:
        return mix(value)

    state = 1234567
    for number in published:
        state = (state + GOLDEN) & M
        assert int(mixed(np.uint64(state))) == number


def test_below_is_uniform_and_in_range() -> None:
    drawn = places(123456789, 70_000, 7)
    counts = np.bincount(drawn, minlength=7)
    assert len(counts) == 7
    assert np.sum((counts - 10_000) ** 2 / 10_000) < 22.5  # chi-square, 0.999, 6 degrees
    for bound in (1, 3, 7, 2**31 - 1, 2**53):
        assert 0 <= one_below(np.uint64(M), bound) < bound
        assert one_below(np.uint64(0), bound) == 0


def test_hashes_hang_on_content_and_seed_not_on_place() -> None:
    data = np.frombuffer(b"abcabab", dtype=np.uint8)
    ends = np.array([0, 3, 5, 7])  # abc, ab, ab
    for hashes, others in (
        (hash_text(data, ends, 1), hash_text(data, ends, 2)),
        (hash_integers(np.array([-5, 5, 5]), 9), hash_integers(np.array([-5, 5, 5]), 10)),
    ):
        assert hashes[1] == hashes[2]
        assert len({*hashes.tolist(), *others.tolist()}) == 4
