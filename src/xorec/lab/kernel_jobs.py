"""Compile the usual kernels ahead of time: small jobs in processes of their own.

numba compiles one function at a time in a process, so each core gets one. What a job calls is kept
on the disk with the argument types of the real thing; what it has in common with another may be
compiled twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from xorec.core.errors import OptionError
from xorec.core.kernel_cache import kernels_are_kept
from xorec.core.kernels import compiling
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions

_USERS = 300


@dataclass(frozen=True)
class Compiled:
    """What came of a job: the functions that it had to compile, and its seconds."""

    job: str
    functions: int
    seconds: float


def compile_kernels(options: RunOptions) -> Iterator[Compiled]:
    """Run all jobs, as many at once as there are threads; each is told when it is done."""
    if not kernels_are_kept():
        raise OptionError(
            "there is no folder to keep kernels in: let NUMBA_CACHE_DIR name one that is writable."
        )
    spawn = get_context("spawn")  # a fork would have the locks of the threads of this process
    with (
        options.progress.task("kernels", len(JOBS)) as task,
        ProcessPoolExecutor(min(options.thread_count, len(JOBS)), mp_context=spawn) as pool,
    ):
        for future in as_completed([pool.submit(run_job, name) for name in JOBS]):
            done = future.result()
            task.advance(job=done.job)
            yield done


def run_job(name: str) -> Compiled:
    """Do what a job says, in this process."""
    before, began = compiling.count, time.perf_counter()
    JOBS[name]()
    return Compiled(name, compiling.count - before, time.perf_counter() - began)


def _fit(name: str, **settings: Any) -> None:
    from xorec.models import model_class

    model_class(name)(**settings).fit(_data(), options=RunOptions(threads=2))


def _race() -> None:
    """`fit` without a model: popularity, slim and blend, judged on a validation part."""
    from xorec.selection.race.fit import fit

    fit(_data(), trials=3, options=RunOptions(threads=2))


def _evaluate() -> None:
    """A split, all metrics, and the lists of many users by their scores."""
    from xorec.core.rng import hash_integers
    from xorec.data.split import split
    from xorec.data.tie_rank import tie_rank
    from xorec.evaluation.protocol import evaluate
    from xorec.representations.codes import Codes
    from xorec.search.top_k import top_k

    parts, rng = split(_data(), test=0.2, validation=0.1), np.random.default_rng(0)
    sizes = parts.train.n_users, parts.train.n_items
    learned = Codes.from_signs(*(rng.standard_normal((size, 20)) for size in sizes))
    evaluate(learned, parts.train, parts.test, options=RunOptions(threads=2))
    hash_integers(np.arange(9), 0)  # a sample of many users, ids that are numbers
    rank = tie_rank(parts.train.items, parts.train.item_counts)
    top_k(learned.scores(np.arange(9)), 10, rank)


def _search(bits: int, items: int) -> None:
    """The search of codes: by scan or by tables, one by one and in batches, with filters."""
    from xorec.core.bits import pack_signs
    from xorec.search.hamming.index import HammingIndex

    codes = pack_signs(np.random.default_rng(0).standard_normal((items, bits)))
    index = HammingIndex(codes, bits, threads=2)
    some, seen = np.arange(0, items, 2), (np.arange(41), np.arange(40, dtype=np.int32))
    for queries, exclude in ((codes[:1], None), (codes[:40], seen)):
        for allow in (None, some, some[:9]):
            index.search(queries, 10, exclude=exclude, allow=allow)


def _data() -> Interactions:
    from xorec.data.datasets.catalog import load_data

    data = load_data("debian")
    return data.select(data.user_rows < _USERS)


JOBS: dict[str, Callable[[], None]] = {
    "evaluation": _evaluate,
    "search of 64 bits": partial(_search, 64, 12_000),
    "the best model": _race,
    "dsiml": partial(_fit, "dsiml", epochs=1, start={"epochs": 1}),
    "als": partial(_fit, "als", epochs=1),
    "search of 20 bits": partial(_search, 20, 40_000),
    "lightgcn": partial(_fit, "lightgcn", epochs=1),
    "ease": partial(_fit, "ease"),
    "bpr": partial(_fit, "bpr", epochs=1),
    "item-knn": partial(_fit, "item-knn"),
}
"""The longest first: those that share the most stand apart."""
