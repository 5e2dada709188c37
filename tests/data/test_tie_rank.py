import numpy as np
import pytest

import xorec.core.rng
from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.tie_rank import tie_rank


def order(items: Ids, prior: np.ndarray | None, seed: int = 0) -> list[object]:
    """The raw ids, first among equals first."""
    return [items[int(row)] for row in np.argsort(tie_rank(items, prior, seed))]


@pytest.mark.parametrize("raw", [list(range(50)), [f"item {i}" for i in range(50)]])
def test_is_a_permutation_with_the_larger_prior_first(raw: list[int]) -> None:
    prior = np.random.default_rng(0).integers(0, 5, 50)
    rank = tie_rank(Ids.of(raw), prior, 0)
    assert rank.dtype == np.int32
    assert sorted(rank) == list(range(50))
    assert np.all(np.diff(prior[np.argsort(rank)]) <= 0)


@pytest.mark.parametrize("raw", [list(range(50)), [f"item {i}" for i in range(50)]])
@pytest.mark.parametrize("with_prior", [True, False])
def test_depends_on_the_id_and_never_on_the_row(raw: list[int], with_prior: bool) -> None:
    rng = np.random.default_rng(1)
    prior = rng.integers(0, 3, 50) if with_prior else None
    shuffle = rng.permutation(50)
    shuffled = Ids.of([raw[row] for row in shuffle])
    moved = None if prior is None else prior[shuffle]
    assert order(Ids.of(raw), prior) == order(shuffled, moved)


def test_equal_priors_are_ordered_by_the_hash_of_the_id() -> None:
    items = Ids.of([30, 10, 20])
    hashes = xorec.core.rng.hash_integers(np.array([30, 10, 20]), 7)
    expected = [[30, 10, 20][row] for row in np.argsort(hashes)]
    assert order(items, None, seed=7) == expected
    assert order(items, np.array([4, 4, 4]), seed=7) == expected


@pytest.mark.parametrize("raw", [range(2000), [f"item {i}" for i in range(2000)]])
def test_another_seed_is_another_order_that_has_nothing_to_do_with_rows(raw: list[int]) -> None:
    items = Ids.of(raw)
    one, two = tie_rank(items, None, 1), tie_rank(items, None, 2)
    rows = np.arange(2000)
    for a, b in ((one, two), (one, rows), (two, rows)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.1


@pytest.mark.parametrize(
    ("raw", "name"), [([3, 1, 2], "hash_integers"), (["c", "a", "b"], "hash_text")]
)
def test_colliding_hashes_fall_back_to_the_id(
    raw: list[int], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xorec.core.rng, name, lambda *_: np.zeros(3, dtype=np.uint64))
    assert order(Ids.of(raw), None) == sorted(raw)
    assert order(Ids.of(raw), np.array([5, 5, 5])) == sorted(raw)
    assert order(Ids.of(raw), np.array([0, 0, 9])) == [raw[2], *sorted(raw[:2])]


def test_a_prior_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(DataError, match="one number for each item"):
        tie_rank(Ids.of([1, 2, 3]), np.array([1, 2]), 0)
