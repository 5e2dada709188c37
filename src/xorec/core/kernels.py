"""How a kernel is compiled: typed decorators, so numba's settings stand in one place.

Kernels are kept on disk (beside the package, or in the user's cache where that is read-only) and
compiled on their first call; until then numba is not even imported (`core.lazy_kernel`). Each keeps
its Python self as `.py_func`.

No kernel calls a `fast_kernel`. What the disk keeps of a kernel has its own copy of those that it
calls, optimised once more than they were alone; the process that compiles runs the one, those that
load run the other, and fast sums of the two differ in their last digits. What fast kernels share is
a `fast_helper` or `inlined`: a part of each caller, the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from xorec.core.lazy_kernel import LazyKernel

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a plain function of arrays that runs without Python's lock.

    A kernel that releases the lock runs beside others in ordinary threads.
    """
    return _lazy(function, cache=True, nogil=True)


def fast_kernel(function: F) -> F:
    """A kernel whose float sums use whole vectors of the machine.

    Their order is fixed when the kernel is compiled, so results do not depend on threads.
    """
    return _lazy(function, cache=True, nogil=True, fastmath=True, error_model="numpy")


def fast_helper(function: F) -> F:
    """A function of its own to numba, typed once, whose machine code is put into each caller."""
    fast: dict[str, bool | str] = {"fastmath": True, "error_model": "numpy", "forceinline": True}
    return _lazy(function, cache=True, nogil=True, **fast)


def inlined(function: F) -> F:
    """Compile a small helper into each kernel that calls it, as if its text stood there."""
    return _lazy(function, inline="always", fastmath=True)


def intrinsic(function: Callable[..., Any]) -> Any:
    """A helper that writes LLVM's own language: see `numba.extending.intrinsic`.

    What it needs of numba it imports inside. Callers leave out its first parameter.
    """
    return _lazy(function, intrinsic=True)


def _lazy(function: F, **settings: bool | str) -> F:
    return cast(F, LazyKernel(function, settings))
