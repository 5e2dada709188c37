"""What a fit computes, moves and holds, by the kind of its work (`Model.work`).

rows (ALS): both sides row by row; the other side goes to every executor, vectors come back.
weights, neighbours (SLIM, ItemKNN): every block of items sees all pairs, in one file.
codes (DSIML): vectors to start from, then ste (SGD), or sweeps of flip or bqp, or nothing; on
Spark a sweep is 3 jobs, and one more for each of 32 blocks of items.
passes, dense, blend: fits in one piece, by threads here, as one task of one executor on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from xorec.models import model_class
from xorec.models.base import Model
from xorec.models.baselines.slim import MATRIX_ITEMS, SLIMConfig
from xorec.models.siml.optimizers import candidates as optimizers_tried
from xorec.models.siml.teacher_lists import LONGEST, MOST_LISTED
from xorec.selection.plan.constants import SAVE_BYTES_PAIR
from xorec.selection.plan.job import (
    JobPlan,
    Memory,
    Phase,
    PlanInput,
    Where,
    by_item_bytes,
    model_bytes,
    pairs_bytes,
    placed_waves,
    row_blocks,
    waves,
)
from xorec.selection.plan.sizes import DataSizes
from xorec.training.config import AUTO
from xorec.training.discrete.block_sweeps import item_pieces, role_bytes
from xorec.training.discrete.sweeps import ITEM_BLOCKS


def fit_plan(
    given: PlanInput, steps: Sequence[Phase], memory: Sequence[Memory], learned: int, scratch: int
) -> JobPlan:
    """A fit, from reading to the model file. learned: its bytes in the file; scratch: on Spark."""
    seconds = 1e-6 * given.constants.of("us_save_pair") * given.sizes.pairs
    write = Phase("write the model", driver_seconds=seconds)
    held = round(SAVE_BYTES_PAIR * given.sizes.pairs)
    seen = Memory("driver", "seen lists for the model file", held, "write")
    return JobPlan(
        (*given.start(), given.read(), *steps, write),
        (*given.processes(), *given.reading(), *memory, *given.passing(steps), seen),
        model_bytes(given.sizes, learned),
        scratch if given.remote else 0,
    )


def plan_als(given: PlanInput, model: Any) -> JobPlan:
    """Both sides, row by row."""
    size = model.config.dimensions
    steps, memory = als_parts(given, size, model.config.epochs)
    items_file = _axes_bytes(size) + 4 * size * given.sizes.items
    return fit_plan(given, steps, memory, vector_bytes(given.sizes, size), items_file)


def als_parts(given: PlanInput, size: int, epochs: int) -> tuple[list[Phase], list[Memory]]:
    """The fit itself: for plans of models that start from ALS, too."""
    sizes, constants, steps = given.sizes, given.constants, []
    rows_of = {"users": sizes.users, "items": sizes.items}
    largest = _axes_bytes(size) + 4 * size * max(rows_of.values())
    for kind, other in (("users", "items"), ("items", "users")):
        rows, others = rows_of[kind], rows_of[other]
        flops = rows * float(np.mean(row_flops(sizes.per_row(kind), size)))
        ns_flop = constants.of("ns_flop", 4 * size * others)
        work = 1e-9 * ns_flop * flops + 1e-6 * constants.of("us_row") * rows
        axes = 1e-9 * constants.of("ns_blas") * 3 * others * size * size
        step = Phase(f"{kind}: solve rows", work * epochs, row_blocks(rows), axes * epochs)
        if given.remote:
            result, sent = (4 * size + 8) * rows, placed_bytes(sizes, kind)
            jobs = epochs * placed_waves(row_blocks(rows), given.engine.slots, sent, result)
            shared = epochs * (_axes_bytes(size) + 4 * size * others)
            step = replace(step, jobs=jobs, stages=jobs + 1, shared=shared, sent=sent)
            step = replace(step, result=result * epochs)
        steps.append(step)
    memory = [
        Memory("driver", "pairs by item", by_item_bytes(sizes)),
        Memory("driver", "vectors", vector_bytes(sizes, size), "fit"),
        Memory("driver", "the other side, turned", largest, "fit"),
    ]
    if given.remote:
        blocks = sum(placed_bytes(sizes, kind) for kind in rows_of)
        memory += [
            Memory("driver", "blocks on their way", blocks, "fit"),
            given.collected("vectors of a job", (4 * size + 8) * max(rows_of.values())),
            Memory("worker", "the other side, mapped", largest),
        ]
    return steps, memory


def vector_bytes(sizes: DataSizes, size: int) -> int:
    """float32 rows of users and items."""
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


def _axes_bytes(size: int) -> int:
    """The axes beside the turned rows of the other side, in the file of every executor."""
    return 8 * size * size + 4 * size


def plan_slim(given: PlanInput, model: Any) -> JobPlan:
    """Nearest items, and a weight for each; slim alone counts items that users have together."""
    sizes, steps = given.sizes, slim_steps(given, model.config, weights=model.work == "weights")
    width = min(model.config.neighbours, sizes.items)
    whole = 4 * sizes.items**2 if len(steps) == 3 else 0
    memory = [
        Memory("driver", "pairs by item", by_item_bytes(sizes)),
        Memory("driver", "roots, by user and by item", 8 * sizes.pairs),
        Memory("driver", "neighbours and weights", 3 * neighbours_bytes(sizes, width), "fit"),
    ]
    if whole:
        memory.append(Memory("driver", "items by items", whole, "fit"))
    if given.remote:
        memory.append(Memory("worker", "all pairs, mapped", pairs_file(sizes)))
        memory.append(given.collected("results of a job", max(step.result for step in steps)))
        if whole:
            memory.append(Memory("worker", "items by items, mapped", whole))
    learned = 8 * width * sizes.items + 8 * sizes.pairs - pairs_bytes(sizes)
    return fit_plan(given, steps, memory, learned, pairs_file(sizes) + whole)


def slim_steps(given: PlanInput, config: Any, weights: bool = True) -> list[Phase]:
    """Nearest items, items that users have together (up to 16,384 items), a system for each."""
    sizes, constants = given.sizes, given.constants
    width, count, shared = min(config.neighbours, sizes.items), sizes.items, pairs_file(sizes)
    # the histories of an item's users lie anywhere
    met = 1e-9 * constants.of("ns_meeting", 4 * sizes.pairs) * meetings(sizes)
    found, made = constants.of("ns_candidate") * candidates(sizes), neighbours_bytes(sizes, width)
    steps = [_step(given, "nearest items", met + 1e-9 * found, 4 * count, made, shared)]
    if not weights:
        return steps
    solving = 1e-9 * constants.of("ns_ridge") * count * (width**3 / 6 + 8 * width**2)
    if count <= MATRIX_ITEMS:
        steps.append(_step(given, "items had together", 0.5 * met, 8 * 16, 2 * count * count))
        shared = 4 * count * count
    else:
        solving += 1e-9 * constants.of("ns_link") * links(sizes, width)
    return [*steps, _step(given, "weights", solving, made, 4 * width * count, shared)]


def pairs_file(sizes: DataSizes) -> int:
    """By user and by item, with roots: 16 bytes a pair, and starts, ranks and sizes."""
    return 16 * sizes.pairs + 8 * (sizes.users + 1 + sizes.items + 1) + 20 * sizes.items


def meetings(sizes: DataSizes) -> float:
    """Two items that one user has, over all users: the sum of squared histories."""
    return sizes.user_spread * sizes.pairs**2 / max(1, sizes.users)


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


def links(sizes: DataSizes, width: int) -> float:
    """Links of the users of an item's neighbours, and the links that they meet."""
    typical = sizes.item_spread * sizes.pairs / max(1, sizes.items)
    count = min(width * typical, sizes.pairs)
    return sizes.items * count * (1 + count / (2 * max(1, sizes.users)))


