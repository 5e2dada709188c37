"""How numba compiles a kernel, and the machine code on disk, found by the digest of its source.

An entry's name is a digest of the kernel's code, of every helper, constant and class that it names,
directly or not, of the argument types, and of versions, processor and numba's settings; not of
folders or dates. So other clones and installs load what the first has compiled, and machine code of
older sources is never found.

Entries are in the user's cache folder, or where NUMBA_CACHE_DIR says: one file each, written whole,
checked when read, removed after two months without use. Two processes may compile the same kernel
at once. Without a folder each process compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from xorec.core.kernels import LazyKernel, Settings, compiling
from xorec.core.paths import user_cache

_DAY = 86_400.0
_UNUSED_DAYS = 60
_DIGEST_SIZE = 32
_NOT_IN_CODE = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}
"""Environment variables of numba that change no machine code."""
_KNOWN_BY_VERSION = frozenset({"numpy", "numba", "llvmlite", *sys.stdlib_module_names})
"""Packages that the key identifies by their version alone."""


def compile_function(function: FunctionType, original: FunctionType, settings: Settings) -> Any:
    """numba's dispatcher of a function, which compiles or loads it for arguments of some types.

    original: the function that names our kernels, not their dispatchers; it makes the key.
    """
    from numba import njit
    from numba.extending import intrinsic

    _listen_to_numba()
    if "intrinsic" in settings:
        return intrinsic(function)
    compiled = njit(**{name: settings[name] for name in settings if name != "cache"})(function)
    if settings.get("cache"):
        compiled._cache = KernelCache(original, settings)
    return compiled


@cache
def _listen_to_numba() -> None:
    """Tell `compiling` of every function that numba compiles, not of loaded ones."""
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            compiling.begin()

        def on_end(self, event: Any) -> None:
            compiling.end()

    event.register("numba:compile", Announcer())


def kernel_folder() -> Path | None:
    """Where kernels are kept; None where no folder can be made."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    try:
        folder = Path(chosen) if chosen else user_cache() / "kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return None
    return folder


def kernels_are_kept() -> bool:
    """Whether what a process compiles is there for the next one."""
    folder = kernel_folder()
    return folder is not None and os.access(folder, os.W_OK)


class KernelCache:
    """The machine code of one kernel on disk, in the place of numba's `FunctionCache`."""

    def __init__(self, function: FunctionType, settings: Settings) -> None:
        self.cache_path = kernel_folder()
        self._content = content_digest(function, settings)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function for these argument types, or None.

        numba's own cache prepares the whole compiler first, a third of a second of imports. Loaded
        code needs only the runtime that allocates arrays.
        """
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys

        rtsys.initialize(target)
        path = self._path(signature, target)
        if path is None or (payload := _read(path)) is None:
            return None
        return CompileResult._rebuild(target, *pickle.loads(payload))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code, unless it holds addresses of this process."""
        from numba.core.serialize import dumps

        path = self._path(signature, compiled.target_context)
        if path is not None and not compiled.library.has_dynamic_globals:
            _write(path, dumps(compiled._reduce()))

    def flush(self) -> None:
        """Nothing to do: no entry is ever stale."""

    def _path(self, signature: Any, target: Any) -> Path | None:
        types = _canonical_types(signature)
        if self.cache_path is None or types is None:
            return None
        key = repr((self._content, types, _versions(), target.codegen().magic_tuple()))
        return self.cache_path / f"{_digest(key.encode()).hex()}.kernel"


def content_digest(function: FunctionType, settings: Settings) -> str:
    """A digest of all that decides what a kernel computes, except its argument types."""
    parts = "".join(f"{part}\0" for part in _parts_of_function(function, set()))
    return _digest((repr(_sorted(settings)) + parts).encode()).hex()


def _parts_of_function(function: FunctionType, visited: set[Any]) -> Iterator[str]:
    """The function's code, its defaults, and the value of each name that it uses."""
    if function.__code__ in visited:
        return
    visited.add(function.__code__)
    code, known = function.__code__, function.__globals__
    yield f"{function.__module__}.{function.__qualname__}"  # an entry names those that it calls
    yield from _parts_of_code(code)
    yield from _parts((function.__defaults__, _sorted(function.__kwdefaults__ or {})), visited)
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents, visited)
    for name in sorted(_names(code) & known.keys()):
        yield name
        yield from _parts(known[name], visited)


