"""DSIML: vectors to start from, their turn, then ste (SGD), or sweeps of flip or bqp, or nothing.

Sweeps run in blocks on Spark (`training.discrete.block_sweeps`): 3 jobs, and one more for each of
32 blocks of items.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xorec.models.baselines.slim import MATRIX_ITEMS, SLIMConfig
from xorec.models.siml.optimizers import candidates
from xorec.models.siml.teacher_lists import LONGEST, MOST_LISTED
from xorec.selection.plan.als_plan import als_parts, vector_bytes
from xorec.selection.plan.asked import Asked, model_bytes, pairs_bytes
from xorec.selection.plan.block_counts import row_blocks, waves
from xorec.selection.plan.neighbours_plan import neighbours_bytes, slim_steps
from xorec.selection.plan.one_task_plan import (
    epoch_seconds,
    in_one_task,
    one_task,
    sgd_steps,
)
from xorec.selection.plan.parts import JobPlan, Memory, Step, Where
from xorec.selection.plan.sizes import DataSizes
from xorec.training.config import AUTO
from xorec.training.discrete.block_sweeps import item_pieces, role_bytes
from xorec.training.discrete.sweeps import ITEM_BLOCKS

_ROTATION_ROWS, _ROTATION_ROUNDS = 32_768, 50
SWEEP_SHARES = {"users": 0.2, "exchange": 0.07, "items": 0.71, "loss": 0.02}
"""Of the work of a sweep in blocks, as measured for flips."""
CONFLICT_BYTES = 12
"""Of a triplet whose two items are in one block, where the later would move."""
ONE_IN, MOST_SCORES, USERS_AT_ONCE = 5_000, 1 << 32, 1024
"""As in `models.siml.teacher_lists`."""
SLIM = SLIMConfig.model_validate({})
"""The settings by which lists are made."""


def plan_dsiml(asked: Asked, config: Any) -> JobPlan:
    """A fit, from reading to the model file."""
    sizes, bits = asked.sizes, config.bits
    tried = candidates(config.optimizer)
    start, held = _start(asked, config)
    memory = [replace(part, phase="start") if part.phase == "fit" else part for part in held]
    rotation, best, grown = _turn(asked, config)
    steps = [*start, rotation]
    after = replace(asked, sizes=grown)
    listed = bool(config.lists and config.teach) and any(one.takes_lists for one in tried)
    if listed:
        steps += [replace(step, name=f"lists: {step.name}") for step in slim_steps(asked, SLIM)]
    if any(one.learns for one in tried):
        steps += best
    for one in tried:
        if one.name == "ste":
            work = epoch_seconds(after, config.negatives, bits) * config.epochs
            name = f"{config.epochs} epochs of ste"
            steps.append(Step(name, work, asked.engine.cores))
        elif one.learns:
            steps += sweep_steps(after, one.name, config.epochs, config.negatives, bits)
    learned = stored_code_bytes(sizes, bits)
    if asked.remote and any(not one.runs_on_engine for one in tried):
        plan = one_task(asked, steps, bits, learned)
        return replace(plan, memory=(*plan.memory, *_lists_memory(asked, config, listed, "worker")))
    swept = any(one.learns and one.name != "ste" for one in tried)
    taught = config.asymmetric or any(one.takes_lists for one in tried)
    memory += _rows_memory(after, config.negatives, bits, swept, taught)
    memory += _lists_memory(asked, config, listed, "driver")
    return JobPlan(
        (*asked.start(), asked.read(), *steps, asked.save()),
        (*asked.processes(), *asked.reading(), *memory, *asked.passing(steps), asked.saving()),
        model_bytes(sizes, learned),
        role_bytes(grown.pairs, config.negatives) if asked.remote and swept else 0,
    )


def sweep_steps(
    asked: Asked, name: str, sweeps: int, negatives: int, bits: int
) -> list[Step]:  # fmt: skip
    """Users, exchange, blocks of items, loss; times the sweeps."""
    sizes, constants = asked.sizes, asked.constants
    blocks = "_blocks" if asked.remote else ""
    ns = constants.at(f"ns_triplet_{name}{blocks}", bits * sizes.users)
    work = 1e-9 * ns * sizes.pairs * negatives * (0.25 + 0.75 * bits / 64)
    tasks = row_blocks(sizes.users)
    if not asked.remote:
        return [Step(f"{sweeps} sweeps of {name}", work * sweeps, tasks)]
    words, parts = code_bytes(sizes, bits), min(ITEM_BLOCKS, sizes.items)
    of_users, of_items = (8 * -(-bits // 64) * rows for rows in (sizes.users, sizes.items))
    shares = SWEEP_SHARES
    accept = 1e-9 * constants.ns_triplet_accept * sizes.pairs * negatives
    conflicts = CONFLICT_BYTES * sizes.pairs * negatives // ITEM_BLOCKS
    found = [
        Step(
            f"{name}: users",
            shares["users"] * work,
            tasks,
            jobs=1,
            stages=1,
            shared=words,
            result=of_users,
        ),
        Step(
            f"{name}: exchange",
            shares["exchange"] * work,
            tasks,
            jobs=1,
            stages=3,
            exchanged=role_bytes(sizes.pairs, negatives),
        ),
        Step(
            f"{name}: {parts} blocks of items",
            shares["items"] * work,
            asked.engine.slots,
            driver_seconds=accept,
            jobs=parts,
            stages=parts,
            shared=words * parts,
            result=of_items + 24 * sizes.items + conflicts,
        ),
        Step(f"{name}: loss", shares["loss"] * work, tasks, jobs=1, stages=1, shared=words),
    ]
    first, *others = [_times(step, sweeps) for step in found]
    placed = replace(first, sent=user_blocks_bytes(sizes), stages=first.stages + 1)
    return [placed, *others]


def _times(step: Step, sweeps: int) -> Step:
    """The same step, so many times."""
    grown = ("core_seconds", "driver_seconds", "jobs", "stages", "shared", "exchanged", "result")
    return replace(step, **{name: sweeps * getattr(step, name) for name in grown})


def user_blocks_bytes(sizes: DataSizes) -> int:
    """The pairs in blocks of users, as sweeps place them."""
    return 8 * sizes.users + 24 * row_blocks(sizes.users) + 4 * sizes.pairs


def code_bytes(sizes: DataSizes, bits: int) -> int:
    """Words of 64 bits for users and items.

    >>> code_bytes(DataSizes(10, 5, 40), 64)
    120
    """
    return 8 * -(-bits // 64) * (sizes.users + sizes.items)


def stored_code_bytes(sizes: DataSizes, bits: int) -> int:
    """The same in a model file: whole bytes."""
    return -(-bits // 8) * (sizes.users + sizes.items)


def _start(asked: Asked, config: Any) -> tuple[list[Step], list[Memory]]:
    start = config.start
    if start.model == "als":
        return als_parts(asked, start.dimensions, start.epochs)
    size = getattr(start, "dimensions", 64)
    steps = sgd_steps(asked, start, size) if hasattr(start, "negatives") else []
    if asked.remote:
        work = sum(step.core_seconds for step in steps)
        sent, rows = pairs_bytes(asked.sizes), vector_bytes(asked.sizes, size)
        steps = [in_one_task("start in one task", work, sent, rows)]
    return steps, [Memory("driver", "vectors", vector_bytes(asked.sizes, size), "fit")]


def _turn(asked: Asked, config: Any) -> tuple[Step, list[Step], DataSizes]:
    """The rotation, the best items for short histories, and the sizes with these."""
    sizes, bits, constants = asked.sizes, config.bits, asked.constants
    rows = min(sizes.users + sizes.items, _ROTATION_ROWS)
    turning = 1e-9 * constants.ns_blas * 2 * rows * bits**2 * _ROTATION_ROUNDS
    turning += 5e-9 * bits**3 * _ROTATION_ROUNDS
    rotation = Step("turn the vectors", driver_seconds=turning)
    count = min(config.distill, sizes.items // ONE_IN)
    if count == 0:
        return rotation, [], sizes
    short = sizes.users * float((sizes.per_row("users") < bits).mean())
    short = min(short, MOST_SCORES / sizes.items)
    size = getattr(config.start, "dimensions", 64)
    work = 1e-9 * short * sizes.items * (constants.ns_blas * size + 0.5 * constants.ns_score)
    blocks = max(1, round(short / USERS_AT_ONCE))
    step = Step("best items of short histories", work, blocks)
    if asked.remote:
        jobs = waves(blocks, asked.engine.partitions, 8 * count * USERS_AT_ONCE)
        mean = sizes.pairs / max(1, sizes.users)
        sent = round(short * (4 * size + 16 + 4 * mean * 0.6))
        shared = (4 * size + 8) * sizes.items
        result = round(8 * count * short)
        step = step.on_spark(jobs, 2 * jobs, shared=shared, sent=sent, result=result)
    grown = replace(sizes, pairs=sizes.pairs + round(short * count))
    return rotation, [step], grown


def _lists_memory(asked: Asked, config: Any, listed: bool, where: Where) -> list[Memory]:
    """Each user's best items by slim, and slim's own tables while they are made."""
    if not listed:
        return []
    sizes = asked.sizes
    count = LONGEST if config.lists == AUTO else config.lists
    held = 8 * min(count * sizes.users, MOST_LISTED)
    made = 3 * neighbours_bytes(sizes, min(SLIM.neighbours, sizes.items)) + 8 * sizes.pairs
    whole = 4 * sizes.items**2 if sizes.items <= MATRIX_ITEMS else 0
    return [Memory(where, "lists of slim, and what makes them", held + made + whole, "fit")]


def _rows_memory(
    asked: Asked, negatives: int, bits: int, swept: bool, taught: bool
) -> list[Memory]:  # fmt: skip
    sizes = asked.sizes
    rows = 4 * bits * (sizes.users + sizes.items)
    found = [
        Memory("driver", "rows as they are turned", 3 * rows, "fit"),
        *([Memory("driver", "the teacher's vectors", rows, "fit")] if taught else []),
        Memory("driver", "signs and codes", rows // 2 + code_bytes(sizes, bits), "fit"),
    ]
    if not swept:
        return found
    if not asked.remote:
        triplets = (12 * negatives + 8) * sizes.pairs
        return [*found, Memory("driver", "triplets by user and by item", triplets, "fit")]
    pieces = item_pieces(sizes.pairs, negatives, asked.engine.partitions)
    block = role_bytes(sizes.pairs, negatives) // max(1, min(ITEM_BLOCKS, sizes.items) * pieces)
    signs = bits * (sizes.users + sizes.items)
    return [
        *found,
        Memory("driver", "blocks on their way", user_blocks_bytes(sizes), "fit"),
        Memory("worker", "codes and their signs", code_bytes(sizes, bits) + signs),
        Memory("worker", "triplets of a block", 3 * block),
    ]
