from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    assert min(sizes) > 350
    assert max(sizes) < 650
    first = [next(blocks_of(data, 500, *key)).pairs.tolist() for key in ((0, 0), (0, 1), (1, 0))]
    assert first[0] != first[1]
    assert first[0] != first[2]


def test_a_block_larger_than_the_data_is_one_block() -> None:
    data = planted(30, 40)
    blocks = list(blocks_of(data, 10**9, 0, 0))
    assert len(blocks) == 1
    assert len(blocks[0]) == data.n_pairs


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
    data = weighted(planted(40, 30))
    (block,) = blocks_of(data, 10**9, seed=0, epoch=0)
    assert len(np.unique(block.pairs)) < len(block)
    assert len(set(zip(block.users, block.draws, strict=True))) == len(block)


def test_the_scale_of_weights_does_not_matter_to_blocks() -> None:
    data = weighted(planted(40, 30))
    assert data.weights is not None
    more = replace(data, weights=8 * data.weights)
    for one, other in zip(blocks_of(data, 100, 1, 2), blocks_of(more, 100, 1, 2), strict=True):
        np.testing.assert_array_equal(one.pairs, other.pairs)


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
