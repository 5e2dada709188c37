"""What the vectors teach the codes: their order of a pair's candidates, the positive and negatives.

With t the cosines of the vectors, c those of the codes and s the steepness, over the candidates v:

    p_v = e^(s t_v) / sum e^(s t_w)        q_v = e^(s c_v) / sum e^(s c_w)
    loss = - weight sum_v p_v log q_v       slope at c_v: weight s (q_v - p_v)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import inlined


@inlined
def cosine(users: Any, items: Any, u: Any, v: Any) -> Any:
    """The dot product of unit rows."""
    total = np.float32(0)
    for f in range(users.shape[1]):
        total += users[u, f] * items[v, f]
    return total


@inlined
def powers(values: Any, steep: Any) -> Any:
    """values <- e^(steep (value - the largest)); their sum. Below -1: no candidate, 0."""
    largest, total = np.float32(-1), np.float32(0)
    for k in range(len(values)):
        largest = max(largest, values[k])
    for k in range(len(values)):
        if values[k] < np.float32(-2):
            values[k] = np.float32(0)
        else:
            values[k] = np.exp(steep * (values[k] - largest))
        total += values[k]
    return total


@inlined
def teach(
    users: Any,
    items: Any,
    u: Any,
    i: Any,
    pair: Any,
    negatives: Any,
    pull: Any,
    lift: Any,
    losses: Any,
    step: Any,
    teacher_users: Any,
    teacher_items: Any,
    weight: Any,
    steep: Any,
    told: Any,
    known: Any,
) -> None:
    """Add one pair's lesson to its slopes (see `siml_kernels.pair_slopes`).

    told, known (K + 1,): scratch, the teacher's and the codes' shares; the positive comes last.
    """
    count = negatives.shape[1]
    for k in range(count + 1):
        v = negatives[pair, k] if k < count else i
        told[k] = known[k] = np.float32(-4)
        if v >= 0:
            told[k] = cosine(teacher_users, teacher_items, u, v)
            known[k] = cosine(users, items, u, v)
    told_total, known_total = powers(told, steep), powers(known, steep)
    for k in range(count + 1):
        v = negatives[pair, k] if k < count else i
        if v >= 0:
            share, own = told[k] / told_total, known[k] / known_total
            slope = weight * steep * (own - share)
            losses[pair] -= weight * share * np.log(max(own, np.float32(1e-30)))
            if k < count:
                pull[pair, k] += slope
                for f in range(len(step)):
                    step[f] += slope * items[v, f]
            else:
                lift[pair] -= slope
