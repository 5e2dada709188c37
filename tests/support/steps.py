"""A step over a block, as the pass takes it, and the proof that it writes nothing it was given."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

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


@contextmanager
def nothing_written(*given: object) -> Iterator[None]:
    """Whatever happens inside must leave these as they are, byte for byte."""
    before = pickle.dumps(given)
    yield
    assert pickle.dumps(given) == before
