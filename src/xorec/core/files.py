"""Files that are never half-written: a temporary name in the same folder, then a rename."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import XorecError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the temporary path that this yields; it takes the name `path` only if all went well.

    On any failure, Ctrl-C included, the temporary file goes and an older file at `path` stays.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from None
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill the temporary folder that this yields; it is called `path` only if all went well.

    A folder that holds something already is refused: nothing of it is replaced.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise XorecError(f"{path} exists and is not an empty folder: choose another name.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    except OSError as error:
        raise _cannot_write(path, error) from None
    try:
        yield temporary
        for file in temporary.iterdir():
            _flush(file)
        temporary.chmod(0o777 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def save_tensors(
    path: Path, tensors: Mapping[str, npt.NDArray[Any]], metadata: dict[str, str]
) -> None:
    """Write a safetensors file, whole or not at all. Equal input, equal bytes.

    (Equal bytes as long as `metadata` has one key: safetensors keeps no order among several.)
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    arrays = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    with replacing(path) as temporary:
        try:
            save_file(arrays, temporary, metadata=metadata)
        except SafetensorError as error:
            code = re.search(r"os error (\d+)", str(error))
            if code is None:
                raise
            raise OSError(int(code[1]), os.strerror(int(code[1]))) from None


def _flush(path: Path) -> None:
    """Have the bytes on the disk before the rename, so that a power cut leaves old or new."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> XorecError:
    if error.errno == errno.ENOSPC:
        return XorecError(f"no space left on the disk of {path}: free some and run again.")
    reason = error.strerror or error
    return XorecError(f"cannot write {path}: {reason}. Choose a place that you may write to.")
