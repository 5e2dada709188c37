"""Fits in one piece: threads of one machine here, one task of one executor on Spark."""

from __future__ import annotations

from typing import Any

from xorec.selection.plan.als_plan import vector_bytes
from xorec.selection.plan.asked import Asked, model_bytes, pairs_bytes
from xorec.selection.plan.parts import JobPlan, Memory, Step

_NEGATIVES, _DIMENSIONS, _EPOCHS = 5, 64, 30
"""Of a model that does not say."""
RACE_PAIRS, RACE_EPOCHS = 1_500_000, 20
"""Of the race of settings (`models.siml.siml_race`): pairs at most; epochs of all candidates
together, some with more negatives, as epochs of the winner."""
_TYPICAL_COST = 3.0
"""`Model.cost` of a model that passes over triplets once an epoch."""


def plan_one_task(asked: Asked, model: Any) -> JobPlan:
    """A fit by passes over triplets, or one whose class tells its cost beside such a fit."""
    config = resolved(model.config)
    size = _number(config, "dimensions", _number(config, "bits", _DIMENSIONS))
    if hasattr(config, "negatives"):
        steps = sgd_steps(asked, model.config, size)
    else:
        work = model.cost / _TYPICAL_COST * epoch_seconds(asked, _NEGATIVES, size) * _EPOCHS
        steps = [Step("learn", work, asked.engine.cores, in_one=True)]
    return one_task(asked, steps, size, vector_bytes(asked.sizes, size))


def one_task(asked: Asked, steps: list[Step], size: int, learned: int) -> JobPlan:
    """The steps where they run: pairs go there in one file, the model comes back."""
    sizes = asked.sizes
    rows = vector_bytes(sizes, size)
    held = pairs_bytes(sizes) + 3 * rows
    memory = [*asked.processes(), *asked.reading(), asked.saving()]
    scratch = 0
    if asked.remote:
        sent = pairs_bytes(sizes)
        work = sum(step.core_seconds for step in steps)
        task = in_one_task("fit in one task", work, sent, rows)
        steps, scratch = [task], sent
        memory.append(Memory("driver", "pairs on their way, the model back", sent + 2 * rows))
        memory.append(Memory("worker", "pairs, rows and their gradients", held + sent))
        memory += asked.passing(steps)
    else:
        memory.append(Memory("driver", "rows and their gradients", 3 * rows, "fit"))
    return JobPlan(
        (*asked.start(), asked.read(), *steps, asked.save()),
        tuple(memory),
        model_bytes(sizes, learned),
        scratch,
    )


def in_one_task(name: str, work: float, sent: int, result: int) -> Step:
    """A fit that goes to one executor in one file, and comes back."""
    return Step(name, work, jobs=1, stages=2, shared=sent, result=result, in_one=True)


def sgd_steps(asked: Asked, config: Any, size: int) -> list[Step]:
    """Epochs over triplets; before them the race of what is `auto`."""
    chosen = resolved(config)
    epoch = epoch_seconds(asked, chosen.negatives, size)
    steps = []
    if chosen != config:
        share = min(1.0, RACE_PAIRS / max(1, asked.sizes.pairs))
        steps.append(Step("race of settings", share * RACE_EPOCHS * epoch, asked.engine.cores))
    work = epoch * chosen.epochs
    steps.append(Step(f"{chosen.epochs} epochs over triplets", work, asked.engine.cores))
    return steps


def epoch_seconds(asked: Asked, negatives: int, size: int) -> float:
    """Core seconds of a pass over all triplets."""
    triplets = asked.sizes.pairs * negatives
    ns = asked.constants.at("ns_triplet_sgd", 4 * size * asked.sizes.items)
    return 1e-9 * ns * triplets * (0.25 + 0.75 * size / 64)


def resolved(config: Any) -> Any:
    """The settings with a value where they say auto."""
    return config.resolved() if hasattr(config, "resolved") else config


def _number(config: Any, name: str, otherwise: int) -> int:
    value = getattr(config, name, otherwise)
    return value if isinstance(value, int) else otherwise
