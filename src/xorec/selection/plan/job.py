"""What a forecast is made of: steps, parts of memory, the engine, and what all jobs share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from xorec.core.errors import OptionError
from xorec.core.memory import physical_memory
from xorec.selection.plan.constants import JVM_BYTES_BYTE, READ_BYTES_PAIR, Constants
from xorec.selection.plan.sizes import DataSizes

Where = Literal["driver", "jvm", "worker"]
"""The Python process of the command; Spark's Java; one Python process that works on blocks."""


@dataclass(frozen=True)
class Phase:
    """Something that is done, before the next thing begins.

    core_seconds: of all its blocks together. tasks: so many can work on it at the same time.
    driver_seconds: what the command's own process does meanwhile, or while all wait for it.
    jobs, stages: Spark's. shared: bytes that every executor gets, all calls together; sent: bytes
    of blocks from the driver; exchanged: bytes that executors send each other; result: bytes that
    the driver collects.
    """

    name: str
    core_seconds: float = 0.0
    tasks: int = 1
    driver_seconds: float = 0.0
    jobs: int = 0
    stages: int = 0
    shared: int = 0
    sent: int = 0
    exchanged: int = 0
    result: int = 0
    in_one: bool = False
    """One task with the threads of an executor: a fit that cannot be cut."""


@dataclass(frozen=True)
class Memory:
    """Bytes that are held; phase: while this goes on, "" for always."""

    where: Where
    name: str
    bytes: int
    phase: str = ""


@dataclass(frozen=True)
class JobPlan:
    """A job as formulas have it. disk: bytes that stay; scratch: bytes that come and go."""

    steps: tuple[Phase, ...]
    memory: tuple[Memory, ...]
    disk: int = 0
    scratch: int = 0


FIRST_WAVE, WAVE_GROWTH, WAVE_BYTES, RESULT_RATIO = 2, 8, 256 << 20, 4
"""As in `engines.spark.engine`: its tests hold them against each other."""


def row_blocks(rows: int, least: int = 256) -> int:
    """Blocks of so many rows.

    >>> row_blocks(600)
    3
    """
    size = least
    while size * 1024 < rows:
        size *= 2
    return -(-rows // size)


def waves(blocks: int, partitions: int, block_result: int) -> int:
    """Jobs of blocks that are not placed: `SparkEngine.map_blocks`, with equal results.

    >>> waves(625, 2, 20_000)
    4
    """
    count, size = 0, FIRST_WAVE * partitions
    while blocks > 0:
        count += 1
        blocks -= size
        size = min(max(partitions, WAVE_BYTES // max(1, block_result)), WAVE_GROWTH * size)
    return count


def placed_waves(blocks: int, partitions: int, sent: int, result: int) -> int:
    """Jobs of blocks that are placed, of so many bytes together and with such results.

    >>> placed_waves(611, 2, 450 << 20, 1300 << 20), placed_waves(40, 2, 1 << 20, 2 << 20)
    (6, 1)
    """
    count, done, largest = 0, 0, RESULT_RATIO * sent // max(1, blocks)
    while done < max(1, blocks):
        count += 1
        done += max(FIRST_WAVE * partitions, WAVE_BYTES // max(1, largest))
        largest = result // max(1, blocks)
    return count


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
        """Blocks that are worked on at the same time: `Engine.partitions`."""
        return self.executors * self.cores


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


@dataclass(frozen=True)
class PlanInput:
    """Sizes of the data, the engine, what things cost."""

    sizes: DataSizes
    engine: EngineShape
    constants: Constants

    @property
    def remote(self) -> bool:
        """Whether blocks go to other processes."""
        return self.engine.is_spark

    def start(self, share: float = 1.0) -> list[Phase]:
        """What comes before a job: the command, and the session of Spark.

        share: of what a fit needs, for commands that need less.
        """
        constants, engine = self.constants, self.engine
        steps = [Phase("start", driver_seconds=share * constants.start_seconds)]
        if self.remote:
            steps.append(Phase("start Spark", driver_seconds=constants.spark_start_seconds))
            workers = engine.slots * constants.worker_seconds
            if not engine.one_machine:
                workers += engine.executors * constants.of("executor_seconds")
            steps.append(Phase("start workers", workers, engine.slots))
        return steps

    def read(self) -> Phase:
        """Reading the data, by the command's own process."""
        seconds = 1e-6 * self.constants.us_read_pair * self.sizes.pairs
        return Phase("read data", driver_seconds=seconds)

    def processes(self) -> list[Memory]:
        """What processes have before they have data."""
        constants = self.constants
        here = Memory("driver", "Python and libraries", constants.python_bytes)
        if not self.remote:
            return [here]
        return [
            here,
            Memory("driver", "PySpark and Arrow", round(constants.of("pyspark_bytes"))),
            Memory("jvm", "Java and Spark", constants.jvm_bytes),
            Memory("worker", "Python and libraries", round(constants.of("worker_bytes"))),
        ]

    def reading(self) -> list[Memory]:
        """What reading holds besides, for a while; and the pairs, which stay."""
        sizes = self.sizes
        held, stays = round(READ_BYTES_PAIR * sizes.pairs), pairs_bytes(sizes)
        return [
            Memory("driver", "reading", max(0, held - stays), "read"),
            Memory("driver", "pairs by user", stays),
        ]

    def collected(self, name: str, count: int) -> Memory:
        """Results of one job on the driver: as they come, and in the order of their blocks."""
        return Memory("driver", name, 2 * min(count, WAVE_BYTES), "fit")

    def passing(self, steps: Iterable[Phase]) -> list[Memory]:
        """The heap of Java for blocks and results that pass through it.

        Jobs are cut so that only so much passes at once. One Java that is driver and executor holds
        twice what each of two does; its limit is a quarter of the machine.
        """
        if not self.remote:
            return []
        passed = sum(step.sent + step.exchanged + step.result for step in steps)
        share = min(passed, 2 * WAVE_BYTES) * JVM_BYTES_BYTE
        share /= 1 if self.engine.one_machine else 2
        held = round(min(share, self.engine.memory / 4))
        return [Memory("jvm", "blocks and results that pass", held)]


def pairs_bytes(sizes: DataSizes) -> int:
    """`Interactions`: starts of users, items of pairs, whole numbers as ids."""
    ids = 8 * (sizes.users + sizes.items)
    return 8 * (sizes.users + 1) + 4 * sizes.pairs + ids


def by_item_bytes(sizes: DataSizes) -> int:
    """`Interactions.by_item`, `item_order` and `user_rows`, which it is made by."""
    return 8 * (sizes.items + 1) + (4 + 8 + 4) * sizes.pairs


def model_bytes(sizes: DataSizes, learned: int) -> int:
    """A model file: what was learned, the seen lists, the ids."""
    return learned + pairs_bytes(sizes)
