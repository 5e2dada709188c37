"""The weight of the vectors in a blend: one number, found on validation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.representations.two_stage import TwoStage
from xorec.training.epochs import validation_sample

AUTO: Literal["auto"] = "auto"
K = 10
"""The list that the weight is chosen for."""
_BLOCK = 512
_STEPS = 2.0 ** np.arange(-5, 5.5, 0.5)
"""Weights that are tried, times the spread of the sums over that of the products."""


def _check(weight: Any) -> Any:
    """One message for a union of types."""
    if weight == AUTO or (isinstance(weight, int | float) and 0 <= weight < float("inf")):
        return weight if weight == AUTO else float(weight)
    raise PydanticCustomError("weight", "give a number from 0 on, or auto")


Weight = Annotated[float | Literal["auto"], BeforeValidator(_check)]


def choose_weight(
    learned: TwoStage, train: Interactions, validation: Interactions, options: RunOptions
) -> float:
    """The weight with the best NDCG@10 of the served lists on validation; says which."""
    sample = validation_sample(validation, options.seed)
    parts = candidate_parts(learned, train, sample, options)
    weights = np.concatenate([[0.0], _STEPS * scale_of(parts)])
    values = ndcg_of_weights(parts, weights)
    best = int(np.argmax(smoothed(values)))
    weight = float(f"{weights[best]:.4g}")
    options.progress.note(
        f"blend: item weights + {weight:.3g} x vectors: NDCG@{K} {values[best]:.4f}, "
        f"without vectors {values[0]:.4f}"
    )
    return weight


class CandidateParts(list[tuple[Any, Any, Any, Any]]):
    """Blocks of users: sums, products (B, s), hits (B, s), and the best DCG of each (B,)."""


def candidate_parts(
    learned: TwoStage, train: Interactions, held: Interactions, options: RunOptions
) -> CandidateParts:
    """What both parts of the score give to each candidate of the users of `held`."""
    from xorec.search.two_stage import TwoStageIndex

    rank = tie_rank(train.items, train.item_counts)
    index = TwoStageIndex.of(learned, rank, threads=options.thread_count)
    users, parts = np.flatnonzero(held.user_counts), CandidateParts()
    gains = np.cumsum(1 / np.log2(np.arange(2, K + 2)))
    with options.thread_pool() as pool:
        for begin in range(0, len(users), _BLOCK):
            block = users[begin : begin + _BLOCK]
            parts.append(_block_parts(index, block, train, held, gains, pool))
    return parts


def _block_parts(
    index: Any,
    users: npt.NDArray[np.integer],
    train: Interactions,
    held: Interactions,
    gains: npt.NDArray[np.float64],
    pool: ThreadPool,
) -> tuple[Any, Any, Any, Any]:
    seen = [train.of_user(user) for user in users]
    exclude = np.cumsum([0, *map(len, seen)]), np.concatenate(seen)
    queries = index.learned.queries(users)
    found = index.find(queries, K, exclude=exclude, pool=pool)
    products = index.learned.vector_scores(queries, (found.items, found.counts), pool)
    there = np.arange(found.items.shape[1]) < found.counts[:, None]
    sums = np.where(there, found.sums, np.float32(-np.inf))
    hits = np.zeros(sums.shape, dtype=np.bool_)
    ideal = np.empty(len(users))
    for b, user in enumerate(users):
        wanted = held.of_user(user)
        hits[b] = np.isin(found.items[b], wanted) & there[b]
        ideal[b] = gains[min(K, len(wanted)) - 1]
    return sums, products, hits, ideal


def scale_of(parts: CandidateParts) -> float:
    """How much more the sums of candidates spread than their products, on average of users."""
    ratios = []
    for sums, products, _, _ in parts:
        there = np.isfinite(sums)
        spread = [
            (np.std(a[t]), np.std(b[t])) for a, b, t in zip(sums, products, there, strict=True)
        ]
        ratios += [a / b for a, b in spread if a > 0 and b > 0]
    return float(np.median(ratios)) if ratios else 1.0


def ndcg_of_weights(
    parts: CandidateParts, weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The mean NDCG@10 of the lists under each weight."""
    discount = 1 / np.log2(np.arange(2, K + 2))
    totals, users = np.zeros(len(weights)), 0
    for sums, products, hits, ideal in parts:
        users += len(sums)
        width = min(K, sums.shape[1])
        for at, weight in enumerate(weights):
            scores = sums + np.float32(weight) * products
            top = np.argpartition(-scores, width - 1, axis=1)[:, :width]
            order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
            top = np.take_along_axis(top, order, axis=1)
            found = np.take_along_axis(hits, top, axis=1)
            totals[at] += float(((found * discount[:width]).sum(axis=1) / ideal).sum())
    return totals / max(1, users)


def smoothed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each value with its neighbours' (1/4, 1/2, 1/4): a lucky one does not win."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4)
