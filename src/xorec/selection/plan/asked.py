"""What is asked of a forecast: data, engine, constants; and what all jobs have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xorec.selection.plan.block_counts import WAVE_BYTES
from xorec.selection.plan.constants import Constants
from xorec.selection.plan.engine_shape import EngineShape
from xorec.selection.plan.parts import Memory, Step
from xorec.selection.plan.sizes import DataSizes


@dataclass(frozen=True)
class Asked:
    """Sizes of the data, the engine, what things cost."""

    sizes: DataSizes
    engine: EngineShape
    constants: Constants

    @property
    def remote(self) -> bool:
        """Whether blocks go to other processes."""
        return self.engine.is_spark

    def start(self, share: float = 1.0) -> list[Step]:
        """What comes before a job: the command, and the session of Spark.

        share: of what a fit needs, for commands that need less.
        """
        steps = [Step("start", driver_seconds=share * self.constants.start_seconds)]
        if self.remote:
            steps.append(Step("start Spark", driver_seconds=self.constants.spark_start_seconds))
            workers = self.engine.slots * self.constants.worker_seconds
            if not self.engine.one_machine:
                workers += self.engine.executors * self.constants.executor_seconds
            steps.append(Step("start workers", workers, self.engine.slots))
        return steps

    def read(self) -> Step:
        """Reading the data, by the command's own process."""
        pairs = self.sizes.pairs
        return Step("read data", driver_seconds=1e-6 * self.constants.us_read_pair * pairs)

    def save(self) -> Step:
        """The model file."""
        pairs = self.sizes.pairs
        return Step("write the model", driver_seconds=1e-6 * self.constants.us_save_pair * pairs)

    def processes(self) -> list[Memory]:
        """What processes have before they have data."""
        found = [Memory("driver", "Python and libraries", self.constants.python_bytes)]
        if self.remote:
            found.append(Memory("driver", "PySpark and Arrow", self.constants.pyspark_bytes))
            found.append(Memory("jvm", "Java and Spark", self.constants.jvm_bytes))
            found.append(Memory("worker", "Python and libraries", self.constants.worker_bytes))
        return found

    def reading(self) -> list[Memory]:
        """What reading holds besides, for a while; and the pairs, which stay."""
        sizes, constants = self.sizes, self.constants
        held = round(constants.read_bytes_pair * sizes.pairs)
        return [
            Memory("driver", "reading", max(0, held - pairs_bytes(sizes)), "read"),
            Memory("driver", "pairs by user", pairs_bytes(sizes)),
        ]

    def saving(self) -> Memory:
        """What writing the model file holds besides."""
        held = round(self.constants.save_bytes_pair * self.sizes.pairs)
        return Memory("driver", "seen lists for the model file", held, "write")

    def collected(self, name: str, count: int) -> Memory:
        """Results of one job on the driver: as they come, and in the order of their blocks."""
        return Memory("driver", name, 2 * min(count, WAVE_BYTES), "fit")

    def passing(self, steps: Iterable[Step]) -> list[Memory]:
        """The heap of Java for blocks and results that pass through it.

        Jobs are cut so that only so much passes at once. One Java that is driver and executor holds
        twice what each of two does; its limit is a quarter of the machine.
        """
        if not self.remote:
            return []
        passed = sum(step.sent + step.exchanged + step.result for step in steps)
        share = min(passed, 2 * WAVE_BYTES) * self.constants.jvm_bytes_byte
        share /= 1 if self.engine.one_machine else 2
        held = round(min(share, self.engine.memory / 4))
        return [Memory("jvm", "blocks and results that pass", held)]


def pairs_bytes(sizes: DataSizes) -> int:
    """`Interactions`: starts of users, items of pairs, whole numbers as ids.

    >>> pairs_bytes(DataSizes(10, 5, 40))
    368
    """
    ids = 8 * (sizes.users + sizes.items)
    return 8 * (sizes.users + 1) + 4 * sizes.pairs + ids


def by_item_bytes(sizes: DataSizes) -> int:
    """`Interactions.by_item`, `item_order` and `user_rows`, which it is made by."""
    return 8 * (sizes.items + 1) + (4 + 8 + 4) * sizes.pairs


def model_bytes(sizes: DataSizes, learned: int) -> int:
    """A model file: what was learned, the seen lists, the ids."""
    return learned + pairs_bytes(sizes)
