"""A step is a function: it writes nothing it was given, and gives the same bytes anywhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support.steps import nothing_written, take_step
from xorec.core.threads import ThreadPool
from xorec.data.negatives import Negatives
from xorec.models.factorization.bpr import BPR, BPRGradientStep
from xorec.models.hashing.phd import PHD
from xorec.models.metric.cml import CML
from xorec.models.metric.sml import SML
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.optimizers import epoch_params
from xorec.models.siml.siml import SIML, ScaleInvariantStep, code_rows
from xorec.models.siml.siml_gcn import SIMLGradientStep
from xorec.models.siml.siml_kernels import Teacher
from xorec.testing.data import planted
from xorec.training.discrete.rotation import unit_rows
from xorec.training.passes import Pass, Triplets, TripletStep
from xorec.training.rows import Gradients, Rows, take_rows, write_rows

DATA = planted(60, 40)
SIZE = 12


def normal(seed: int, rows: int) -> Any:
    return unit_rows(np.random.default_rng(seed).standard_normal((rows, SIZE)))


def model_step(model: Any, epoch: int = 1) -> TripletStep:
    step_of = model._step_of(model._start(DATA, 3), epoch, 3, ThreadPool(1))
    return step_of(2, DATA.n_pairs)  # type: ignore[no-any-return]


def code_step() -> TripletStep:
    """Codes behind which rows move, with a teacher."""
    terms = epoch_params(DSIML(bits=SIZE).config, 3, 5)
    users, items = (
        code_rows(normal(kind, count), np.ones(count, np.float32), terms, ThreadPool(1))
        for kind, count in enumerate((DATA.n_users, DATA.n_items))
    )
    weight = np.full(DATA.n_users, 2.0, np.float32)
    teacher = Teacher(normal(7, DATA.n_users), normal(8, DATA.n_items), weight, np.float32(8))
    return ScaleInvariantStep(users, items, terms, 4, teacher)


def gradient_step(kind: Any, *more: Any) -> TripletStep:
    tables = (
        Gradients(np.zeros((count, SIZE), np.float32), np.zeros(count, np.float32))
        for count in (DATA.n_users, DATA.n_items)
    )
    step: TripletStep = kind(*tables, normal(0, DATA.n_users), normal(1, DATA.n_items), *more)
    return step


STEPS: dict[str, Callable[[], TripletStep]] = {
    "bpr": lambda: model_step(BPR(dimensions=SIZE)),
    "siml": lambda: model_step(SIML(dimensions=SIZE)),
    "cml": lambda: model_step(CML(dimensions=SIZE)),
    "sml": lambda: model_step(SML(dimensions=SIZE)),
    "phd": lambda: model_step(PHD(bits=SIZE)),
    "dsiml": code_step,
    "lightgcn": lambda: gradient_step(BPRGradientStep, np.float32(1e-3)),
    "siml-gcn": lambda: gradient_step(SIMLGradientStep, SIML().config.loss_params()),
}


def triplets() -> Triplets:
    negatives = Negatives.of(DATA).draw_all(3, 1, 2)
    negatives[5, 1] = negatives[9] = -1
    return Triplets(DATA.user_rows, DATA.indices, negatives)


def both_steps(given: bytes) -> bytes:
    """What the two steps hand back, from and to bytes: runs in another process."""
    step, block = pickle.loads(given)
    result = step.step_users(block)
    return pickle.dumps((result, [step.step_items([result], part, 2) for part in (0, 1)]))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_writes_nothing_that_it_was_given(name: str) -> None:
    step, block = STEPS[name](), triplets()
    with nothing_written(step, block):
        result = step.step_users(block)
        moved = step.step_items([result], 0, 1)
    users = take_rows(step.users, result.users)
    assert any(old.tobytes() != new.tobytes() for old, new in zip(users, result.rows, strict=True))
    assert len(moved.items) == len(np.unique(np.append(block.positives, block.negatives))) - 1


@pytest.mark.process
def test_a_step_gives_the_same_bytes_in_another_process() -> None:
    given = [pickle.dumps((step(), triplets())) for step in STEPS.values()]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as elsewhere:
        there = list(elsewhere.map(both_steps, given))
    for name, found, work in zip(STEPS, there, given, strict=True):
        assert _bytes(pickle.loads(both_steps(work))) == _bytes(pickle.loads(found)), name


def _bytes(results: Any) -> Any:
    return results.tobytes() if isinstance(results, np.ndarray) else [*map(_bytes, results)]


@pytest.mark.parametrize("name", STEPS)
def test_parts_and_chunks_do_not_change_the_result(name: str) -> None:
    """One chunk and one part, or users in three chunks and items in four parts: the same tables."""
    whole, cut, block = STEPS[name](), STEPS[name](), triplets()
    take_step(whole, block)
    edges = np.searchsorted(block.users, [0, 11, 35, DATA.n_users])
    chunks = [Triplets(*(a[b:e] for a in block)) for b, e in pairwise(edges)]
    results = [cut.step_users(chunk) for chunk in chunks]
    moved = [cut.step_items(results, part, 4) for part in range(4)]
    for result in results:
        write_rows(cut.users, result.users, result.rows)
    for part in moved:
        write_rows(cut.items, *part)
    for one, other in zip((*whole.users, *whole.items), (*cut.users, *cut.items), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("parts", [1, 2])
def test_in_place_is_the_same_where_no_other_item_is_read(parts: int) -> None:
    copied, in_place, block = STEPS["bpr"](), STEPS["bpr"](), triplets()
    take_step(copied, block, parts)
    result = in_place.step_users(block)
    write_rows(in_place.users, result.users, result.rows)
    for part in range(parts):
        in_place.step_items_in_place([result], part, parts)
    assert copied.items.vectors.tobytes() == in_place.items.vectors.tobytes()


class Spy(ScaleInvariantStep):
    """The users' step alone; keeps the triplets that it was given."""

    moves_items = False
    seen: ClassVar[list[Triplets]] = []

    def step_users(self, triplets: Triplets) -> Any:
        self.seen.append(triplets)
        return super().step_users(triplets)

    def loss(self, losses: Any) -> float:
        """As if each of the two negatives of a pair had a loss of 3."""
        return 2 * 3.0 * len(losses)


