"""What to change where a job does not fit: in words, the part that is too large by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xorec.selection.plan.forecast import Forecast
    from xorec.selection.plan.parts import Step

_MOST_SHARE = 0.9
"""Of a machine's memory: the rest is the system's."""
_LONG = 24 * 3600.0
_CHANGES = {
    "triplets by user and by item": "fewer --negatives, or --engine spark:... for sweeps in blocks",
    "items by items": "at most 16,384 items are counted as a whole: --core leaves out rare ones",
    "items by items, mapped": "at most 16,384 items are counted as a whole: --core leaves out rare "
    "ones",
    "all pairs, mapped": "every executor maps all pairs of slim and item-knn: als and dsiml do not",
    "vectors": "fewer --dimensions",
    "the other side, turned": "fewer --dimensions",
    "the other side, mapped": "fewer --dimensions, or executors with more memory",
    "rows as they are turned": "fewer --bits; the driver holds float rows of all "
    "users while codes are learned",
    "rows and their gradients": "fewer --dimensions; dsiml with --optimizer flip --start.model als "
    "keeps rows off the executors",
    "pairs, rows and their gradients": "this fit is one task with all pairs: als, or dsiml with "
    "--optimizer flip --start.model als, run in blocks",
    "reading": "read fewer columns or rows, or on Spark (--engine) where the log lies",
    "pairs by user": "the driver holds 4 bytes a pair: a driver with more memory, or --core",
    "pairs by item": "the driver holds 16 bytes a pair for the other order: a larger driver",
    "seen lists for the model file": "the file holds what everybody has seen: a larger driver",
    "blocks and results that pass": "fewer --negatives or --dimensions, or more executors",
    "the model and its index, mapped": "every executor maps the model file, seen lists and all",
}


def advice(forecast: Forecast) -> list[str]:
    """Nothing where all is well; otherwise what is too much, and what would help."""
    engine, found = forecast.asked.engine, []
    room = _MOST_SHARE * engine.memory
    for machine, needed in forecast.machine_bytes.items():
        if needed > room:
            wheres = {"driver"} if machine == "driver" and not engine.one_machine else set()
            wheres |= {"jvm", "worker"} if machine == "executor" else set()
            parts = [
                part
                for part in forecast.plan.memory
                if part.where in (wheres or {"driver", "jvm", "worker"})
            ]
            largest = sorted(parts, key=lambda part: -part.bytes)[:2]
            there = f"the {machine} has {engine.memory / 1e9:,.1f}"
            what = f"{needed / 1e9:,.1f} GB are needed and {there}"
            changes = dict.fromkeys(
                f"{part.name} ({part.bytes / 1e9:,.1f} GB): {_CHANGES[part.name]}"
                for part in largest
                if part.name in _CHANGES
            )
            found.append(f"{what}. {'; '.join(changes) or 'take a larger machine'}.")
    if forecast.total_seconds > _LONG:
        slowest = max(forecast.plan.steps, key=forecast.seconds)
        hours = forecast.total_seconds / 3600
        found.append(f"it takes {hours:,.0f} h: {_slow(forecast, slowest)}.")
    return found


def _slow(forecast: Forecast, step: Step) -> str:
    engine = forecast.asked.engine
    if step.in_one and engine.is_spark:
        return f"{step.name!r} runs on the {engine.cores} cores of one executor, whatever the rest"
    if step.driver_seconds > step.core_seconds / max(1, engine.slots):
        return f"{step.name!r} is done by the driver alone: more executors do not help"
    if step.tasks < engine.slots:
        return f"{step.name!r} has {step.tasks:,} blocks for {engine.slots:,} slots"
    return f"{step.name!r} takes most: more executors, fewer epochs or negatives"
