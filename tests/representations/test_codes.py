from __future__ import annotations

import hashlib

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.representations.codes import Codes, MaskedCodes
from xorec.search.index import index_of

BITS = [1, 8, 20, 64, 100, 256]


def vectors(bits: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((9, bits)), rng.standard_normal((31, bits))


@pytest.mark.parametrize("bits", BITS)
def test_scores_are_one_less_the_share_of_bits_that_differ(bits: int) -> None:
    users, items = vectors(bits)
    codes = Codes.from_signs(users, items)
    scores = codes.scores(np.arange(9))
    differ = (users >= 0)[:, None, :] != (items >= 0)[None]
    np.testing.assert_allclose(scores, 1 - differ.mean(axis=2), atol=1e-6)
    signs = np.where(users >= 0, 1, -1) @ np.where(items >= 0, 1, -1).T
    np.testing.assert_allclose(scores, 0.5 + signs / (2 * bits), atol=1e-6)
    pairs = {(score, count) for score, count in zip(scores.flat, signs.flat, strict=True)}
    assert len(pairs) == len(np.unique(signs)) == len(np.unique(scores))  # ties are exact


@pytest.mark.parametrize("bits", BITS)
def test_asymmetric_scores_are_float_users_times_item_signs(bits: int) -> None:
    users, items = vectors(bits)
    codes = Codes.from_signs(users, items, asymmetric=True)
    expected = users @ np.where(items >= 0, 1, -1).T
    np.testing.assert_allclose(codes.scores(np.arange(9)), expected, atol=1e-3)
    one_by_one = [codes.scores(np.array([user]))[0] for user in range(9)]
    np.testing.assert_array_equal(codes.scores(np.arange(9)), one_by_one)
    among = 1 - ((items >= 0)[:, None, :] != (items >= 0)[None]).mean(axis=2)
    np.testing.assert_allclose(codes.similar(np.arange(31)), among, atol=1e-6)


@pytest.mark.parametrize("bits", BITS)
def test_distances_are_bits_that_differ(bits: int) -> None:
    users, items = vectors(bits)
    codes = Codes.from_signs(users, items)
    distances = ((users >= 0)[:, None, :] != (items >= 0)[None]).sum(axis=2)
    for user, query in enumerate(codes.queries(np.arange(9))):
        agreed = [codes.bits_agreed(query, item) for item in range(31)]
        np.testing.assert_array_equal(bits - np.array(agreed), distances[user])
    among = ((items >= 0)[:, None, :] != (items >= 0)[None]).sum(axis=2)
    every = np.arange(31)
    for asymmetric in (False, True):  # items are compared by their bits either way
        codes = Codes.from_signs(users, items, asymmetric=asymmetric)
        found = [codes.item_distances(every, item) for item in range(31)]
        np.testing.assert_array_equal(found, among)


def test_bits_behind_the_last_are_refused() -> None:
    right, wrong = np.zeros((2, 3, 2), dtype=np.uint64)
    wrong[2, 1] = 1 << 36
    for side, pair in (("user", (wrong, right)), ("item", (right, wrong))):
        with pytest.raises(DataError, match=f"the {side} codes have bits behind the last of 100"):
            Codes(*pair, 100)  # the bits 64 to 99 are 0 to 35 of the last word


def test_the_mean_item_is_that_of_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xorec.representations.codes.ROWS_AT_ONCE", 10)
    users, items = vectors(20)
    expected = np.where(items >= 0, 1, -1).mean(axis=0)
    np.testing.assert_allclose(Codes.from_signs(users, items).mean_item, expected, atol=1e-6)


def test_the_digest_is_as_the_file_format_says() -> None:
    users, items = vectors(100)
    codes = Codes.from_signs(users, items)
    total = hashlib.blake2b(digest_size=16)
    for name, words in (("items", codes.item_codes), ("users", codes.user_codes)):
        total.update(f"{name} <u8 ({len(words)}, 2)\n".encode())
        total.update(b"".join(int(word).to_bytes(8, "little") for word in words.ravel()))
    assert codes.metadata() == {"codes": {"bits": 100, "digest": total.hexdigest()}}
    assert Codes.from_signs(users, items, asymmetric=True).metadata() == codes.metadata()


def test_offsets_are_bits_that_agree_with_every_user() -> None:
    rng = np.random.default_rng(3)
    users, items = (np.where(rng.random((n, 20)) < 0.5, -1, 1) for n in (7, 40))
    plain, offsets = Codes.from_signs(users, items), rng.integers(0, 16, 40)
    codes = Codes(plain.user_rows, plain.item_rows, 20, item_offsets=offsets)
    rows, agree = np.arange(7), (users[:, None] == items[None]).sum(axis=2)
    np.testing.assert_allclose(codes.scores(rows), (agree + offsets) / 20, rtol=1e-6)
    index = index_of(codes, np.arange(40, dtype=np.int32))
    hits = index.search(codes.queries(rows), 40)
    order = np.argsort(-(agree + offsets), axis=1, kind="stable")
    np.testing.assert_array_equal(hits.items, order)
    np.testing.assert_array_equal(hits.scores, np.take_along_axis(codes.scores(rows), order, 1))
    np.testing.assert_array_equal(codes.similar(rows), plain.similar(rows))  # by codes alone
    assert codes.bits_agreed(codes.queries(rows[:1]), 3) == agree[0, 3]
    assert codes.nbytes == plain.nbytes + 40
    assert "offset" in codes.score_description
    given = plain.user_rows, plain.item_rows, 20
    assert "item_offsets" not in Codes(*given, None, 0 * offsets).tensors()
    with pytest.raises(DataError, match="float users take none"):
        Codes(*given, users.astype(np.float32), offsets)


def masks(bits: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((9, bits)) < 0.5, rng.random((31, bits)) < 0.5


@pytest.mark.parametrize("bits", BITS)
def test_a_mask_counts_the_users_bits_that_the_item_lacks(bits: int) -> None:
    users, items = masks(bits)
    codes = MaskedCodes.from_bits(users, items.astype(np.float32))  # bits may be numbers
    lacking = (users[:, None, :] & ~items[None]).sum(axis=2)
    scores = codes.scores(np.arange(9))
    np.testing.assert_allclose(scores, 1 - lacking / bits, atol=1e-6)
    assert len(np.unique(scores)) == len(np.unique(lacking))  # equal distances, equal floats
    queries = codes.queries(np.arange(9))
    agreed = [[codes.bits_agreed(query, item) for item in range(31)] for query in queries]
    np.testing.assert_array_equal(bits - np.array(agreed), lacking)


def test_masked_items_and_users_among_themselves_are_plain_codes() -> None:
    users, items = masks(20)
    codes = MaskedCodes.from_bits(users, items)
    differ = (items[:, None, :] != items[None]).mean(axis=2)
    assert type(codes.among_items()) is Codes
    np.testing.assert_allclose(codes.similar(np.arange(31)), 1 - differ, atol=1e-6)
    assert codes.among_users().n_items == 9
    with pytest.raises(DataError, match="made of bits"):
        MaskedCodes(codes.user_codes, codes.item_codes, 20, np.zeros((9, 20), dtype=np.float32))
