"""What each rule of ranking costs: plain, masked and composed codes, float users, codebooks.

    python benchmarks/rules.py --items 35000 --bits 20 32 64 --rounds 7

Random codes, all rules at the same number of bits an item: composed codes in groups of 8 bits (of 5
at 20 bits, and else the largest number up to 8 that divides the bits), half of the users' weights
zero unless --dense; codebooks of 256 words of `bits` dimensions, one for each 8 bits (begun). Every
index is exact and of one thread; its first lists are compared with those of its scores before it
is timed. Microseconds a query, of the thread's own time, so that other work on the machine counts
less: the median over rounds in which all take turns. Single queries go one after the other through
the whole of a call.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from xorec.core.bits import pack_signs
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.search.hamming.index import HammingIndex
from xorec.search.index import Index, index_of
from xorec.search.top_k import top_k

SINGLE = 16
"""Single queries of a round; of these the median counts."""


def make(
    bits: int, users: int, items: int, dense: bool, seed: int
) -> Iterator[tuple[str, Representation]]:
    """(rule, representation) of random codes."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((users, bits), dtype=np.float32)
    D = rng.standard_normal((items, bits), dtype=np.float32)
    size = max(size for size in range(1, 9) if bits % size == 0)
    weights = [rng.random((n, bits // size), dtype=np.float32) for n in (users, items)]
    if not dense:
        weights[0][rng.random(weights[0].shape) < 0.5] = 0
    books = -(-bits // 8)
    words = rng.integers(256, size=(items, books)).astype(np.uint8)
    yield "plain", Codes.from_signs(B, D)
    yield "masked", MaskedCodes.from_bits(B >= 0, D >= 0)
    yield "composed", ComposedCodes(pack_signs(B), pack_signs(D), weights[0], weights[1], bits)
    yield "float users", Codes.from_signs(B, D, asymmetric=True)
    vectors = rng.standard_normal((books, 256, bits), dtype=np.float32)
    yield "codebooks", Codebooks(B, words, vectors)


def build(representation: Representation, rank: Any) -> Index:
    """The index; plain codes are scanned too, so that rules are compared and not methods."""
    if type(representation) is Codes and representation.user_vectors is None:
        return HammingIndex(representation.item_codes, representation.bits, rank, method="scan")
    return index_of(representation, rank)


def check(representation: Representation, index: Index, rank: Any, k: int) -> None:
    """The index against all scores."""
    rows = np.arange(5)
    found = index.search(representation.queries(rows), k)
    expected = top_k(representation.scores(rows), k, rank)
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)


def seconds(index: Index, queries: Any, k: int) -> float:
    """Of this thread, for one call."""
    began = time.thread_time()
    index.search(queries, k)
    return time.thread_time() - began


def measure(bits: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each rule."""
    rng = np.random.default_rng(options.seed)
    rank = rng.permutation(options.items).astype(np.int32)
    made = make(bits, options.batch, options.items, options.dense, options.seed)
    sides: dict[str, tuple[Index, Any, list[Any]]] = {}
    for rule, representation in made:
        index = build(representation, rank)
        check(representation, index, rank, options.k)
        alone = [representation.queries(np.array([row])) for row in range(SINGLE)]
        sides[rule] = index, representation.queries(np.arange(options.batch)), alone
    single: dict[str, list[float]] = {rule: [] for rule in sides}
    batch: dict[str, list[float]] = {rule: [] for rule in sides}
    for _ in range(options.rounds):
        for rule, (index, queries, alone) in sides.items():
            one_by_one = [seconds(index, query, options.k) for query in alone]
            single[rule].append(1e6 * median(one_by_one))
            batch[rule].append(1e6 * seconds(index, queries, options.k) / options.batch)
    return [
        {
            "items": options.items,
            "bits": bits,
            "rule": rule,
            "single": median(single[rule]),
            "batch": median(batch[rule]),
            "single_ratio": median(single[rule]) / median(single["plain"]),
            "batch_ratio": median(batch[rule]) / median(batch["plain"]),
            "bytes_per_item": sides[rule][0].nbytes / options.items,
        }
        for rule in sides
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=35_000)
    parser.add_argument("--bits", type=int, nargs="+", default=[20, 32, 64])
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64, help="queries of a batch")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dense", action="store_true", help="no user's weight is zero")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for bits in options.bits for row in measure(bits, options)]
    if options.json:
        print(json.dumps({"rows": rows}))
        return
    print("bits  rule         single us  ratio   batch us  ratio  bytes an item")
    for row in rows:
        print(
            f"{row['bits']:4}  {row['rule']:11} {row['single']:10.1f} {row['single_ratio']:6.2f}"
            f" {row['batch']:10.1f} {row['batch_ratio']:6.2f} {row['bytes_per_item']:14.1f}"
        )


if __name__ == "__main__":
    main()
