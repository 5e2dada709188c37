"""What numba is asked for: the one file that imports it, when the first kernel is called."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from numba import njit
from numba.core import event
from numba.extending import intrinsic

from xorec.core import compiling
from xorec.core.kernel_cache import KernelCache


def compile_function(
    function: FunctionType, original: FunctionType, settings: Mapping[str, bool | str]
) -> Any:
    """numba's dispatcher of a function, which compiles or loads it for arguments of some types.

    `original` names kernels where `function` has what numba knows: kept code is found by it.
    """
    if "intrinsic" in settings:
        return intrinsic(function)
    compiled = njit(**{name: settings[name] for name in settings if name != "cache"})(function)
    if settings.get("cache"):
        compiled._cache = KernelCache(original, settings)
    return compiled


class _Announcer(event.Listener):  # type: ignore[misc]
    """Hears of every kernel that numba compiles; those that the disk has kept are only loaded."""

    def on_start(self, event: Any) -> None:
        compiling.begin()

    def on_end(self, event: Any) -> None:
        compiling.end()


event.register("numba:compile", _Announcer())
