import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.evaluation.rankings import count_exposure, place_row
from xorec.search.top_k import CHUNK, best_keys


def places(scores: np.ndarray, tests: list[int], seen: list[int], k: int) -> np.ndarray:
    m = len(scores)
    tie_rank = np.arange(m, dtype=np.int32)[::-1].copy()
    keys = np.empty(m, np.uint64)
    excluded = np.array(seen, np.int32)
    scratch = np.empty(m + 1, np.int32), np.empty(-(-m // CHUNK), np.int32)
    found = best_keys(scores, k, excluded, tie_rank, keys, *scratch)
    out = np.full((len(tests), 3), -7, np.int32)
    wanted = np.array(tests, np.int32)
    place_row(scores, wanted, excluded, tie_rank, keys, found, min(k, found), out)
    return out


def slow(scores: np.ndarray, tests: list[int], seen: list[int], k: int) -> list[list[int]]:
    """Rank, above and tied by counting; later rows go first among equals."""
    shown = [item for item in range(len(scores)) if item not in seen]
    order = sorted(shown, key=lambda item: (-scores[item], -item))
    reached = {scores[item] for item in order[:k]}
    out = []
    for test in tests:
        if test in seen or scores[test] not in reached:
            out.append([0, 0, 0])
            continue
        rank = order.index(test) + 1
        above = sum(scores[item] > scores[test] for item in shown)
        tied = sum(scores[item] == scores[test] for item in shown)
        out.append([rank if rank <= k else 0, above, tied])
    return out


@settings(deadline=None, max_examples=200)
@given(data=st.data(), m=st.integers(1, 200), levels=st.sampled_from([1, 3, 40]))
def test_places_are_what_counting_says(data: st.DataObject, m: int, levels: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    scores = rng.integers(0, levels, m).astype(np.float32)
    tests = sorted(rng.choice(m, int(rng.integers(1, min(m, 6) + 1)), replace=False).tolist())
    seen = sorted(rng.choice(m, int(rng.integers(0, m + 1)), replace=False).tolist())
    k = data.draw(st.integers(1, m))
    assert places(scores, tests, seen, k).tolist() == slow(scores, tests, seen, k)


def test_count_exposure_counts_each_item_at_the_first_k_that_shows_it() -> None:
    exposure = np.zeros((2, 4), np.int64)
    shown = np.array([[0, 1, 2], [0, 3, -1]], np.int32)
    count_exposure(shown, np.array([1, 3]), exposure)
    assert exposure.tolist() == [[2, 0, 0, 0], [0, 1, 1, 1]]
