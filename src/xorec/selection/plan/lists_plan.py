"""Batch jobs of a model of codes: everybody's lists, all neighbours, an evaluation."""

from __future__ import annotations

from dataclasses import replace

from xorec.selection.plan.asked import Asked, model_bytes
from xorec.selection.plan.block_counts import waves
from xorec.selection.plan.codes_plan import code_bytes, stored_code_bytes
from xorec.selection.plan.parts import JobPlan, Memory, Step

BLOCK_HITS = 1 << 18
SCORES_BYTES = 24 << 20
_TEST_SHARE = 0.2
_US_APART = 0.5
"""Microseconds of a pair, learned or tested, until it is known which of them are new."""
_START = 0.6
"""Of the start of a fit: no model learns, few kernels are loaded."""


def plan_lists(asked: Asked, k: int, bits: int) -> JobPlan:
    """`recommend --all-users`: the model as one file, a block of users at a time."""
    return _lists(asked, asked.sizes.users, k, bits, "lists")


def plan_similar(asked: Asked, k: int, bits: int) -> JobPlan:
    """`similar --all-items`."""
    return _lists(asked, asked.sizes.items, k, bits, "neighbours")


def _lists(asked: Asked, queries: int, k: int, bits: int, what: str) -> JobPlan:
    sizes, constants = asked.sizes, asked.constants
    words, size = -(-bits // 64), max(1, BLOCK_HITS // k)
    blocks = -(-queries // size)
    one = 1e-6 * constants.us_list + 1e-9 * constants.ns_list_word * words * sizes.items
    writing = 1e-6 * constants.us_list_row * queries * k
    file = model_bytes(sizes, stored_code_bytes(sizes, bits))
    result = 12 * k * size
    step = Step(what, one * queries, blocks if asked.remote else asked.engine.cores, writing)
    memory = [
        *asked.processes(),
        Memory("driver", "the model, mapped", file),
        Memory("driver", "a block of lists and its rows", 8 * result),
    ]
    scratch = 0
    if asked.remote:
        jobs = waves(blocks, asked.engine.partitions, result)
        step = Step(what, one * queries, blocks, writing).on_spark(
            jobs, 2 * jobs, shared=file, sent=16 * blocks, result=12 * k * queries
        )
        held = min(12 * k * queries, max(asked.engine.partitions * result, 256 << 20))
        memory.append(Memory("driver", "lists of a job", 2 * held))
        memory += asked.passing([step])
        memory.append(
            Memory("worker", "the model and its index, mapped", file + code_bytes(sizes, bits))
        )
        scratch = file
    steps = (*asked.start(_START), Step("read the model", driver_seconds=_read_model(asked)), step)
    return JobPlan(steps, tuple(memory), (k + 1) * 8 * queries, scratch)


def plan_evaluation(asked: Asked, bits: int, tested: int | None = None) -> JobPlan:
    """`evaluate`: all scores of every user with test pairs, a block at a time.

    The sizes are those of what the model has learned from. tested: users with test pairs, all
    where it is not said; they have a fifth as many test pairs as others.
    """
    sizes, constants = asked.sizes, asked.constants
    users = min(sizes.users, tested or sizes.users)
    size = min(1024, max(32, SCORES_BYTES // (4 * sizes.items)))
    blocks = -(-users // size)
    work = users * (1e-6 * constants.us_ranked + 1e-9 * constants.ns_score * sizes.items)
    file = model_bytes(sizes, stored_code_bytes(sizes, bits))
    theirs = sizes.pairs * users // sizes.users
    tests = round(_TEST_SHARE * theirs)
    read_asked = replace(asked, sizes=replace(sizes, pairs=tests))
    memory = [
        *asked.processes(),
        Memory("driver", "the model", file),
        Memory("driver", "pairs, to be counted by item", 8 * sizes.pairs),
        *read_asked.reading(),
        Memory("driver", "ranks of test pairs", 24 * tests + 64 * users),
        Memory("driver", "scores of blocks", SCORES_BYTES * 2 * asked.engine.cores)
        if not asked.remote
        else Memory("driver", "blocks on their way", 4 * theirs + 32 * users),
    ]
    step = Step("rank and measure", work, blocks)
    if asked.remote:
        sent = 4 * (theirs + tests) + 20 * users
        result = 24 * tests + (200 + 4 * 50) * users
        jobs = waves(blocks, asked.engine.partitions, result // blocks)
        shared = code_bytes(sizes, bits) + 8 * sizes.items
        step = step.on_spark(jobs, 2 * jobs, shared=shared, sent=sent, result=result)
        memory.append(asked.collected("ranks of a job", result))
        memory += asked.passing([step])
        memory.append(Memory("worker", "scores of a block", 3 * 4 * size * sizes.items))
    apart = 1e-6 * _US_APART * (sizes.pairs + tests)
    read = Step("read the model", driver_seconds=_read_model(asked) + apart)
    return JobPlan((*asked.start(), read, read_asked.read(), step), tuple(memory), 0)


def _read_model(asked: Asked) -> float:
    """Checking and opening the file; the index."""
    return 0.2e-6 * asked.constants.us_save_pair * asked.sizes.pairs
