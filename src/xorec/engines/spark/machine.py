"""What must be the same on every machine for the same bytes: code, libraries, CPU, and their sums.

Fast kernels add floats in the order that suits the CPU they were compiled for, and BLAS takes the
kernel of its CPU. So a process that would compute otherwise than the driver refuses its first
block, in words that say what differs.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np

from xorec.core.errors import XorecError
from xorec.core.kernels import fast_kernel
from xorec.core.source_digest import source_digest


@cache
def machine_facts() -> dict[str, str]:
    """What this process is, by name; computed once."""
    import numba
    import scipy
    from llvmlite import binding

    return {
        "code": source_digest(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "cpu": numba.config.CPU_NAME or str(binding.get_host_cpu_name()),
        **_sums(),
    }


def refuse_other_machine(driver: dict[str, str]) -> None:
    """Raise where this process differs from the driver's."""
    own = machine_facts()
    other = [name for name in driver if own.get(name) != driver[name]]
    if other:
        told = "; ".join(f"{name}: {own.get(name)} here, {driver[name]} there" for name in other)
        raise XorecError(
            f"this executor would not compute the same bytes as the driver ({told}): install the "
            "same xorec and libraries on all machines; where CPUs differ, set "
            "NUMBA_CPU_NAME=generic and OPENBLAS_CORETYPE to the oldest of them, for the driver "
            "and all executors."
        )


def _sums() -> dict[str, str]:
    """Digests of float sums over fixed numbers, by who has made them."""
    from threadpoolctl import threadpool_limits

    numbers = np.random.Generator(np.random.Philox(21)).standard_normal((257, 65))
    small = numbers.astype(np.float32)
    with threadpool_limits(1, user_api="blas"):
        square = numbers.T @ numbers
        return {
            "sums of kernels": _digest(_dots(small, small)),
            "sums of BLAS": _digest(small.T @ small, square),
            "sums of LAPACK": _digest(*np.linalg.eigh(square)),
            "functions of numpy": _digest(np.exp(small), np.log1p(np.abs(numbers))),
        }


def _digest(*arrays: Any) -> str:
    total = hashlib.blake2b(digest_size=8)
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


@fast_kernel
def _dots(rows: Any, others: Any) -> Any:
    found = np.empty(len(rows), np.float32)
    for row in range(len(rows)):
        total = np.float32(0)
        for f in range(rows.shape[1]):
            total += rows[row, f] * others[len(rows) - 1 - row, f]
        found[row] = total
    return found
