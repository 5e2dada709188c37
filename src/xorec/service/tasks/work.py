"""What a child process does: `python -m xorec.service.tasks.work`, its order on standard input.

It tells its progress as JSON lines on standard output; the last has "result" or "error".
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from xorec.core.errors import OptionError, XorecError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress, TrackedTask
from xorec.data.interactions import Interactions
from xorec.recommender.recommender import Recommender
from xorec.recommender.updating import without_users
from xorec.service.live.generations import Generation
from xorec.service.tasks.gate import judge
from xorec.service.tasks.orders import Order
from xorec.service.tasks.pairs import as_pairs, erased_users, positive_events

_HELD_OUT = 0.2
_MOST_HELD_OUT = 20_000


def update(order: Order) -> dict[str, Any]:
    """The next generation: the one that is served, with the events that came after it."""
    served, about = _served(order)
    events = positive_events(order.log, about.applied_seq, order.until)
    after = served.update(as_pairs(served, events)) if events else served
    number = order.generations.publish(
        after, "update", order.until, erased_seq=order.until, events=len(events)
    )
    return {"generation": number, "events": len(events), "activate": True}


def refit(order: Order) -> dict[str, Any]:
    """Learn anew from all pairs; the newest events first judge, then are learned, too."""
    served, about = _served(order)
    events = positive_events(order.log, about.applied_seq, order.until)
    held = min(int(len(events) * _HELD_OUT), _MOST_HELD_OUT)
    older, newest = events[: len(events) - held], events[len(events) - held :]
    before = served.update(as_pairs(served, older)) if older else served
    train = Interactions(
        before.user_ids,
        before.item_ids,
        *before.seen,
        names=before.names,
        categories=before.categories,
    )
    model = _model(order, served)
    checkpoint = Path(order.checkpoint) if order.checkpoint else None
    options = RunOptions(
        seed=int(served.metadata.get("seed", 0)),
        threads=order.threads,
        progress=_Told(),
        checkpoint=checkpoint,
        resume=checkpoint is not None,
    )
    model.fit(train, None, options=options)
    made = Recommender.from_model(model, train, seed=options.seed)
    gate = judge(before, made, train, newest, order.gate_drop)
    if newest:
        made = made.update(as_pairs(made, newest))
    number = order.generations.publish(
        made, "refit", order.until, erased_seq=order.until, gate=gate
    )
    return {
        "generation": number,
        "events": len(events),
        "gate": gate,
        "activate": bool(gate["passed"]),
    }


def purge(order: Order) -> dict[str, Any]:
    """Rewrite every generation that still has somebody who was erased."""
    rewritten = []
    for number in order.generations.numbers():
        about = order.generations.describe(number)
        gone = erased_users(order.log, about.erased_seq)
        if not gone:
            continue
        stored = Recommender.load(about.path, threads=order.threads)
        left = without_users(stored, gone)
        service = {**stored.metadata.get("service", {}), "erased_seq": order.until}
        replace(left, metadata={**left.metadata, "service": service}).save(about.path)
        rewritten.append(number)
    return {"rewritten": rewritten, "activate": False}


def _served(order: Order) -> tuple[Recommender, Generation]:
    """The generation that is served, without those who were erased since it was made."""
    number = order.generations.current()
    if number is None:
        raise OptionError(f"the model {order.name!r} has no generation in {order.folder}.")
    about = order.generations.describe(number)
    served = Recommender.load(about.path, threads=order.threads)
    gone = erased_users(order.log, about.erased_seq)
    if gone:
        served = without_users(served, gone)
    return served, about


def _model(order: Order, served: Recommender) -> Any:
    from xorec.models import model_class

    if order.recipe is None:
        settings = {**served.metadata["config"], **(order.settings or {})}
        return model_class(served.metadata["model"])(**settings)
    return model_class(order.recipe)(**(order.settings or {}))


class _Told(Progress):
    """Progress as lines for the service."""

    def _show(self, task: TrackedTask, steps: float) -> None:
        outermost = (*task.outer, task)[0]
        share = outermost.done / outermost.total if outermost.total else None
        now = self.clock()
        if now - getattr(self, "_last", -1.0) >= 0.5:
            self._last = now
            _tell({"progress": share, "detail": task.name, "facts": task.facts})

    def note(self, message: str) -> None:
        _tell({"detail": message, "note": message})


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


KINDS: dict[str, Callable[[Order], dict[str, Any]]] = {
    "update": update,
    "refit": refit,
    "purge": purge,
}


def main() -> int:
    """Carry out the order on standard input."""
    os.nice(10)
    order = Order(**json.load(sys.stdin))
    try:
        result = KINDS[order.kind](order)
        order.generations.remove_old(order.keep, set())
    except XorecError as error:
        _tell({"error": str(error)})
        return 2
    _tell({"result": result})
    return 0


if __name__ == "__main__":
    sys.exit(main())