def _step(
    given: PlanInput, name: str, work: float, sent: int, result: int, shared: int = 0
) -> Phase:
    """Work in blocks of 16 items or more."""
    blocks = row_blocks(given.sizes.items, 16)
    step = Phase(name, work, blocks)
    if not given.remote:
        return step
    jobs = waves(blocks, given.engine.slots, result // blocks)
    return replace(step, jobs=jobs, stages=2 * jobs, shared=shared, sent=sent, result=result)


RACE_PAIRS, RACE_EPOCHS = 1_500_000, 20
"""Of the race of settings (`models.siml.siml_race`): pairs at most; epochs of all candidates
together, some with more negatives, as epochs of the winner."""
RACE_NEGATIVES = 1.7
"""Its winner may have three times the usual negatives: planned is what lies between."""


def plan_passes(given: PlanInput, model: Any) -> JobPlan:
    """A fit by passes over triplets (or pairs), after that of the vectors that it starts from."""
    steps = pass_steps(given, type(model), model.config)
    if model.work == "blend":
        steps += slim_steps(given, SLIM)
    size = _size(model.config)
    return one_task(given, steps, size, vector_bytes(given.sizes, size))


def plan_dense(given: PlanInput, model: Any) -> JobPlan:
    """EASE: the matrix of items that users have together, inverted in float64."""
    sizes, constants, size = given.sizes, given.constants, _size(model.config)
    work = 1e-9 * constants.of("ns_blas") * DENSE_FLOPS * sizes.items**3
    work += 1e-9 * constants.of("ns_meeting", 4 * sizes.pairs) * meetings(sizes)
    whole = Memory("worker" if given.remote else "driver", "items by items", 24 * sizes.items**2)
    learned = vector_bytes(sizes, size) + 4 * sizes.items**2
    return one_task(given, [Phase("invert", work, given.engine.cores)], size, learned, [whole])


def one_task(
    given: PlanInput, steps: list[Phase], size: int, learned: int, more: Sequence[Memory] = ()
) -> JobPlan:
    """The steps where they run: pairs go there in one file, the model comes back."""
    rows, sent = vector_bytes(given.sizes, size), pairs_bytes(given.sizes)
    if not given.remote:
        memory = [Memory("driver", "rows and their gradients", 3 * rows, "fit")]
        return fit_plan(given, steps, [*memory, *more], learned, 0)
    work = sum(step.core_seconds for step in steps)
    memory = [
        Memory("driver", "pairs on their way, the model back", sent + 2 * rows),
        Memory("worker", "pairs, rows and their gradients", 2 * sent + 3 * rows),
    ]
    task = in_one_task("fit in one task", work, sent, rows)
    return fit_plan(given, [task], [*memory, *more], learned, sent)


def in_one_task(name: str, work: float, sent: int, result: int) -> Phase:
    """A fit that goes to one executor in one file, and comes back."""
    return Phase(name, work, jobs=1, stages=2, shared=sent, result=result, in_one=True)


def pass_steps(
    given: PlanInput, model: type[Model[Any]], config: Any, *, is_start: bool = False
) -> list[Phase]:
    """Epochs over triplets; before them the race of what is `auto`, and the vectors to start from.

    `model.triplet_cost` says what a triplet costs; models without negatives count pairs.
    """
    chosen = config.resolved() if hasattr(config, "resolved") else config
    start, steps = getattr(config, "start", None), list[Phase]()
    if getattr(start, "model", None) is not None:
        begun = start_steps(given, start)
        steps = [replace(step, name=f"start: {step.name}") for step in begun]
    epochs, size = getattr(chosen, "epochs", 1), _size(chosen)
    epoch = model.triplet_cost * epoch_seconds(given, getattr(chosen, "negatives", 1), size)
    if chosen != config and not is_start:
        share = min(1.0, RACE_PAIRS / max(1, given.sizes.pairs))
        steps.append(Phase("race of settings", share * RACE_EPOCHS * epoch, given.engine.cores))
        epoch *= RACE_NEGATIVES
    if model.triplet_cost:
        name = f"{epochs} epochs over triplets" if hasattr(chosen, "epochs") else "learn"
        steps.append(Phase(name, epoch * epochs, given.engine.cores))
    return steps


def start_steps(given: PlanInput, start: Any) -> list[Phase]:
    """The fit of the vectors that another model starts from."""
    if start.model == "als":
        return als_parts(given, start.dimensions, start.epochs)[0]
    return pass_steps(given, model_class(start.model), start, is_start=True)


def epoch_seconds(given: PlanInput, negatives: int, size: int) -> float:
    """Core seconds of a pass over all triplets of SIML."""
    ns = given.constants.of("ns_triplet", 4 * size * given.sizes.items)
    return 1e-9 * ns * given.sizes.pairs * negatives * (0.25 + 0.75 * size / 64)


def _size(config: Any) -> int:
    """Numbers of a row: dimensions or bits, 64 of a model that has neither."""
    values = (getattr(config, name, None) for name in ("dimensions", "bits"))
    return next((value for value in values if isinstance(value, int)), 64)


CONFLICT_BYTES = 12
"""Of a triplet whose two items are in one block, where the later would move."""
DENSE_FLOPS = 2.5
"""Of an inverse in float64, for each cube of the items: multiplications with an addition."""
SLIM = SLIMConfig.model_validate({})
"""The settings by which lists are made."""


def plan_dsiml(given: PlanInput, model: Any) -> JobPlan:
    """Vectors, lists to learn from, and each optimiser that is tried.

    Their rotation and the best items of short histories take seconds: they are not planned.
    """
    config, sizes, bits = model.config, given.sizes, model.config.bits
    tried = optimizers_tried(config.optimizer)
    steps, held = _start(given, config)
    memory = [replace(part, phase="start") if part.phase == "fit" else part for part in held]
    lists = bool(config.teacher_list_length and config.distill_weight)
    listed = lists and any(one.takes_lists for one in tried)
    if listed:
        steps += [replace(step, name=f"lists: {step.name}") for step in slim_steps(given, SLIM)]
    for one in tried:
        if one.name == "ste":
            work = epoch_seconds(given, config.negatives, bits) * config.epochs
            steps.append(Phase(f"{config.epochs} epochs of ste", work, given.engine.cores))
        elif one.learns:
            steps += sweep_steps(given, one.name, config.epochs, config.negatives, bits)
    learned = stored_code_bytes(sizes, bits)
    in_one = given.remote and any(not one.runs_on_engine for one in tried)
    slims = []
    if listed:
        where: Where = "worker" if in_one else "driver"
        count = LONGEST if config.teacher_list_length == AUTO else config.teacher_list_length
        width = min(SLIM.neighbours, sizes.items)
        needed = 8 * min(count * sizes.users, MOST_LISTED) + 3 * neighbours_bytes(sizes, width)
        needed += 8 * sizes.pairs + (4 * sizes.items**2 if sizes.items <= MATRIX_ITEMS else 0)
        slims = [Memory(where, "lists of slim, and what makes them", needed, "fit")]
    if in_one:
        return one_task(given, steps, bits, learned, slims)
    swept = any(one.learns and one.name != "ste" for one in tried)
    taught = config.asymmetric or any(one.takes_lists for one in tried)
    memory += _rows_memory(given, config.negatives, bits, swept, taught)
    scratch = role_bytes(sizes.pairs, config.negatives) if swept else 0
    return fit_plan(given, steps, [*memory, *slims], learned, scratch)


def sweep_steps(given: PlanInput, name: str, sweeps: int, negatives: int, bits: int) -> list[Phase]:
    """Users, exchange, blocks of items, loss; times the sweeps. Their shares: as flips measured."""
    sizes, constants = given.sizes, given.constants
    ns = constants.of(f"ns_{name}{'_blocks' if given.remote else ''}", bits * sizes.users)
    work = sweeps * 1e-9 * ns * sizes.pairs * negatives * (0.25 + 0.75 * bits / 64)
    tasks = row_blocks(sizes.users)
    if not given.remote:
        return [Phase(f"{sweeps} sweeps of {name}", work, tasks)]
    parts, shared = min(ITEM_BLOCKS, sizes.items), sweeps * code_bytes(sizes, bits)
    of_users, of_items = (8 * -(-bits // 64) * rows for rows in (sizes.users, sizes.items))
    accept = sweeps * 1e-9 * constants.of("ns_accept") * sizes.pairs * negatives
    conflicts = CONFLICT_BYTES * sizes.pairs * negatives // ITEM_BLOCKS
    result = sweeps * (of_items + 24 * sizes.items + conflicts)

    def step(part: str, share: float, stages: int, **moved: Any) -> Phase:
        return Phase(f"{name}: {part}", share * work, tasks, jobs=sweeps, stages=stages, **moved)

    users = step("users", 0.2, sweeps + 1, shared=shared, sent=user_blocks_bytes(sizes))
    exchanged, jobs = sweeps * role_bytes(sizes.pairs, negatives), sweeps * parts
    items = step(f"{parts} blocks of items", 0.71, jobs, shared=shared * parts, result=result)
    return [
        replace(users, result=sweeps * of_users),
        step("exchange", 0.07, 3 * sweeps, exchanged=exchanged),
        replace(items, tasks=given.engine.slots, driver_seconds=accept, jobs=jobs),
        step("loss", 0.02, sweeps, shared=shared),
    ]


def user_blocks_bytes(sizes: DataSizes) -> int:
    """The pairs in blocks of users, as sweeps place them."""
    return 8 * sizes.users + 24 * row_blocks(sizes.users) + 4 * sizes.pairs


def code_bytes(sizes: DataSizes, bits: int) -> int:
    """Words of 64 bits for users and items."""
    return 8 * -(-bits // 64) * (sizes.users + sizes.items)


def stored_code_bytes(sizes: DataSizes, bits: int) -> int:
    """The same in a model file: whole bytes."""
    return -(-bits // 8) * (sizes.users + sizes.items)


def _start(given: PlanInput, config: Any) -> tuple[list[Phase], list[Memory]]:
    start = config.start
    if start.model == "als":
        return als_parts(given, start.dimensions, start.epochs)
    steps, rows = start_steps(given, start), vector_bytes(given.sizes, _size(start))
    if given.remote:
        work = sum(step.core_seconds for step in steps)
        steps = [in_one_task("start in one task", work, pairs_bytes(given.sizes), rows)]
    return steps, [Memory("driver", "vectors", rows, "fit")]


def _rows_memory(
    given: PlanInput, negatives: int, bits: int, swept: bool, taught: bool
) -> list[Memory]:
    sizes = given.sizes
    rows, codes = vector_bytes(sizes, bits), code_bytes(sizes, bits)
    found = [Memory("driver", "rows as they are turned", 3 * rows, "fit")]
    if taught:
        found.append(Memory("driver", "the teacher's vectors", rows, "fit"))
    found.append(Memory("driver", "signs and codes", rows // 2 + codes, "fit"))
    if swept and given.remote:
        pieces = item_pieces(sizes.pairs, negatives, given.engine.slots)
        parts = max(1, min(ITEM_BLOCKS, sizes.items) * pieces)
        found += [
            Memory("driver", "blocks on their way", user_blocks_bytes(sizes), "fit"),
            Memory("worker", "codes and their signs", codes + rows // 4),
            Memory(
                "worker", "triplets of a block", 3 * (role_bytes(sizes.pairs, negatives) // parts)
            ),
        ]
    elif swept:
        triplets = (12 * negatives + 8) * sizes.pairs
        found.append(Memory("driver", "triplets by user and by item", triplets, "fit"))
    return found


FITS: dict[str, Callable[[PlanInput, Any], JobPlan]] = {
    "passes": plan_passes,
    "rows": plan_als,
    "weights": plan_slim,
    "neighbours": plan_slim,
    "dense": plan_dense,
    "codes": plan_dsiml,
    "blend": plan_passes,
}
"""By `Model.work`."""
