"""How a kernel is compiled: typed decorators, so numba's settings stand in one place.

Kernels are kept on disk (`core.kernel_cache`) and compiled on their first call; until then numba is
not even imported: a process that answers one query in plain NumPy never loads the compiler. Each
keeps its Python self as `.py_func`.

No kernel calls a `fast_kernel`. What the disk keeps of a kernel has its own copy of those that it
calls, optimised once more than they were alone; the process that compiles runs the one, those that
load run the other, and fast sums of the two differ in their last digits. What fast kernels share is
a `fast_helper` or `inlined`: a part of each caller, the same in every process.
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
    """A line when numba compiles, since seconds without a sign of life look like a hang; a clock.

    Compilations may nest: numba lets in one thread, which compiles what a kernel calls inside it.
    """

    def __init__(self) -> None:
        self.count = 0
        """Functions that this process has compiled: kernels, and what they call of numba's."""
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
        """`time.monotonic`, but it stands still while kernels compile: for budgets of work.

        A first run after an install gets as much done within its minutes as later ones.
        """
        return (self._began if self._depth else time.monotonic()) - self._seconds


compiling = CompileClock()


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
                from xorec.core.kernel_cache import compile_function

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


def is_first_query(kernel: Callable[..., Any], queries: int) -> bool:
    """Whether NumPy answers sooner: one query is asked of a kernel that is not in this process."""
    return queries == 1 and not is_loaded(kernel)


def numpy_first(kernel: Callable[..., Any]) -> Callable[[F], F]:
    """Decorates a NumPy function with the arguments of a kernel, to the bit its results.

    It runs in place of the kernel for one query of a fresh process: loading numba takes longer than
    a query, and compiling a kernel seconds. The last argument is written, a row for each query.
    Sums are in the order of the kernel; those of float vectors are made in float64, where no order
    can be told from another once they are rounded.

    >>> from xorec.core.kernels import kernel
    >>> @numpy_first(kernel(lambda numbers, out: None))
    ... def doubles(numbers, out):
    ...     out[0] = 2 * numbers[0]
    >>> out = [0]
    >>> doubles([3], out)
    >>> out
    [6]
    """

    def choose(plain: F) -> F:
        def call(*arguments: Any) -> None:
            first = is_first_query(kernel, len(arguments[-1]))
            (plain if first else kernel)(*arguments)

        return cast(F, update_wrapper(call, plain))

    return choose


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
