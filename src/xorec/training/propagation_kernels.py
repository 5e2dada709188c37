"""One layer of a graph's propagation: every row adds up the messages of its neighbours.

Rows are stacked, users before items. Rows have a scale s = 1 / sqrt(number of neighbours), and the
message of a row is s times itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import fast_kernel

_AHEAD = 8
"""How many neighbours ahead rows are asked for from memory."""


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

    share > 0 says that this is the last layer. Four neighbours at a time: the sums are read and
    written once for four rows, and four rows are on their way from memory at once.
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
