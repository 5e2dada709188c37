from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.steps import differences
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.models.graph.cpr import CPR, Chosen, Cycles, cycle_gradients, cycle_scores, drawn_cycles
from xorec.testing.data import checkerboard, planted
from xorec.testing.models import EpochModelTests

TINY = {"dimensions": 16, "epochs": 30, "batch_size": 500, "validate_every": 2, "reg": 0.1}


class TestCPR(EpochModelTests):
    model = CPR
    settings = TINY
    right_after_update = 48  # its short vectors are few steps of BPR's, which moves new rows


class TestOnTheGraph(EpochModelTests):
    variant = True
    model = CPR
    settings = {**TINY, "layers": 2, "cycle": 4}  # noqa: RUF012


def test_cycles_are_of_training_pairs_and_cross_to_unseen_items() -> None:
    train = planted(60, 200)
    sizes = np.repeat([2, 3, 5], 200)
    with ThreadPool(2) as pool:
        cycles = drawn_cycles(train, sizes, 1, 7, pool)
    assert (cycles.sizes == sizes).mean() > 0.95
    assert np.isin(cycles.sizes[cycles.sizes != sizes], [0]).all()
    for users, items, size in zip(cycles.users, cycles.items, cycles.sizes, strict=True):
        for t in range(size):
            assert items[t] in train.of_user(int(users[t]))
            assert items[(t + 1) % size] not in train.of_user(int(users[t]))


def test_where_no_cycle_exists_none_is_made_up() -> None:
    """Everybody has everything: all samples are refused, and nothing is learned."""
    from xorec.data.interactions import Interactions

    train = Interactions.from_pairs((u, i) for u in range(4) for i in range(4))
    with ThreadPool(1) as pool:
        assert not drawn_cycles(train, np.full(50, 2), 0, 0, pool).sizes.any()


def test_every_pair_is_drawn_equally_often() -> None:
    train = checkerboard(8)
    with ThreadPool(1) as pool:
        cycles = drawn_cycles(train, np.full(20_000, 2), 3, 0, pool)
    pairs = np.bincount(cycles.users.ravel() * 8 + cycles.items.ravel(), minlength=64)
    drawn = pairs[pairs > 0]
    assert len(drawn) == train.n_pairs
    assert drawn.max() < 1.25 * drawn.min()


def test_shares_of_the_sizes() -> None:
    """ratio 3, cycles of 2 and 3: three quarters of a batch are pairs; the pool is larger."""
    sizes = CPR(batch_size=400, oversampling=2.0).config.sizes()
    np.testing.assert_array_equal(np.bincount(sizes), [0, 0, 600, 200])


def loss_by_hand(users: Any, items: Any, cycles: Cycles, kept: Any) -> float:
    """Mean softplus(-q), q = 1/k (sum f(u_t, i_t) - sum f(u_t, i_{t+1})), a plain loop."""
    total = 0.0
    for sample in kept:
        size = int(cycles.sizes[sample])
        q = 0.0
        for t in range(size):
            own, following = cycles.items[sample, t], cycles.items[sample, (t + 1) % size]
            q += users[cycles.users[sample, t]] @ (items[own] - items[following])
        total += np.log1p(np.exp(-q / size))
    return float(total / len(kept))


@pytest.mark.parametrize("parts", [1, 2])
def test_loss_and_gradients(parts: int) -> None:
    """In float64: the plain loop to 1e-9, and its finite differences."""
    train, rng = planted(9, 12, groups=2, per_user=4), np.random.default_rng(0)
    with ThreadPool(1) as pool:
        cycles = drawn_cycles(train, np.repeat([2, 3, 4], 12), 5, 0, pool)
    users, items = rng.standard_normal((9, 4)), rng.standard_normal((12, 4))
    kept = np.flatnonzero(cycles.sizes > 0)[::2]
    scores = np.empty(len(cycles.sizes))
    cycle_scores(users, items, cycles, scores, 0, len(scores))
    found = np.logaddexp(0, -scores[kept]).mean()
    np.testing.assert_allclose(found, loss_by_hand(users, items, cycles, kept), rtol=1e-9)
    slopes = np.zeros_like(users), np.zeros_like(items)
    for part in range(parts):
        chosen = Chosen(kept, scores, 1 / len(kept))
        cycle_gradients(users, items, cycles, chosen, *slopes, part, parts)
    by_users = differences(lambda table: loss_by_hand(table, items, cycles, kept), users)
    np.testing.assert_allclose(slopes[0], by_users, atol=1e-8)
    by_items = differences(lambda table: loss_by_hand(users, table, cycles, kept), items)
    np.testing.assert_allclose(slopes[1], by_items, atol=1e-8)


def test_each_batch_of_each_epoch_has_its_own_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    from xorec.models.graph import cpr

    turns: list[tuple[int, int]] = []

    def spy(train: Any, sizes: Any, seed: int, turn: int, pool: Any) -> Any:
        turns.append((seed, turn))
        return drawn_cycles(train, sizes, seed, turn, pool)

    monkeypatch.setattr(cpr, "drawn_cycles", spy)
    model = CPR(epochs=3, batch_size=400, dimensions=4)
    model.fit(planted(60, 40), options=RunOptions(seed=5))
    assert turns == [(5, turn) for turn in range(9)]  # three batches of 1,200 pairs
