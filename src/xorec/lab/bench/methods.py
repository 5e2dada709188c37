"""The registry of the methods of a benchmark, one line each."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xorec.lab.bench.float_methods import by_blas, by_faiss, by_implicit, by_torch
from xorec.lab.bench.float_ranking import BY_KERNEL, BY_NUMPY
from xorec.lab.bench.hamming_methods import by_index, faiss_flat, faiss_hnsw, faiss_ivf
from xorec.lab.bench.method import Build

HUGE = 5_000_000
"""Items from which on copies of the vectors take too much memory."""


@dataclass(frozen=True)
class Registered:
    """module: what it needs. usual: whether it runs unless others are named.

    fewer_than: it is left out, unless it is named, where there are as many items, for a reason.
    """

    build: Build
    module: str | None = None
    usual: bool = True
    fewer_than: int | None = None
    reason: str = "memory"


METHODS = {
    "xorec": Registered(by_index("auto")),
    "xorec-scan": Registered(by_index("scan"), usual=False),
    "xorec-mih": Registered(by_index("mih"), usual=False),
    "faiss-binary-flat": Registered(faiss_flat(), "faiss"),
    "faiss-binary-ivf": Registered(faiss_ivf, "faiss"),
    "faiss-binary-hnsw": Registered(
        faiss_hnsw, "faiss", fewer_than=1_000_001, reason="building takes long"
    ),
    "float-numpy": Registered(by_blas(BY_NUMPY)),
    "float-xorec": Registered(by_blas(BY_KERNEL)),
    "float-blas": Registered(by_blas(), usual=False),
    "float-faiss": Registered(by_faiss, "faiss", fewer_than=HUGE),
    "float-torch": Registered(by_torch, "torch", fewer_than=HUGE),
    "float-implicit": Registered(by_implicit, "implicit.cpu.topk", fewer_than=HUGE),
}
EXTRAS = {"faiss": "faiss", "torch": "torch", "implicit.cpu.topk": "peers"}
"""The extra that brings each module of the peers."""


def missing_modules(modules: Iterable[str | None]) -> set[str]:
    """Import them; return those that are not installed."""
    missing = set()
    for module in dict.fromkeys(modules):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if module is not None:
                    importlib.import_module(module)
        except ImportError:
            missing.add(str(module))
    return missing


@contextmanager
def thread_limit(threads: int, modules: Iterable[str | None]) -> Iterator[None]:
    """At most `threads` threads for BLAS, OpenMP and these modules, which are imported."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        if "faiss" in modules:
            import faiss

            faiss.omp_set_num_threads(threads)
        if "torch" not in modules:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
