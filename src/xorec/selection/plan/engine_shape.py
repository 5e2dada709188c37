"""The engine of a forecast: how many work at the same time, and with how much memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xorec.core.errors import OptionError
from xorec.core.memory import physical_memory

_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")


@dataclass(frozen=True)
class EngineShape:
    """executors with `cores` slots each, and `memory` bytes for each machine.

    is_spark: False for threads of this machine. one_machine: driver and executors share a JVM and
    the memory.
    """

    name: str
    is_spark: bool
    executors: int
    cores: int
    memory: int
    one_machine: bool = True

    @property
    def slots(self) -> int:
        """Blocks that are worked on at the same time."""
        return self.executors * self.cores

    @property
    def partitions(self) -> int:
        """As `Engine.partitions`."""
        return self.slots


def engine_shape(
    engine: str,
    *,
    threads: int | None = None,
    executors: int | None = None,
    cores: int | None = None,
    memory: int | None = None,
) -> EngineShape:
    """`local`, `spark:local[2]`, or `spark:MASTER` with so many executors on paper.

    >>> engine_shape("spark:local[3]").slots
    3
    >>> engine_shape("spark:yarn", executors=100, cores=8).slots
    800
    """
    from xorec.core.threads import available_threads

    kind, _, master = engine.partition(":")
    if kind not in ("local", "spark") or (kind == "local") != (not master and engine == "local"):
        raise OptionError(
            f"engine {engine!r} is not known: give local or spark:MASTER, for example "
            "spark:local[2]."
        )
    for name, value in (("--executors", executors), ("--cores", cores)):
        if value is not None and not 1 <= value <= 1_000_000:
            raise OptionError(f"{name} is {value}: give 1 or more.")
    here = memory or physical_memory()
    if kind == "local":
        if executors is not None or cores is not None:
            raise OptionError(
                "--executors and --cores are for Spark: give --threads, or leave out."
            )
        return EngineShape(engine, False, 1, threads or available_threads(), here)
    found = _LOCAL_MASTER.fullmatch(master)
    if found and executors is None and cores is None:
        count = found.group(1)
        slots = 1 if master == "local" else available_threads() if count == "*" else int(count or 1)
        return EngineShape(engine, True, 1, max(1, slots), here)
    if found:
        raise OptionError(f"{engine} says how many work on it: leave out --executors and --cores.")
    return EngineShape(engine, True, executors or 2, cores or 4, here, one_machine=False)
