"""The scan of `planes_kernels` for masked codes: what the query has and the item lacks.

Only the planes of the query's set bits are added, turned round: on average half of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.bits import prefetch
from xorec.kernels import kernel
from xorec.search.planes_kernels import CHUNK, LOW, RUN, add_counters, add_one, add_words

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def set_planes(query: Any, bits: int, chosen: Any) -> int:
    """Where the planes of the set bits of a query begin in a run; returns how many there are."""
    count = 0
    for f in range(bits):
        if (query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1):
            chosen[count] = np.uint64(f * RUN)
            count += 1
    return count


@kernel
def add_seven_lacking(
    planes: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, counters: Any
) -> None:
    """Add what the seven planes at a .. g lack to LOW counters."""
    for word in range(RUN):
        w = np.uint64(word)
        add_words(
            ~planes[a + w],
            ~planes[b + w],
            ~planes[c + w],
            ~planes[d + w],
            ~planes[e + w],
            ~planes[f + w],
            ~planes[g + w],
            w,
            counters,
        )


@kernel
def count_lacking_chunk(planes: Any, begin: Any, ahead: int, chosen: Any, counters: Any) -> None:
    """`count_chunk` of what the planes at `chosen` lack."""
    for place in range(LOW * RUN):
        counters[place] = np.uint64(0)
    at = 0
    while at + 7 <= len(chosen):
        for which in range(at, at + 7 if ahead else at):
            for line in range(0, RUN, 8):
                prefetch(planes, begin + chosen[which] + np.uint64(ahead + line))
        add_seven_lacking(
            planes,
            begin + chosen[at],
            begin + chosen[at + 1],
            begin + chosen[at + 2],
            begin + chosen[at + 3],
            begin + chosen[at + 4],
            begin + chosen[at + 5],
            begin + chosen[at + 6],
            counters,
        )
        at += 7
    while at < len(chosen):
        add_one(planes, begin + chosen[at], _ALL, counters)
        at += 1


@kernel
def count_lacking(
    planes: Any, begin: Any, ahead: int, chosen: Any, low: Any, total: Any, carry: Any
) -> None:
    """As `count_run`, what the items lack of the planes that begin at `chosen` in a run."""
    for place in range(len(total)):
        total[place] = np.uint64(0)
    for first in range(0, len(chosen), CHUNK):
        part = chosen[first : first + CHUNK]
        if len(chosen) <= CHUNK and len(total) == len(low):
            count_lacking_chunk(planes, begin, ahead, part, total)
        else:
            count_lacking_chunk(planes, begin, ahead, part, low)
            add_counters(total, low, carry)
