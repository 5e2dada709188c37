"""A step over a block, as the pass takes it, and the proof that it writes nothing it was given.

And what tests of steps share: random blocks, plain Adagrad, central differences.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from xorec.training.passes import ItemResult, Triplets, TripletStep, UserResult
from xorec.training.rows import write_rows


def take_step(step: TripletStep, triplets: Triplets, parts: int = 1) -> UserResult:
    """Both steps over one block, written; they must leave everything that they were given alone."""
    result = step_users(step, triplets)
    step_items(step, result, parts)
    return result


def step_users(step: TripletStep, triplets: Triplets) -> UserResult:
    """The users' step, written."""
    with nothing_written(step, triplets):
        result = step.step_users(triplets)
    write_rows(step.users, result.users, result.rows)
    return result


def step_items(step: TripletStep, result: UserResult, parts: int = 1) -> list[ItemResult]:
    """The items' step of all parts, written when all are done."""
    with nothing_written(step, result):
        moved = [step.step_items([result], part, parts) for part in range(parts)]
    for part in moved:
        write_rows(step.items, *part)
    items = np.concatenate([part.items for part in moved])
    assert len(np.unique(items)) == len(items)
    return moved


def unfinished_items(step: TripletStep, result: UserResult, parts: int) -> list[ItemResult]:
    """The items' step of all parts, before `finish_items` and without writing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(step), "finish_items", lambda step, ids, new: new)
        return [step.step_items([result], part, parts) for part in range(parts)]


def random_triplets(
    rng: Any, n: int = 6, m: int = 9, pairs: int = 25, count: int = 3, first: int = 0
) -> Triplets:
    """The pairs of a block, grouped by user; first: -1 where some negatives shall be missing."""
    owner = np.sort(rng.integers(n, size=pairs)).astype(np.int32)
    positives = rng.integers(m, size=pairs).astype(np.int32)
    return Triplets(owner, positives, rng.integers(first, m, (pairs, count)).astype(np.int32))


def adagrad(row: Any, spent: Any, at: Any, gradient: Any, rate: float) -> Any:
    """The row after one step; `spent[at]` takes in the squared gradient."""
    spent[at] += np.sum(gradient * gradient)
    return row - rate * gradient / np.sqrt(spent[at] + 1e-8)


def in_ball(row: Any) -> Any:
    """The row, brought back to unit length where it is longer."""
    return row / max(1, np.linalg.norm(row))


def differences(function: Callable[[Any], float], at: Any, eps: float = 1e-6) -> Any:
    """Central differences of a function of one array."""
    slopes = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += eps
        down[place] -= eps
        slopes[place] = (function(up) - function(down)) / (2 * eps)
    return slopes


@contextmanager
def nothing_written(*given: object) -> Iterator[None]:
    """Whatever happens inside must leave these as they are, byte for byte."""
    before = pickle.dumps(given)
    yield
    assert pickle.dumps(given) == before
