"""LazyKernel: a kernel that imports numba when it is first called, not when its file is imported.

A process that answers one query in plain NumPy (`search.first_queries`) never loads the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from threading import RLock
from types import CellType, FunctionType
from typing import Any

Settings = Mapping[str, bool | str]
_LOCK = RLock()


class LazyKernel:
    """A function and how to compile it; what numba makes of it is made when it is first needed.

    >>> from xorec.core.kernels import kernel
    >>> @kernel
    ... def double(number):
    ...     return 2 * number
    >>> is_loaded(double), double(4), is_loaded(double)
    (False, 8, True)
    """

    def __init__(self, function: Callable[..., Any], settings: Settings) -> None:
        update_wrapper(self, function)
        assert isinstance(function, FunctionType)
        self.py_func, self.settings = function, settings
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.compiled())(*arguments)

    def __getattr__(self, name: str) -> Any:
        """All else is asked of what numba has made."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.compiled(), name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    def compiled(self) -> Any:
        """numba's dispatcher; it still waits for arguments to compile or load anything."""
        with _LOCK:
            if self._compiled is None:
                from xorec.core.numba_settings import compile_function

                function = self.py_func
                self._compiled = compile_function(_resolved(function), function, self.settings)
            return self._compiled

    @property
    def loaded(self) -> bool:
        """Whether its machine code, for arguments of some types, is in this process."""
        return self._compiled is not None and bool(self._compiled.overloads)


def is_loaded(kernel: Callable[..., Any]) -> bool:
    """Whether the machine code of a kernel is in this process: else its first call waits for it."""
    return isinstance(kernel, LazyKernel) and kernel.loaded


def _resolved(function: FunctionType) -> FunctionType:
    """The same function, with what numba knows in the place of the kernels that it names."""
    names, known = function.__code__.co_names, function.__globals__
    found = {name: known[name].compiled() for name in names if _is_lazy(known.get(name))}
    cells = tuple(_resolved_cell(cell) for cell in function.__closure__ or ())
    made = FunctionType(
        function.__code__, known | found, function.__name__, function.__defaults__, cells or None
    )
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    return made


def _resolved_cell(cell: CellType) -> CellType:
    value = cell.cell_contents
    return CellType(value.compiled()) if _is_lazy(value) else cell


def _is_lazy(value: Any) -> bool:
    return isinstance(value, LazyKernel)
