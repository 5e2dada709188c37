"""Sizes: the bits that a method needs, not those that fill up words."""

from __future__ import annotations

import numpy as np

from xorec.lab.reproduce.dataset_run import bits_of
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.representations.vectors import Vectors


def sizes(learned: Representation) -> tuple[int, ...]:
    return tuple(bits_of(learned).values())


def test_true_bits_of_a_user_an_item_and_of_all() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(5, 20)), rng.normal(size=(7, 20))
    codes = Codes.from_signs(users, items)
    assert sizes(codes) == (20, 20, 0)
    assert sizes(Codes.from_signs(users, items, asymmetric=True)) == (20 + 640, 20, 0)
    assert sizes(MaskedCodes(codes.user_codes, codes.item_codes, 20)) == (20, 20, 0)
    eta, xi = np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)
    composed = ComposedCodes(codes.user_codes, codes.item_codes, eta, xi, 20)
    assert sizes(composed) == (20 + 128, 20 + 128, 0)
    vectors = Vectors(users.astype(np.float32), items.astype(np.float32))
    assert sizes(vectors) == (640, 640, 0)
    words = rng.normal(size=(4, 32, 20)).astype(np.float32)
    picked = rng.integers(32, size=(7, 4)).astype(np.uint8)
    looked_up = Codebooks(vectors.user_vectors, picked, words)
    assert sizes(looked_up) == (640, 20, 8 * words.nbytes)
    assert bits_of(looked_up) == {"user_bits": 640, "item_bits": 20, "shared_bits": 81920}
