"""The folder of a service belongs to one service at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xorec.core import files
from xorec.core.errors import OptionError


@contextmanager
def held(folder: Path) -> Iterator[int]:
    """Hold the folder's lock; the system lets go of it when the process ends, however it does.

    Its descriptor is passed on to workers: the lock lasts until the last of them has ended.
    Where the block fails before anything else is in a folder that was not there, it goes again.
    """
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise files.cannot_write(folder / "lock", error) from None
    try:
        if files.lock(handle) is False:
            raise OptionError(
                f"another service uses {folder}: end it, or give this one its own --data."
            )
        try:
            yield handle
        except BaseException:
            if not was_there and os.listdir(folder) == ["lock"]:
                (folder / "lock").unlink()
                folder.rmdir()
            raise
    finally:
        os.close(handle)
