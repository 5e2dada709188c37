"""What numba is asked for: the one file that imports it, when the first kernel is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba import njit
from numba.core import event
from numba.core.runtime import rtsys
from numba.extending import intrinsic

from xorec.core import compiling


def compile_function(function: Callable[..., Any], settings: Mapping[str, bool | str]) -> Any:
    """numba's dispatcher of a function, which compiles or loads it for arguments of some types."""
    if "intrinsic" in settings:
        return intrinsic(function)
    try:
        compiled = njit(**settings)(function)
    except RuntimeError:  # no place to keep it: compile anew in each process
        return njit(**{name: settings[name] for name in settings if name != "cache"})(function)
    cache = getattr(compiled, "_cache", None)
    if hasattr(cache, "_cache_file"):
        _load_alone(cache)
        _forget_what_cannot_be_read(cache)
    return compiled


def _load_alone(cache: Any) -> None:
    """Load a kept kernel without all that compiling needs: a third of a second of imports.

    numba makes its compiler ready before it looks for a kept kernel, and again before it compiles
    one. Machine code needs the first step of that alone, the runtime that allocates arrays.
    """

    def load_overload(signature: Any, target: Any) -> Any:
        rtsys.initialize(target)
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, target)

    cache.load_overload = load_overload


def _forget_what_cannot_be_read(cache: Any) -> None:
    """Compile anew where the disk has kept a kernel by types that this version does not have.

    numba reads the types of kept kernels before it compares their date with that of the source,
    and fails where a named tuple has another name or another place now.
    """
    file = cache._cache_file
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
        compiling.begin()

    def on_end(self, event: Any) -> None:
        compiling.end()


event.register("numba:compile", _Announcer())
