"""ALS: both sides row by row; the other side goes to every executor, vectors come back."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.selection.plan.asked import Asked, by_item_bytes, model_bytes
from xorec.selection.plan.block_counts import placed_waves, row_blocks
from xorec.selection.plan.parts import JobPlan, Memory, Step
from xorec.selection.plan.sizes import DataSizes


def plan_als(asked: Asked, config: Any) -> JobPlan:
    """A fit, from reading to the model file."""
    steps, memory = als_parts(asked, config.dimensions, config.epochs)
    sizes = asked.sizes
    disk = model_bytes(sizes, vector_bytes(sizes, config.dimensions))
    return JobPlan(
        (*asked.start(), asked.read(), *steps, asked.save()),
        (*asked.processes(), *asked.reading(), *memory, *asked.passing(steps), asked.saving()),
        disk,
        _shared(sizes, config.dimensions)[0] if asked.remote else 0,
    )


def als_parts(asked: Asked, size: int, epochs: int) -> tuple[list[Step], list[Memory]]:
    """The fit itself: for plans of models that start from ALS, too."""
    sizes, constants = asked.sizes, asked.constants
    steps = []
    of_items, of_users = _shared(sizes, size)
    for kind, rows, others, shared in (
        ("users", sizes.users, sizes.items, of_items),
        ("items", sizes.items, sizes.users, of_users),
    ):
        flops = rows * float(np.mean(row_flops(sizes.per_row(kind), size)))
        ns_flop = constants.at("ns_flop", 4 * size * others)
        work = 1e-9 * ns_flop * flops + 1e-6 * constants.us_row * rows
        axes = 1e-9 * constants.ns_blas * 3 * others * size * size
        step = Step(f"{kind}: solve rows", work * epochs, row_blocks(rows), axes * epochs)
        if asked.remote:
            result, sent = (4 * size + 8) * rows, placed_bytes(sizes, kind)
            jobs = epochs * placed_waves(row_blocks(rows), asked.engine.partitions, sent, result)
            step = step.on_spark(
                jobs, jobs + 1, shared=shared * epochs, sent=sent, result=result * epochs
            )
        steps.append(step)
    memory = [
        Memory("driver", "pairs by item", by_item_bytes(sizes)),
        Memory("driver", "vectors", vector_bytes(sizes, size), "fit"),
        Memory("driver", "the other side, turned", max(of_items, of_users), "fit"),
    ]
    if asked.remote:
        blocks = placed_bytes(sizes, "users") + placed_bytes(sizes, "items")
        memory.append(Memory("driver", "blocks on their way", blocks, "fit"))
        rows = (4 * size + 8) * max(sizes.users, sizes.items)
        memory.append(asked.collected("vectors of a job", rows))
        largest = max(of_items, of_users)
        memory.append(Memory("worker", "the other side, mapped", largest))
    return steps, memory


def vector_bytes(sizes: DataSizes, size: int) -> int:
    """float32 rows of users and items.

    >>> vector_bytes(DataSizes(10, 5, 40), 64)
    3840
    """
    return 4 * size * (sizes.users + sizes.items)


def placed_bytes(sizes: DataSizes, kind: str) -> int:
    """Pairs in blocks of rows: starts, ridge, the others of each pair."""
    rows = sizes.users if kind == "users" else sizes.items
    return 16 * rows + 8 * row_blocks(rows) + 4 * sizes.pairs


def row_flops(pairs: Any, size: int) -> Any:
    """Multiplications with an addition for rows of so many pairs: the smaller of two systems."""
    by_pairs = pairs**2 * size / 2 + pairs**3 / 6 + 2 * pairs * size
    by_dimensions = pairs * size**2 / 2 + size**3 / 6 + 2 * pairs * size
    return np.where(pairs <= size, by_pairs, by_dimensions)


def _shared(sizes: DataSizes, size: int) -> tuple[int, int]:
    """The file that goes to every executor: items turned, for users; users turned, for items."""
    axes = 8 * size * size + 4 * size
    return 4 * size * sizes.items + axes, 4 * size * sizes.users + axes