def spied_pass(
    *, threads: int = 1, size: int = 300, seed: int = 1, epoch: int = 0, per_user: bool = False
) -> tuple[list[Triplets], float]:
    """The triplets of a pass with two negatives, and its mean loss; items must stay."""
    Spy.seen.clear()
    n, m = DATA.n_users, DATA.n_items
    users, fixed = Rows.of(normal(0, n), np.ones(n, np.float32)), Rows.fixed(normal(1, m))
    step = Spy(users, fixed, SIML().config.params())
    items = fixed.vectors.copy()
    with ThreadPool(threads) as pool:
        run = Pass(DATA, Negatives.of(DATA), 2, size, seed, epoch, pool, per_user=per_user)
        loss = run.run(lambda block, pairs: step)
    np.testing.assert_array_equal(items, fixed.vectors)
    return list(Spy.seen), loss


def by_pair(seen: list[Triplets]) -> dict[tuple[int, int], list[tuple[int, list[int]]]]:
    """(block, negatives) of each pair, as often as it came."""
    found: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
    for block, triplets in enumerate(seen):
        for user, item, negatives in zip(*triplets, strict=True):
            found.setdefault((int(user), int(item)), []).append((block, negatives.tolist()))
    return found


def test_a_pass_comes_by_every_pair_once() -> None:
    seen, loss = spied_pass(threads=2)
    pairs = by_pair(seen)
    assert sum(len(t.users) for t in seen) == len(pairs) == DATA.n_pairs
    assert all(item in DATA.of_user(user) for user, item in pairs)
    drawn = {(pair[0], j) for pair, ((_, own),) in pairs.items() for j in own}
    assert not drawn & set(pairs)
    assert loss == pytest.approx(3.0), "the mean of a triplet"


@pytest.mark.parametrize("size", [100, 400])
def test_a_block_has_as_many_pairs_as_are_set(size: int) -> None:
    seen, _ = spied_pass(size=size)
    most = min(size, 256)  # or what makes 64 blocks, but at least 256
    assert len(seen) == round(DATA.n_pairs / most)
    assert max(len(triplets.users) for triplets in seen) < 1.5 * most


def test_blocks_and_negatives_change_with_epoch_and_seed() -> None:
    one, same, epoch, seed = (
        by_pair(spied_pass(size=100, epoch=epoch, seed=seed)[0])
        for epoch, seed in ((0, 1), (0, 1), (1, 1), (0, 2))
    )
    assert one == same
    for other in (epoch, seed):
        assert np.mean([one[pair][0][0] == other[pair][0][0] for pair in one]) < 0.3
        assert np.mean([one[pair][0][1] == other[pair][0][1] for pair in one]) < 0.1


def test_a_pair_that_comes_again_meets_other_negatives() -> None:
    pairs = by_pair(spied_pass(size=100, per_user=True)[0])
    assert sum(len(came) for came in pairs.values()) == DATA.n_pairs
    both = (two for came in pairs.values() for two in pairwise(came))
    again = [one[1] == other[1] for one, other in both if one[0] != other[0]]
    assert len(again) > 100
    assert np.mean(again) < 0.1