def _parts_of_code(code: CodeType) -> Iterator[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts_of_code(constant)
        else:
            yield from _parts(constant, set())


def _names(code: CodeType) -> set[str]:
    nested = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*map(_names, nested))


def _parts(value: Any, visited: set[Any]) -> Iterator[str]:
    """The identity of a value: its content, or its source where it is code."""
    if isinstance(value, LazyKernel):
        yield repr(_sorted(value.settings))
        yield from _parts(value.py_func, visited)
    elif isinstance(value, np.ndarray):
        yield repr((value.dtype.str, value.shape, value.tobytes()))
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}"
        for one in value:
            yield from _parts(one, visited)
    elif isinstance(value, frozenset):
        yield repr(sorted(map(repr, value)))
    elif isinstance(value, ModuleType):
        yield _source(value.__name__)
    elif isinstance(value, FunctionType) and not _is_known(value.__module__):
        yield from _parts_of_function(value, visited)
    elif isinstance(value, type):
        yield from _parts_of_class(value, visited)
    elif hasattr(value, "__module__") and hasattr(value, "__qualname__"):
        yield f"{value.__module__}.{value.__qualname__} {_source(value.__module__)}"
    else:
        yield f"{type(value).__module__}.{type(value).__qualname__} {value!r}"


def _parts_of_class(made: type, visited: set[Any]) -> Iterator[str]:
    """The names and sources of a class and its bases, and what their methods use."""
    for one in made.__mro__:
        yield f"{one.__module__}.{one.__qualname__} {_source(one.__module__)}"
        if one not in visited and not _is_known(one.__module__):
            visited.add(one)
            for method in vars(one).values():
                if isinstance(method, FunctionType):
                    yield from _parts_of_function(method, visited)


def _source(module: str | None) -> str:
    """A digest of a module's file; its name alone where the versions tell the rest."""
    if module is None or _is_known(module):
        return str(module)
    return _file_digest(getattr(sys.modules.get(module), "__file__", None) or module)


@cache
def _file_digest(path: str) -> str:
    with suppress(OSError):
        return _digest(Path(path).read_bytes()).hex()
    return path


def _is_known(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in _KNOWN_BY_VERSION


def _sorted(settings: Settings) -> list[tuple[str, Any]]:
    return sorted(settings.items())


def _canonical_types(signature: Any) -> list[str] | None:
    """Argument types as text; None where they hold an address, which no other process has."""
    arguments = getattr(signature, "args", signature)
    texts = [text for one in arguments for text in _type_texts(one)]
    return None if any(" at 0x" in text for text in texts) else texts


def _type_texts(kind: Any) -> Iterator[str]:
    """A type's own name; of a named tuple also its class and fields."""
    yield str(kind)
    if made := getattr(kind, "instance_class", None):
        yield f"{made.__module__}.{made.__qualname__} {getattr(kind, 'fields', ())}"
    for member in getattr(kind, "types", ()):
        yield from _type_texts(member)


@cache
def _versions() -> tuple[Any, ...]:
    import llvmlite
    import numba

    chosen = {name for name in os.environ if name.startswith("NUMBA_")} - _NOT_IN_CODE
    return (
        sys.implementation.cache_tag,
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        sorted((name, os.environ[name]) for name in chosen),
    )


def _read(path: Path) -> bytes | None:
    """An entry's content; None where it is missing or damaged."""
    try:
        data = path.read_bytes()
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)  # it is in use
    except FileNotFoundError:
        return None
    except OSError:
        data = b""
    digest, payload = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    return payload if digest == _digest(payload) else None


def _write(path: Path, payload: bytes) -> None:
    """Write an entry, whole or not at all; a full or read-only disk is no error."""
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(payload) + payload)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _remove_unused(path.parent)


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST_SIZE).digest()


def _remove_unused(folder: Path) -> None:
    """Once a day: unused entries, and half-written ones of killed processes."""
    now, swept = time.time(), folder / "last-clean-up"
    if swept.exists() and now - swept.stat().st_mtime < _DAY:
        return
    swept.touch()
    for suffix, days in ((".kernel", _UNUSED_DAYS), (".tmp", 1)):
        for path in folder.glob(f"*{suffix}"):
            with suppress(OSError):
                if now - path.stat().st_mtime > days * _DAY:
                    path.unlink()
