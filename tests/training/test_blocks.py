from __future__ import annotations

import numpy as np

from xorec.testing.data import planted
from xorec.training.blocks import blocks_of, item_parts


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
