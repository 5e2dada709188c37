"""How a kernel is compiled: typed decorators, so numba's settings stand in one place.

Kernels are compiled on their first call and kept on disk (`core.kernel_cache`). numba is imported
at that call: a process that answers one query in plain NumPy never loads the compiler.

No kernel calls a `fast_kernel`. The code on disk holds its own copy of each kernel that it calls,
optimised once more, so fast sums would differ in their last digits between the process that
compiles and those that load. Fast kernels share `fast_helper` and `inlined` functions instead,
which are a part of each caller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import update_wrapper
from threading import RLock
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

from xorec.core.progress import logger

Settings = Mapping[str, bool | str]
_LOCK = RLock()
F = TypeVar("F", bound=Callable[..., Any])
COMPILING = "compiling kernels: once for each kind of model (ahead: xorec doctor --compile)"


class CompileClock:
    """Counts and times what numba compiles, and tells its listeners, as it may take seconds.

    Compilations nest: the one thread that numba lets in compiles what a kernel calls inside it.
    """

    def __init__(self) -> None:
        self.count = 0
        """Functions that this process has compiled: kernels and their helpers."""
        self._listeners: list[Callable[[str], None]] = []
        self._depth, self._began, self._seconds = 0, 0.0, 0.0

    def listen(self, note: Callable[[str], None]) -> None:
        """Tell `note`, once, when a kernel has to be compiled."""
        self._listeners.append(note)

    def begin(self) -> None:
        """numba begins to compile a function."""
        if self._depth == 0:
            self._began = time.monotonic()
        self._depth += 1
        self.count += 1
        logger.debug(COMPILING, extra={"event": "compile"})
        while self._listeners:
            self._listeners.pop()(COMPILING)

    def end(self) -> None:
        """numba has compiled a function, or failed to."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += time.monotonic() - self._began

    def now(self) -> float:
        """`time.monotonic` without the time of compiling: a first run has as much as later ones."""
        return (self._began if self._depth else time.monotonic()) - self._seconds


compiling = CompileClock()


class LazyKernel:
    """A function that is compiled when first needed; `py_func` is the Python function."""

    def __init__(self, function: Callable[..., Any], settings: Settings) -> None:
        update_wrapper(self, function)
        assert isinstance(function, FunctionType)
        self.py_func, self.settings = function, settings
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.compiled())(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Other attributes are those of numba's dispatcher."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.compiled(), name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    def compiled(self) -> Any:
        """numba's dispatcher, which compiles or loads code for the arguments of its first call."""
        with _LOCK:
            if self._compiled is None:
                from xorec.core.kernel_cache import compile_function

                function = self.py_func
                self._compiled = compile_function(_resolved(function), function, self.settings)
            return self._compiled


def is_loaded(kernel: Callable[..., Any]) -> bool:
    """Whether this process has machine code of a kernel: else its first call waits for it."""
    made = kernel._compiled if isinstance(kernel, LazyKernel) else None
    return made is not None and bool(made.overloads)


def is_first_query(kernel: Callable[..., Any], queries: int) -> bool:
    """Whether NumPy answers sooner: one query for a kernel that is not in this process."""
    return queries == 1 and not is_loaded(kernel)


def numpy_first(kernel: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates a NumPy twin of a kernel: the same arguments, and results equal to the bit.

    The twin runs for one query of a fresh process: loading numba takes longer than a query. The
    last argument is the output, a row for each query. Sums are in the kernel's order; those of
    float vectors are in float64, where the order does not show after rounding.
    """

    def choose(plain: F) -> F:
        def call(*arguments: Any) -> None:
            first = is_first_query(kernel, len(arguments[-1]))
            (plain if first else kernel)(*arguments)

        return cast(F, update_wrapper(call, plain))

    return choose


def _resolved(function: FunctionType) -> FunctionType:
    """The same function with numba's dispatchers in the place of the kernels that it names."""
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


def kernel(function: F) -> F:
    """A compiled function of arrays without Python's lock: it runs beside others in threads."""
    return _lazy(function, cache=True, nogil=True)


def fast_kernel(function: F) -> F:
    """A kernel whose float sums use whole vectors, in an order fixed at compilation."""
    return _lazy(function, cache=True, nogil=True, fastmath=True, error_model="numpy")


def fast_helper(function: F) -> F:
    """A function that numba types once, and whose machine code is put into each caller."""
    fast: dict[str, bool | str] = {"fastmath": True, "error_model": "numpy", "forceinline": True}
    return _lazy(function, cache=True, nogil=True, **fast)


def inlined(function: F) -> F:
    """A small helper that is compiled into each caller as if its text stood there."""
    return _lazy(function, inline="always", fastmath=True)


def intrinsic(function: Callable[..., Any]) -> Any:
    """A helper that writes LLVM's language (`numba.extending.intrinsic`) and imports numba inside.

    Callers leave out its first parameter.
    """
    return _lazy(function, intrinsic=True)


def _lazy(function: F, **settings: bool | str) -> F:
    return cast(F, LazyKernel(function, settings))
