"""SLIM and ItemKNN: every block of items sees all pairs, in one file."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.models.baselines.slim import MATRIX_ITEMS
from xorec.selection.plan.asked import Asked, by_item_bytes, model_bytes, pairs_bytes
from xorec.selection.plan.block_counts import row_blocks, waves
from xorec.selection.plan.parts import JobPlan, Memory, Step
from xorec.selection.plan.sizes import DataSizes


def plan_slim(asked: Asked, config: Any) -> JobPlan:
    """Its steps, and what they hold."""
    return _plan(asked, min(config.neighbours, asked.sizes.items), slim_steps(asked, config))


def slim_steps(asked: Asked, config: Any) -> list[Step]:
    """Nearest items, items that users have together (up to 16,384 items), a system for each."""
    sizes, constants = asked.sizes, asked.constants
    width = min(config.neighbours, sizes.items)
    system = sizes.items * (width**3 / 6 + 8 * width**2)
    solving = 1e-9 * constants.ns_ridge * system
    together, shared = [], pairs_file(sizes)
    if sizes.items <= MATRIX_ITEMS:
        made = 2 * sizes.items * sizes.items
        counting = 0.5e-9 * meeting_ns(asked) * meetings(sizes)
        together = [_step(asked, "items had together", counting, 8 * 16, made)]
        shared = 4 * sizes.items * sizes.items
    else:
        solving += 1e-9 * constants.ns_link * links(sizes, width)
    return [
        _nearest(asked, width, pairs_file(sizes)),
        *together,
        _step(asked, "weights", solving, neighbours_bytes(sizes, width), 4 * width * sizes.items,
              shared),
    ]  # fmt: skip


def plan_item_knn(asked: Asked, config: Any) -> JobPlan:
    """Nearest items alone."""
    width = min(config.neighbours, asked.sizes.items)
    return _plan(asked, width, [_nearest(asked, width, pairs_file(asked.sizes))])


def pairs_file(sizes: DataSizes) -> int:
    """By user and by item, with roots: 16 bytes a pair, and starts, ranks and sizes."""
    return 16 * sizes.pairs + 8 * (sizes.users + 1 + sizes.items + 1) + 20 * sizes.items


def meetings(sizes: DataSizes) -> float:
    """Two items that one user has, over all users: the sum of squared histories."""
    return sizes.user_spread * sizes.pairs**2 / max(1, sizes.users)


def meeting_ns(asked: Asked) -> float:
    """Of two items that meet: the histories of an item's users lie anywhere."""
    return asked.constants.at("ns_meeting", 4 * asked.sizes.pairs)


def candidates(sizes: DataSizes) -> float:
    """Items that have a user in common with an item, over all items; at most all of them.

    Two items of one user are drawn by popularity: an item meets others about as often as it has
    users, and the same popular ones again and again.
    """
    each = meetings(sizes) / max(1, sizes.items)
    return float(sizes.items * sizes.items * (1 - np.exp(-each / max(1, sizes.items))))


def neighbours_bytes(sizes: DataSizes, width: int) -> int:
    """Nearest items with weights and counts."""
    return (8 * width + 12) * sizes.items


def _nearest(asked: Asked, width: int, shared: int) -> Step:
    constants = asked.constants
    work = 1e-9 * meeting_ns(asked) * meetings(asked.sizes)
    work += 1e-9 * constants.ns_candidate * candidates(asked.sizes)
    made = neighbours_bytes(asked.sizes, width)
    return _step(asked, "nearest items", work, 4 * asked.sizes.items, made, shared)


def _step(
    asked: Asked, name: str, work: float, sent: int, result: int, shared: int = 0
) -> Step:  # fmt: skip
    blocks = row_blocks(asked.sizes.items, 16)
    step = Step(name, work, blocks)
    if not asked.remote:
        return step
    jobs = waves(blocks, asked.engine.partitions, result // blocks)
    return step.on_spark(jobs, 2 * jobs, shared=shared, sent=sent, result=result)


def links(sizes: DataSizes, width: int) -> float:
    """Links of the users of an item's neighbours, and the links that they meet."""
    typical = sizes.item_spread * sizes.pairs / max(1, sizes.items)
    count = min(width * typical, sizes.pairs)
    return sizes.items * count * (1 + count / (2 * max(1, sizes.users)))


def _plan(asked: Asked, width: int, steps: list[Step]) -> JobPlan:
    sizes = asked.sizes
    whole = 4 * sizes.items**2 if len(steps) == 3 else 0
    learned = 8 * width * sizes.items + 8 * sizes.pairs
    memory = [
        *asked.processes(),
        *asked.reading(),
        Memory("driver", "pairs by item", by_item_bytes(sizes)),
        Memory("driver", "roots, by user and by item", 8 * sizes.pairs),
        Memory("driver", "neighbours and weights", 3 * neighbours_bytes(sizes, width), "fit"),
        asked.saving(),
    ]
    if whole:
        memory.append(Memory("driver", "items by items", whole, "fit"))
    if asked.remote:
        memory.append(Memory("worker", "all pairs, mapped", pairs_file(sizes)))
        memory.append(asked.collected("results of a job", max(step.result for step in steps)))
        memory += asked.passing(steps)
        if whole:
            memory.append(Memory("worker", "items by items, mapped", whole))
    scratch = pairs_file(sizes) + whole if asked.remote else 0
    return JobPlan(
        (*asked.start(), asked.read(), *steps, asked.save()),
        tuple(memory),
        model_bytes(sizes, learned - pairs_bytes(sizes)),
        scratch,
    )
