"""The best of sums that stand side by side: bounds, ties, and what is no number."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.representations.base import NO_SCALES
from xorec.representations.neighbours import Postings
from xorec.representations.neighbours_kernels import (
    Scratches,
    add_postings,
    clean,
    count_bits,
    item_at,
    slot_of,
)
from xorec.search.postings import best_sums, hide

NO_MASK = np.zeros(0, dtype=np.uint8)


@pytest.mark.parametrize("count", [1, 3, 64, 700, 5000])
def test_slots_and_items_are_each_others_inverse(count: int) -> None:
    rng = np.random.default_rng(count)
    items = np.sort(rng.choice(5000, count, replace=False))
    with Scratches(5000).one() as scratch:
        for item in items:
            scratch.ranks[2 * (item // 64)] |= np.uint64(1) << np.uint64(item % 64)
        assert count_bits(scratch.ranks) == count
        word = 0
        for slot, item in enumerate(items):
            assert slot_of(scratch.ranks, item) == slot
            assert item_at(scratch.ranks, slot, 0)[0] == item
            found, word = item_at(scratch.ranks, slot, word)
            assert found == item
        for item in np.setdiff1d(np.arange(5000), items)[::37]:
            assert slot_of(scratch.ranks, item) == -1


def test_what_is_clean_again() -> None:
    postings = Postings(
        np.array([0, 2, 2, 3]), np.array([0, 2, 2]), np.array([1, 2, 4], np.float32), NO_SCALES
    )
    with Scratches(3).one() as scratch:
        history = np.array([0, 1, 2, 0], dtype=np.int32), np.zeros(0, dtype=np.float32)
        assert add_postings(postings, history, scratch) == 2
        assert scratch.sums[:3].tolist() == [2, 8, 0]
        clean(scratch, 2)
        assert not scratch.ranks.any()
        assert not scratch.sums.any()


@pytest.mark.parametrize("kind", ["spread", "ties", "few values", "below zero", "no numbers"])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 400, 4000])
@pytest.mark.parametrize("best", [0, 1, 20, 100, 5000])  # 100 of 400: no lines are made
def test_best_sums_equal_sorting(kind: str, count: int, best: int) -> None:
    rng, items = np.random.default_rng(count + best), 6000
    rows = np.sort(rng.choice(items, count, replace=False))
    sums = rng.standard_normal(count) * 10.0 ** rng.integers(-20, 20, count)
    sums = {
        "spread": sums,
        "ties": np.ones(count),
        "few values": rng.integers(-2, 3, count),
        "below zero": -np.abs(sums),
        "no numbers": np.where(rng.random(count) < 0.3, np.nan, sums),
    }[kind].astype(np.float32)
    sums[rng.random(count) < 0.02] = np.inf
    rank = rng.permutation(items).astype(np.int32)
    mask = (rng.random(items) < 0.5).astype(np.uint8)
    out = rng.choice(rows, count // 4, replace=False)
    with Scratches(items).one() as scratch:
        for row in rows:
            scratch.ranks[2 * (row // 64)] |= np.uint64(1) << np.uint64(row % 64)
        count_bits(scratch.ranks)
        scratch.sums[:count] = sums
        hide(scratch, out)
        hide(scratch, np.setdiff1d(np.arange(items), rows)[:50])  # these have no sums
        for allowed in (NO_MASK, mask):
            found, values = best_sums(scratch, count, best, rank, allowed)
            shown = [
                (-value, rank[row])
                for row, value in zip(rows, sums, strict=True)
                if value > 0 and row not in out and (not len(allowed) or allowed[rank[row]])
            ]
            expected = [int(place) for _, place in sorted(shown)[:best]]
            assert rank[found[np.lexsort((rank[found], -values))]].tolist() == expected
            of_rows = dict(zip(rows.tolist(), sums.tolist(), strict=True))
            assert values.tolist() == [of_rows[row] for row in found.tolist()]
