"""How a kernel is compiled: typed decorators, so numba's settings stand in one place.

Kernels are kept on disk (beside the package, or in the user's cache where that is read-only) and
compiled on their first call. Each keeps its Python self as `.py_func`.

No kernel calls a `fast_kernel`. What the disk keeps of a kernel has its own copy of those that it
calls, optimised once more than they were alone; the process that compiles runs the one, those that
load run the other, and fast sums of the two differ in their last digits. What fast kernels share is
a `fast_helper` or `inlined`: a part of each caller, the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

from xorec.core import compiling

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a plain function of arrays that runs without Python's lock.

    A kernel that releases the lock runs beside others in ordinary threads.
    """
    return _compile(function, nogil=True)


def fast_kernel(function: F) -> F:
    """A kernel whose float sums use whole vectors of the machine.

    Their order is fixed when the kernel is compiled, so results do not depend on threads.
    """
    return _compile(function, nogil=True, fastmath=True, error_model="numpy")


def fast_helper(function: F) -> F:
    """A function of its own to numba, typed once, whose machine code is put into each caller."""
    return _compile(function, nogil=True, fastmath=True, error_model="numpy", forceinline=True)


def inlined(function: F) -> F:
    """Compile a small helper into each kernel that calls it, as if its text stood there."""
    return cast(F, njit(inline="always", fastmath=True)(function))


def _compile(function: F, **settings: bool | str) -> F:
    try:
        compiled = njit(cache=True, **settings)(function)
    except RuntimeError:  # no place to keep it: compile anew in each process
        return cast(F, njit(**settings)(function))
    _forget_what_cannot_be_read(compiled)
    return cast(F, compiled)


def _forget_what_cannot_be_read(compiled: Any) -> None:
    """Compile anew where the disk has kept a kernel by types that this version does not have.

    numba reads the types of kept kernels before it compares their date with that of the source,
    and fails where a named tuple has another name or another place now.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is None:
        return
    load = file._load_index

    def load_index() -> Any:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    file._load_index = load_index


class _Announcer(event.Listener):  # type: ignore[misc]
    """Hears of every kernel that numba compiles; those that the disk has kept are only loaded."""

    def on_start(self, event: Any) -> None:
        compiling.tell()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())
