"""Sweeps on an engine: bit for bit those on threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.engine import LocalEngine
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.testing.data import planted
from xorec.training.discrete.block_sweeps import BlockSweeps, Draw, ItemCut
from xorec.training.discrete.bounds import Bounds
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.flips import Flips
from xorec.training.discrete.problem import TripletLoss, make_problem
from xorec.training.discrete.sweeps import Proposer, sweep
from xorec.training.passes import Triplets

TERMS = TripletLoss(4.0, 1.0, 0.5)


def codes(data: Interactions, bits: int, seed: int) -> tuple[Any, Any]:
    rng, signs = np.random.default_rng(seed), np.array([-1, 1], np.int8)
    sizes = (data.n_users, bits), (data.n_items, bits)
    return rng.choice(signs, sizes[0]), rng.choice(signs, sizes[1])


def swept_both_ways(
    data: Interactions, sampler: Negatives, propose: Proposer, pieces: int, draws: list[Draw]
) -> None:
    """The codes, the loss to the last bit and the flips are those of threads."""
    B, D = codes(data, 20, seed=data.n_users)
    other = B.copy(), D.copy()
    sweeps = BlockSweeps(LocalEngine(pieces), sampler)
    with ThreadPool(2) as pool:
        for draw in draws:
            triplets = Triplets(data.user_rows, data.indices, sampler.draw_all(*draw))
            ours = sweep(make_problem(B, D, triplets, TERMS), propose, pool)
            theirs = sweeps.sweep(*other, TERMS, propose, draw)
            assert ours[1:] == theirs[1:]
            np.testing.assert_array_equal(B, other[0])
            np.testing.assert_array_equal(D, other[1])


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("propose", [Flips(), Bounds(make_solver("descent"), 3)])
@pytest.mark.parametrize(("users", "items"), [(700, 90), (40, 300), (30, 20)])
def test_the_codes_and_the_loss_are_those_of_threads(
    users: int, items: int, propose: Proposer, alpha: float
) -> None:
    data = planted(users, items, per_user=8)
    for pieces in (1, 3):
        draws = [Draw(3, 5, epoch) for epoch in range(2)]
        swept_both_ways(data, Negatives.of(data, alpha), propose, pieces, draws)


def test_items_of_one_block_that_meet_are_taken_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two blocks of 15 items each: most triplets hold two items of one block."""
    for room in ("sweeps", "block_sweeps"):
        monkeypatch.setattr(f"xorec.training.discrete.{room}.ITEM_BLOCKS", 2)
    data = planted(300, 30, per_user=8)
    swept_both_ways(data, Negatives.of(data), Flips(), 3, [Draw(3, 5, 0)])


def test_a_user_who_has_everything_has_no_negatives() -> None:
    everything = [(user, item) for user in range(3) for item in range(6)]
    some = [(user, item) for user in range(3, 9) for item in range(user % 3, 6, 2)]
    data = Interactions.from_pairs(everything + some)
    sampler, draw = Negatives.of(data), Draw(2, 0, 0)
    assert (sampler.draw_all(*draw) < 0).any()
    swept_both_ways(data, sampler, Flips(), 2, [draw])


@pytest.mark.parametrize(("items", "blocks", "pieces"), [(100, 32, 3), (7, 7, 2), (65, 32, 5)])
def test_every_item_is_in_the_piece_that_it_is_sent_to(
    items: int, blocks: int, pieces: int
) -> None:
    cut = ItemCut(items, blocks, pieces)
    targets, seen = cut.targets(np.arange(items)), []
    for piece in range(pieces):
        for block in range(blocks):
            rows = cut.rows(block, piece)
            assert (targets[rows] == piece * blocks + block).all()
            seen += rows.tolist()
    assert sorted(seen) == list(range(items))
