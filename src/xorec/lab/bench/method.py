"""A method of a benchmark: what it is given, and what it looks like when it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from xorec.lab.bench.data import BenchData
from xorec.search.hits import Exclude

Found = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]
"""Items (B, k), distances or scores (B, k), and counts (B,) where the method has them."""
Search = Callable[[npt.NDArray[Any], Exclude | None], Found]
"""(queries, their seen lists) -> what was found."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What a method is built for. seen: the lists that all its queries will come with, if any."""

    name: str
    data: BenchData
    k: int
    threads: int
    seen: Exclude | None = None


@dataclass(frozen=True, eq=False)
class Method:
    """A method that is built. queries: all of them, in the form that `search` takes. bytes: of all
    that is searched. index: our own, where it is one."""

    name: str
    queries: npt.NDArray[Any]
    search: Search
    bytes: int
    explanation: str = ""
    build_seconds: float = 0.0
    index: Any = None

    @property
    def ours(self) -> bool:
        return self.name.startswith("xorec")

    @property
    def floats(self) -> bool:
        return self.name.startswith("float-")


Build = Callable[[Setup], Method]
