import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.core.errors import DataError, OptionError
from xorec.search.top_k import (
    CHUNK,
    insert_sorted,
    score_key,
    top_k,
    top_k_row,
)

Row = npt.NDArray[np.float32]
LEVELS = [float("nan"), float("-inf"), -3e38, -1.5, -0.0, 0.0, 1e-45, 2.0, float("inf")]


def slow(scores: Row, k: int, tie_rank: npt.NDArray[np.int32], seen: list[int]) -> list[int]:
    """The rule, said in Python: score descending (NaN as -inf), then tie rank."""
    value = [float("-inf") if np.isnan(s) else float(s) for s in scores]
    shown = [item for item in range(len(scores)) if item not in set(seen)]
    return sorted(shown, key=lambda item: (-value[item], tie_rank[item]))[:k]


def check(scores: Row, k: int, seed: int, seen: list[list[int]]) -> None:
    tie_rank = np.random.default_rng(seed).permutation(scores.shape[1]).astype(np.int32)
    indptr = np.cumsum([0, *map(len, seen)])
    indices = np.array([item for row in seen for item in row], dtype=np.int32)
    hits = top_k(scores, k, tie_rank, (indptr, indices))
    for b, (items, best) in enumerate(hits):
        expected = slow(scores[b], k, tie_rank, seen[b])
        assert items.tolist() == expected
        np.testing.assert_array_equal(best, scores[b, expected])
        items, best = top_k_row(scores[b], k, tie_rank, np.array(seen[b], dtype=np.int32))
        assert items.tolist() == expected
        np.testing.assert_array_equal(best, scores[b, expected])


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_small_rows_full_of_ties_nan_and_infinities(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 12))
    rows = data.draw(st.integers(1, 3))
    levels = st.lists(st.sampled_from(LEVELS), min_size=m, max_size=m)
    scores = np.array([data.draw(levels) for _ in range(rows)], dtype=np.float32)
    seen = [sorted(data.draw(st.sets(st.integers(0, m - 1)))) for _ in range(rows)]
    check(scores, data.draw(st.integers(1, 15)), data.draw(st.integers(0, 99)), seen)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 60),
    levels=st.sampled_from([1, 2, 5, 21, 500, 10**9]),
    odd=st.sampled_from([0.0, 0.01, 0.9, 1.0]),
)
def test_long_rows_take_the_quick_way_and_agree(seed: int, k: int, levels: int, odd: float) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(CHUNK * 2, CHUNK * 40))
    scores = rng.integers(-levels, levels, (2, m)).astype(np.float32)
    strange = rng.random((2, m)) < odd
    scores[strange] = rng.choice(np.array(LEVELS, dtype=np.float32), int(strange.sum()))
    seen = [sorted(rng.choice(m, int(rng.integers(0, m)) // 8, replace=False)) for _ in range(2)]
    check(scores, k, seed, seen)


def test_the_best_items_all_in_one_run() -> None:
    scores = -np.arange(64 * 100, dtype=np.float32)[None]
    check(scores, 50, 0, [list(range(0, 40, 2))])


@pytest.mark.parametrize("seed", range(3))
def test_who_has_seen_the_best_and_others_takes_the_quick_way_too(seed: int) -> None:
    """What is seen lies before, between and behind the few items that reach the bound."""
    rng, m, k = np.random.default_rng(seed), CHUNK * 300, 20
    scores = rng.standard_normal((2, m)).astype(np.float32)
    best = np.argsort(-scores, axis=1)[:, : 2 * k : 2]
    seen = [sorted({*best[b].tolist(), *rng.choice(m, 100).tolist()}) for b in range(2)]
    assert max(map(len, seen)) + k < m // CHUNK
    check(scores, k, seed, seen)


def test_zeros_of_both_signs_tie_on_the_quick_way_too() -> None:
    scores = np.full((1, CHUNK * 300), -1, dtype=np.float32)
    scores[0, ::CHUNK] = np.where(np.arange(300) % 2, 0.0, -0.0)  # the best of each chunk
    check(scores, 20, 0, [[0, CHUNK]])


def test_a_few_nan_do_not_shorten_the_list_on_the_quick_way() -> None:
    """In 15 chunks NaN passes for the best, so only few numbers reach the bound."""
    scores = np.random.default_rng(0).standard_normal((1, CHUNK * 300)).astype(np.float32)
    scores[0, : 15 * CHUNK : CHUNK] = np.nan
    check(scores, 20, 0, [[]])


def test_scores_are_only_read() -> None:
    scores = np.broadcast_to(np.array([1, 3, 2], np.float32), (4, 3))
    hits = top_k(scores, 2, np.arange(3, dtype=np.int32))
    assert hits.items.tolist() == [[1, 2]] * 4


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True, None])
def test_an_impossible_k_is_refused_in_words(k: object) -> None:
    scores, tie_rank = np.ones((1, 3), np.float32), np.arange(3, dtype=np.int32)
    with pytest.raises(OptionError, match="whole number of 1 or more"):
        top_k(scores, k, tie_rank)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="whole number of 1 or more"):
        top_k_row(scores[0], k, tie_rank)  # type: ignore[arg-type]


def test_shapes_that_do_not_fit_are_refused() -> None:
    scores, tie_rank = np.ones((1, 3), np.float32), np.arange(2, dtype=np.int32)
    with pytest.raises(DataError, match="tie_rank has shape"):
        top_k(scores, 1, tie_rank)
    with pytest.raises(DataError, match="exclude has 2 rows"):
        top_k(scores, 1, np.arange(3, dtype=np.int32), (np.zeros(3, int), np.zeros(0, int)))


@pytest.mark.process
def test_one_row_needs_no_numba() -> None:
    code = (
        "import sys, numpy as np; from xorec.search.top_k import top_k_row;"
        "top_k_row(np.ones(3, np.float32), 2, np.arange(3, dtype=np.int32));"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_keys_fall_as_scores_rise() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32)
    scores = np.sort(np.concatenate([bits[~np.isnan(bits)], np.array(LEVELS[1:], np.float32)]))
    keys = np.array([score_key(score) for score in scores])
    np.testing.assert_array_equal(np.diff(scores) > 0, keys[1:] < keys[:-1])
    np.testing.assert_array_equal(np.diff(scores) == 0, keys[1:] == keys[:-1])
    assert score_key(np.float32("nan")) == score_key(np.float32("-inf")) == keys[0]


def test_the_smallest_keys_are_kept_once_each_in_their_order() -> None:
    rng = np.random.default_rng(0)
    for room in (1, 3, 8):
        keys = rng.integers(0, 12, 40).astype(np.uint64)
        best, count = np.zeros(room, dtype=np.uint64), 0
        for at, key in enumerate(keys):
            count = insert_sorted(best, count, key)
            assert best[:count].tolist() == np.unique(keys[: at + 1])[:room].tolist()
