from __future__ import annotations

from dataclasses import replace

import numpy as np

from xorec.data.interactions import Interactions
from xorec.testing.data import planted, weighted
from xorec.training.blocks import blocks_of, item_parts, user_blocks_of


def test_each_pair_comes_once_with_its_user_and_runs_are_marked() -> None:
    data = planted(90, 60)
    seen = []
    for block in blocks_of(data, 250, seed=4, epoch=2):
        np.testing.assert_array_equal(block.users, data.user_rows[block.pairs])
        assert (np.diff(block.pairs) > 0).all()
        for begin, end in zip(block.starts[:-1], block.starts[1:], strict=True):
            assert len(set(block.users[begin:end])) == 1
        assert block.starts[0] == 0
        assert block.starts[-1] == len(block)
        assert len(set(block.users)) == len(block.starts) - 1
        seen.append(block.pairs)
    assert len(seen) == round(data.n_pairs / 250)
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(data.n_pairs))


def test_blocks_are_of_even_size_and_change_with_epoch_and_seed() -> None:
    data = planted(300, 200)
    sizes = [len(block) for block in blocks_of(data, 500, seed=0, epoch=0)]
    assert 350 < min(sizes) <= max(sizes) < 650
    keys = ((0, 0), (0, 1), (1, 0))
    first = {tuple(next(blocks_of(data, 500, *key)).pairs.tolist()) for key in keys}
    assert len(first) == 3
    assert [len(block) for block in blocks_of(data, 10**9, 0, 0)] == [data.n_pairs]


def test_item_parts_is_the_next_power_of_two() -> None:
    assert [item_parts(threads) for threads in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 4, 4, 8, 8, 16]


def test_a_pair_comes_as_often_as_it_weighs() -> None:
    data = weighted(planted(40, 30))
    assert data.weights is not None
    times = np.zeros(data.n_pairs)
    for epoch in range(400):
        blocks = list(blocks_of(data, 250, seed=4, epoch=epoch))
        pairs = np.concatenate([block.pairs for block in blocks])
        users = np.concatenate([block.users for block in blocks])
        np.testing.assert_array_equal(users, data.user_rows[pairs])
        now = np.bincount(pairs, minlength=data.n_pairs)
        assert (np.abs(now - data.weights) < 1).all()
        times += now
    np.testing.assert_allclose(times / 400, data.weights, atol=0.13)  # five standard errors


def test_a_pair_that_comes_again_has_other_negatives() -> None:
    """The scale of the weights does not matter."""
    data = weighted(planted(40, 30))
    assert data.weights is not None
    (block,) = blocks_of(data, 10**9, seed=0, epoch=0)
    assert len(np.unique(block.pairs)) < len(block)
    assert len(set(zip(block.users, block.draws, strict=True))) == len(block)
    (scaled,) = blocks_of(replace(data, weights=8 * data.weights), 10**9, seed=0, epoch=0)
    np.testing.assert_array_equal(scaled.pairs, block.pairs)


def test_users_drawn_equally_often_draw_their_pairs_by_weight() -> None:
    data = weighted(planted(6, 30))
    assert data.weights is not None
    times = np.zeros(data.n_pairs)
    for epoch in range(600):
        for block in user_blocks_of(data, 50, seed=1, epoch=epoch):
            np.testing.assert_array_equal(block.users, data.user_rows[block.pairs])
            times += np.bincount(block.pairs, minlength=data.n_pairs)
    shares = data.weights / np.bincount(data.user_rows, data.weights)[data.user_rows]
    np.testing.assert_allclose(times / (600 * 20), shares, atol=0.012)


def test_a_pairs_block_hangs_on_its_place_among_the_pairs_of_its_user() -> None:
    """A pair less of one user leaves the blocks of all others as they are."""
    data = planted(90, 60)
    less = data.select(np.arange(data.n_pairs) != 5)

    def blocks(part: Interactions) -> dict[tuple[int, int], int]:
        return {
            (int(user), int(part.indices[pair])): number
            for number, block in enumerate(blocks_of(part, 250, seed=4, epoch=2))
            for user, pair in zip(block.users, block.pairs, strict=True)
        }

    whole, rest = blocks(data), blocks(less)
    others = {key: number for key, number in whole.items() if key[0] != data.user_rows[5]}
    assert others == {key: rest[key] for key in others}
    assert len(set(others.values())) > 5


def test_of_blocks_by_user_everybody_has_as_many_pairs_of_their_own() -> None:
    data = planted(90, 60, per_user=10)
    data = data.select((data.user_rows != 7) & ((data.user_rows % 3 > 0) | (data.indices % 2 > 0)))
    drawn: set[int] = set()
    for epoch in range(12):
        blocks = list(user_blocks_of(data, 100, seed=1, epoch=epoch))
        users = np.concatenate([block.users for block in blocks])
        pairs = np.concatenate([block.pairs for block in blocks])
        np.testing.assert_array_equal(users, data.user_rows[pairs])
        active = data.user_counts > 0
        each = round(data.n_pairs / np.count_nonzero(active))
        np.testing.assert_array_equal(np.bincount(users, minlength=90), np.where(active, each, 0))
        drawn |= set(pairs.tolist())
    assert drawn == set(range(data.n_pairs)), "a pair is never drawn"


def test_what_is_drawn_of_a_user_changes_with_epoch_and_seed() -> None:
    data = planted(60, 60)
    whole = [next(user_blocks_of(data, 10**9, *key)) for key in ((0, 0), (0, 0), (0, 1), (1, 0))]
    first, same, epoch, seed = (block.pairs for block in whole)
    assert len(first) == data.n_pairs
    np.testing.assert_array_equal(first, same)
    assert np.mean(first == epoch) < 0.2
    assert np.mean(first == seed) < 0.2
