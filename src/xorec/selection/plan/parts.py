"""What a forecast is made of: steps that take time and send bytes, and parts of memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Where = Literal["driver", "jvm", "worker"]
"""The Python process of the command; Spark's Java; one Python process that works on blocks."""


@dataclass(frozen=True)
class Step:
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

    def on_spark(
        self, jobs: int, stages: int, *, shared: int = 0, sent: int = 0, result: int = 0
    ) -> Step:
        """The same step with what Spark does for it."""
        return replace(self, jobs=jobs, stages=stages, shared=shared, sent=sent, result=result)


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

    steps: tuple[Step, ...]
    memory: tuple[Memory, ...]
    disk: int = 0
    scratch: int = 0


def peak(memory: Iterable[Memory], where: Where) -> int:
    """Of what is always held, and of the phase that holds most besides.

    >>> held = [Memory("driver", "a", 5), Memory("driver", "b", 2, "x"), Memory("jvm", "c", 9)]
    >>> peak([*held, Memory("driver", "d", 3, "y")], "driver")
    8
    """
    phases: dict[str, int] = {"": 0}
    for part in memory:
        if part.where == where:
            phases[part.phase] = phases.get(part.phase, 0) + part.bytes
    always = phases.pop("")
    return always + max(phases.values(), default=0)
