"""Radius search by tables: see `tables_kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.hamming.buckets_kernels import substring
from xorec.search.hamming.tables_kernels import AT_ONCE, list_full
from xorec.search.nearest_kernels import distance_of, key_of, may_show


@kernel
def probe_within(
    tables: Any,
    query: Any,
    radius: int,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    keys: Any,
) -> int:
    """The keys of all items within `radius`, some more than once, as far as `keys` reaches.

    Returns how many there are. All rings that `radius` needs must be in `rings`.
    """
    begins, widths, rings, masks, firsts, starts, full, before, places, copies = tables
    count_tables, words, found = len(widths), len(query), 0
    buckets = np.empty(AT_ONCE + 1, dtype=np.int32)
    for t in range(count_tables):
        key = substring(query, begins[t], widths[t])
        for ring in range(min((radius - t) // count_tables, widths[t]) + 1):
            first, last = rings[ring, count_tables], rings[ring, count_tables] + rings[ring, t]
            for begin in range(first, last, AT_ONCE):
                part = masks[begin : min(last, begin + AT_ONCE)]
                count = list_full(key, part, full[t], before[t], buckets)
                for at in range(count):
                    bucket = firsts[t] + buckets[at]
                    for entry in range(starts[bucket], starts[bucket + 1]):
                        code = copies[t, entry * words : (entry + 1) * words]
                        distance = distance_of(code, query)
                        place = places[t, entry]
                        if np.int64(distance) <= radius and may_show(
                            place, rows, shown, excluded, denied
                        ):
                            if found < len(keys):
                                keys[found] = key_of(distance, place)
                            found += 1
    return found
