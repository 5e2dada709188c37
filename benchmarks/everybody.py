"""Everybody's top-k: all users of a model by its codes, beside a float ranking by BLAS.

    python benchmarks/everybody.py --model books.xorec --k 100 --threads 2 --json

The float side ranks vectors of as many dimensions as the codes have bits, each user's seen items
out, for a part of the users; its time for all of them is extrapolated, and said to be.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.bits import unpack_signs
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT, TerminalProgress
from xorec.recommender import batch
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors
from xorec.search.index import ScoreIndex


def by_codes(recommender: Recommender, k: int, options: RunOptions) -> dict[str, Any]:
    """Seconds to make the index, to search for everybody, and to write the lists as well."""
    began = time.perf_counter()
    index = recommender.index
    built = time.perf_counter() - began
    lists, found = batch.for_all_users(recommender, k), 0
    lists.search(np.arange(2), options.thread_count)  # kernels are compiled or loaded
    began = time.perf_counter()
    with options.progress.task("codes", len(recommender.user_ids)) as task:
        for rows, hits in lists.blocks(options):
            found += int(hits.counts.sum())
            task.advance(len(rows))
    searched = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        batch.write(lists, Path(folder) / "lists.parquet", options)
        written = time.perf_counter() - began
        size = (Path(folder) / "lists.parquet").stat().st_size
    return {
        "method": "xorec",
        "index": index.explain(),
        "seconds_index": built,
        "seconds": searched,
        "seconds_with_parquet": written,
        "parquet_bytes": size,
        "us_per_query": 1e6 * searched / len(recommender.user_ids),
        "hits": found,
    }


def by_floats(recommender: Recommender, k: int, users: int, options: RunOptions) -> dict[str, Any]:
    """The same lists' length by float vectors (random, of the codes' length), for some users."""
    codes = recommender.representation
    assert isinstance(codes, Codes)
    rng = np.random.default_rng(0)
    some = np.arange(0, codes.n_users, max(1, codes.n_users // users))[:users]
    signs = unpack_signs(codes.user_codes[some], codes.bits)
    vectors = Vectors(
        (signs * np.abs(rng.standard_normal(signs.shape))).astype(np.float32),
        rng.standard_normal((codes.n_items, codes.bits), dtype=np.float32),
    )
    index = ScoreIndex(vectors, recommender.tie_rank)
    lists = [recommender.seen[1][slice(*recommender.seen[0][u : u + 2])] for u in some]
    exclude = np.cumsum([0, *map(len, lists)]), np.concatenate(lists)
    index.search(vectors.queries(np.arange(2)), k)
    began = time.perf_counter()
    index.search(
        vectors.queries(np.arange(len(some))), k, exclude=exclude, threads=options.thread_count
    )
    seconds = time.perf_counter() - began
    return {
        "method": "float-blas",
        "users_measured": len(some),
        "us_per_query": 1e6 * seconds / len(some),
        "seconds_extrapolated": seconds / len(some) * codes.n_users,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a model with plain codes")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--float-users", type=int, default=2_000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    progress = SILENT if arguments.quiet else TerminalProgress()
    options = RunOptions(threads=arguments.threads, progress=progress)
    recommender = Recommender.load(arguments.model)
    floats = by_floats(recommender, arguments.k, arguments.float_users, options)
    codes = by_codes(recommender, arguments.k, options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    data = {
        "users": len(recommender.user_ids),
        "items": len(recommender.item_ids),
        "k": arguments.k,
    }
    ratio = floats["us_per_query"] / codes["us_per_query"]
    report = {"data": data, "rows": [codes, floats], "ratio": ratio, "peak_mb": peak}
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
