"""Block functions for the tests of engines: of a module, so that other processes find them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from xorec.core.engine import Arrays
from xorec.core.errors import DataError


def scaled(block: Arrays, shared: Arrays, plus: int = 0) -> Arrays:
    """x times the shared number, plus a setting."""
    return {"y": block["x"] * shared["by"] + plus}


def bytes_of_file(block: Arrays, shared: Arrays) -> Arrays:
    """What stands in the shared file, x bytes from its beginning."""
    return {"y": np.fromfile(str(shared["file"]), np.uint8, int(block["x"]))}


def by_remainder(block: Arrays, shared: Arrays, count: int) -> Iterator[tuple[int, Arrays]]:
    """The numbers of a block by their remainder."""
    for target in range(count):
        yield target, {"x": block["x"][block["x"] % count == target]}


def failing(block: Arrays, shared: Arrays, **settings: Any) -> Arrays:
    """Refuses its block."""
    numbers = sum(len(array) for array in block.values())
    raise DataError(f"there are {numbers} numbers in this block: give none.")


def float_sums(block: Arrays, shared: Arrays) -> Arrays:
    """A float32 product, for equal bytes."""
    return {"y": np.asarray(block["x"], np.float32) @ np.asarray(shared["m"], np.float32)}


def scaled_again(block: Arrays, shared: Arrays) -> Arrays:
    """The same as a block for another call."""
    return {"x": block["x"] * shared["by"]}
