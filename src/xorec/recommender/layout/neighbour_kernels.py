"""One round of the neighbour-preserving layout: everybody reads the places of the round before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.core.rng import below, draw, stream

_LONGEST = 4.0
_NEAR = 0.1


class Step(NamedTuple):
    """seed, number: key the draws of a round. length: of its steps. rest: how far linked items
    stay apart. pairs: drawn links an item; strangers: others it is pushed away from for each."""

    seed: int
    number: int
    length: float
    rest: float
    pairs: int
    strangers: int


@kernel
def move(
    graph: Any,
    places: npt.NDArray[np.float32],
    moved: npt.NDArray[np.float32],
    step: Step,
    rows: tuple[int, int],
) -> None:
    """Items of `rows` go from `places` to `moved`: towards linked ones, away from strangers.

    The gradients are those of UMAP with w = 1 / (1 + d^2) (McInnes et al. 2018; LargeVis has the
    same): 2 w (y_j - y_i) for a link, 2 w / (0.1 + d^2) (y_i - y_j) for a stranger, each at most 4
    long in x and y; a link shorter than `rest` pushes as a spring would, times 1 - rest / d, so
    that items with equal codes are not one dot. An item draws `pairs` of its links, or takes all of
    them where it has fewer. Nobody writes what another reads: the same bits for any number of
    threads.
    """
    n, rest = len(places), np.float32(step.rest)
    for i in range(rows[0], rows[1]):
        begin, count = graph.indptr[i], graph.indptr[i + 1] - graph.indptr[i]
        key = stream(step.seed, step.number, i)
        x, y = places[i, 0], places[i, 1]
        dx, dy = np.float32(0), np.float32(0)
        drawn = min(count, step.pairs)
        for at in range(drawn):
            place = at if count <= step.pairs else below(draw(key, at), count)
            j = graph.linked[begin + place]
            ax, ay = places[j, 0] - x, places[j, 1] - y
            squared = ax * ax + ay * ay
            pull = np.float32(2) / (np.float32(1) + squared)
            if squared < rest * rest:
                pull *= np.float32(1) - rest / np.sqrt(max(squared, np.float32(1e-6) * rest * rest))
            dx += min(max(pull * ax, np.float32(-_LONGEST)), np.float32(_LONGEST))
            dy += min(max(pull * ay, np.float32(-_LONGEST)), np.float32(_LONGEST))
        for at in range(drawn * step.strangers):
            j = below(draw(key, step.pairs + at), n)
            ax, ay = x - places[j, 0], y - places[j, 1]
            squared = ax * ax + ay * ay
            push = np.float32(2) / ((np.float32(_NEAR) + squared) * (np.float32(1) + squared))
            dx += min(max(push * ax, np.float32(-_LONGEST)), np.float32(_LONGEST))
            dy += min(max(push * ay, np.float32(-_LONGEST)), np.float32(_LONGEST))
        share = np.float32(step.length) / np.float32(max(drawn, 1))
        moved[i, 0] = x + share * dx
        moved[i, 1] = y + share * dy
