"""Propagation over the graph of users and items (LightGCN, He et al. 2020).

E = (I + s A + ... + s^L A^L) E0 / (1 + s + ... + s^L),  A the pairs' graph, entry (u, i) =
1 / sqrt(n_u n_i), users and items stacked; the smoothing s is 1 in LightGCN. It is linear and
symmetric, so the gradient with respect to E0 is the same operator applied to the gradient with
respect to E. By Horner's rule, L products: E0 + s A (E0 + s A (E0 + ...)).

In one layer every row adds up the messages of its neighbours: the message of a row is the row times
its scale, 1 / sqrt(number of neighbours). Rows are stacked, users before items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import prefetch
from xorec.core.kernels import fast_kernel
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions

_AHEAD = 8
"""How many neighbours ahead rows are prefetched."""


class Graph(NamedTuple):
    """The neighbours of row r are indices[indptr[r]:indptr[r + 1]]; scales (rows,): s."""

    indptr: Any
    indices: Any
    scales: Any


@fast_kernel
def scale_rows(ego: Any, scales: Any, out: Any, begin: Any, end: Any) -> None:
    """out_r = s_r ego_r: the messages of the first layer."""
    for row in range(begin, end):
        for f in range(ego.shape[1]):
            out[row, f] = scales[row] * ego[row, f]


@fast_kernel
def add_neighbours(
    graph: Any,
    ego: Any,
    messages: Any,
    out: Any,
    smoothing: Any,
    share: Any,
    begin: Any,
    end: Any,
) -> None:
    """h_r = ego_r + smoothing s_r sum of its neighbours' messages; out_r = share h_r, or s_r h_r.

    share > 0: this is the last layer. Four neighbours at a time, so that sums are read and written
    once for four rows.
    """
    indptr, indices, scales = graph.indptr, graph.indices, graph.scales
    size = ego.shape[1]
    total = np.empty(size, dtype=ego.dtype)
    table = messages.ravel()
    for row in range(begin, end):
        for f in range(size):
            total[f] = np.float32(0)
        at, stop = indptr[row], indptr[row + 1]
        while at + 4 <= stop:
            if at + _AHEAD + 4 <= len(indices):
                for place in range(at + _AHEAD, at + _AHEAD + 4):
                    for f in range(0, size, 16):
                        prefetch(table, np.int64(indices[place]) * size + f)
            a, b, c, e = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            for f in range(size):
                total[f] += (messages[a, f] + messages[b, f]) + (messages[c, f] + messages[e, f])
            at += 4
        while at < stop:
            a = indices[at]
            for f in range(size):
                total[f] += messages[a, f]
            at += 1
        scale = scales[row]
        taken = smoothing * scale
        factor = share if share > np.float32(0) else scale
        for f in range(size):
            out[row, f] = factor * (ego[row, f] + taken * total[f])


Floats = npt.NDArray[np.float32]
_PIECES = 16


@dataclass(frozen=True, eq=False)
class Propagation:
    """The operator for one graph and number of layers; `apply` computes E from E0.

    indptr, indices: the neighbours of each stacked row; scales: 1 / sqrt(their number), 0 where a
    row has none; cuts: row ranges of about equal work.
    """

    layers: int
    smoothing: float
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    scales: Floats
    cuts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, train: Interactions, layers: int, smoothing: float = 1.0) -> Propagation:
        """The graph of the training pairs."""
        item_indptr, owners = train.by_item
        indptr = np.concatenate([train.indptr, train.n_pairs + item_indptr[1:]]).astype(np.int64)
        indices = np.concatenate([train.indices + train.n_users, owners]).astype(np.int32)
        counts = np.diff(indptr)
        scales = np.where(counts > 0, 1 / np.sqrt(np.maximum(counts, 1)), 0).astype(np.float32)
        work = np.arange(len(counts) + 1) + indptr  # a row costs about as much as a neighbour
        cuts = np.searchsorted(work, np.linspace(0, work[-1], _PIECES + 1))
        cuts[0], cuts[-1] = 0, len(counts)
        return cls(layers, smoothing, indptr, indices, scales, cuts)

    def apply(
        self, ego: Floats, out: Floats, spare: tuple[Floats, Floats], pool: ThreadPool
    ) -> None:
        """out = E of ego = E0, all of one shape (rows, d); spare: two arrays to work in."""
        if self.layers == 0:
            np.copyto(out, ego)
            return
        messages, other = spare
        self.over_rows(pool, partial(scale_rows, ego, self.scales, messages))
        graph = Graph(self.indptr, self.indices, self.scales)
        for layer in range(self.layers):
            last = layer == self.layers - 1
            target = out if last else other
            whole = sum(self.smoothing**power for power in range(self.layers + 1))
            shares = (np.float32(self.smoothing), np.float32(1 / whole if last else 0))
            self.over_rows(pool, partial(add_neighbours, graph, ego, messages, target, *shares))
            messages, other = other, messages

    def over_rows(self, pool: ThreadPool, work: Callable[[int, int], object]) -> None:
        """work(begin, end) for ranges of rows of about equal work; every row once."""
        pool.map(_PIECES, lambda at: work(self.cuts[at], self.cuts[at + 1]))
