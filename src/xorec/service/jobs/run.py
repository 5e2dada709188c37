"""Carries out one task in a child process: an update, a refit, or a purge of erased users."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.errors import DataError, OptionError, XorecError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress, TrackedTask
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.evaluation.protocol import evaluate
from xorec.recommender.recommender import Recommender
from xorec.recommender.state import RecommenderState
from xorec.recommender.unseen import unseen_pairs
from xorec.recommender.updating import without_users
from xorec.service.ids import from_json
from xorec.service.jobs.runner import TaskSpec
from xorec.service.live.generations import Generation
from xorec.service.log.records import Event, Id

_FEWEST = 20
"""Users with new pairs that are needed to judge by."""
_HELD_OUT = 0.2
_MOST_HELD_OUT = 20_000
"""Of the newest events: what a refit is judged by before it learns them, too."""


def update(spec: TaskSpec) -> dict[str, Any]:
    """The next generation: the one that is served, with the events that came after it."""
    served, about = _served(spec)
    events = _positive_events(spec, about.applied_seq)
    after = served.update(_as_pairs(served, events)) if events else served
    number = spec.generations.publish(
        after, "update", spec.until, erased_seq=spec.until, events=len(events)
    )
    return {"generation": number, "events": len(events), "activate": True}


def refit(spec: TaskSpec) -> dict[str, Any]:
    """Learn from all pairs again; the newest events first judge, then are learned, too."""
    served, about = _served(spec)
    events = _positive_events(spec, about.applied_seq)
    held = min(int(len(events) * _HELD_OUT), _MOST_HELD_OUT)
    older, newest = events[: len(events) - held], events[len(events) - held :]
    before = served.update(_as_pairs(served, older)) if older else served
    train = Interactions(
        before.user_ids,
        before.item_ids,
        *before.seen,
        names=before.names,
        categories=before.categories,
    )
    options = RunOptions(
        seed=int(served.metadata.get("seed", 0)),
        threads=spec.threads,
        progress=_Told(),
        checkpoint=Path(spec.checkpoint) if spec.checkpoint else None,
        resume=bool(spec.checkpoint),
    )
    model = _model(spec, served)
    model.fit(train, None, options=options)
    made = Recommender.from_model(model, train, seed=options.seed)
    alike = spec.recipe in (None, served.metadata["model"]) and not spec.settings
    gate = publish_gate(before, made, newest, spec.gate_drop, alike)
    if newest:
        made = made.update(_as_pairs(made, newest))
    number = spec.generations.publish(made, "refit", spec.until, erased_seq=spec.until, gate=gate)
    return {"generation": number, "events": len(events), "gate": gate, "activate": gate["passed"]}


def purge(spec: TaskSpec) -> dict[str, Any]:
    """Rewrite every generation that still has users who were erased."""
    rewritten = []
    for number in spec.generations.numbers():
        about = spec.generations.describe(number)
        if gone := _erased_users(spec, about.erased_seq):
            stored = Recommender.load(about.path, threads=spec.threads)
            left = without_users(stored, gone)
            service = {**stored.metadata.get("service", {}), "erased_seq": spec.until}
            replace(left, metadata={**left.metadata, "service": service}).save(about.path)
            rewritten.append(number)
    return {"rewritten": rewritten, "activate": False}


def _positive_events(spec: TaskSpec, after: int) -> list[Event]:
    """Events of the log that teach something, after a seq and up to `until`, in order."""
    found: list[Event] = []
    with closing(spec.log.open_reader()) as reader:
        for records in reader.blocks(after):
            events = (one for one in records if isinstance(one, Event) and one.seq <= spec.until)
            found += [event for event in events if event.value > 0]
            if records[-1].seq >= spec.until:
                break
    return found


def _erased_users(spec: TaskSpec, after: int) -> list[Id]:
    with closing(spec.log.open_reader()) as reader:
        return [change.body["user"] for change in reader.changes("erase", after)]


def _as_pairs(state: RecommenderState, events: Sequence[Event]) -> Interactions:
    """The events as interactions, with ids of the types that the model has."""
    users, user_rows = _coded(state.user_ids, [event.user for event in events], "user")
    items, item_rows = _coded(state.item_ids, [event.item for event in events], "item")
    return Interactions.from_rows(users, items, user_rows, item_rows)


def _coded(known: Ids, given: Sequence[Id], what: str) -> tuple[Ids, np.ndarray]:
    """The distinct ids in the order of their first events, and the row of each event."""
    rows: dict[Id, int] = {}
    row_of = np.array([rows.setdefault(one, len(rows)) for one in given])
    values = [from_json(known, one, what) for one in rows]
    if known.kind == "int64":
        return Ids("int64", np.array(values, dtype=np.int64)), row_of
    made = Ids.of(values)
    if made.kind != known.kind:
        made = Ids.of([known.parse(str(value)) for value in values])
    return made, row_of


def publish_gate(
    served: Recommender, made: Recommender, newest: Sequence[Event], drop: float, alike: bool
) -> dict[str, Any]:
    """Whether `made` may be served: its NDCG@10 on the newest events against the served model's.

    Both know the same pairs and nothing of `newest`. drop: the share by which it may be worse.
    alike: it was learned as the served one; only then it passes where there is too little to judge
    by.
    """
    users = 0
    if newest:
        pairs = _as_pairs(served, newest)
        with suppress(DataError):  # no pair of them is new to users and items that are known
            train, test, _ = unseen_pairs(served, pairs)
            users = int(np.count_nonzero(test.user_counts))
    if users < _FEWEST:
        reason = f"only {users} users have new pairs to judge by, {_FEWEST} are needed"
        if not alike:
            reason += ": a model of another recipe is served by activating it"
        return {"passed": alike, "users": users, "reason": reason}
    old, new = (evaluate(one, train, test, ks=(10,)) for one in (served, made))
    passed = bool(new["ndcg@10"] >= old["ndcg@10"] * (1 - drop))
    return {
        "passed": passed,
        "users": old.n_users,
        "served_ndcg@10": float(old["ndcg@10"]),
        "made_ndcg@10": float(new["ndcg@10"]),
        "reason": f"worse by {'at most' if passed else 'more than'} {drop:.1%}",
    }


def _served(spec: TaskSpec) -> tuple[Recommender, Generation]:
    """The generation that is served, without users who were erased since it was made."""
    number = spec.generations.current()
    if number is None:
        raise OptionError(f"the model {spec.name!r} has no generation in {spec.folder}.")
    about = spec.generations.describe(number)
    served = Recommender.load(about.path, threads=spec.threads)
    gone = _erased_users(spec, about.erased_seq)
    return without_users(served, gone) if gone else served, about


def _model(spec: TaskSpec, served: Recommender) -> Any:
    from xorec.models import model_class

    if spec.recipe is None:
        settings = {**served.metadata["config"], **(spec.settings or {})}
        return model_class(served.metadata["model"])(**settings)
    return model_class(spec.recipe)(**(spec.settings or {}))


class _Told(Progress):
    """Progress as lines for the service."""

    _last = -1.0

    def _show(self, task: TrackedTask, steps: float) -> None:
        outermost = (*task.outer, task)[0]
        share = outermost.done / outermost.total if outermost.total else None
        now = self.clock()
        if now - self._last >= 0.5:
            self._last = now
            _tell({"progress": share, "detail": task.name, "facts": task.facts})

    def note(self, message: str) -> None:
        _tell({"detail": message, "note": message})


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> int:
    os.nice(10)
    spec = TaskSpec(**json.load(sys.stdin))
    try:
        result = {"update": update, "refit": refit, "purge": purge}[spec.kind](spec)
        spec.generations.remove_old(spec.keep, set())
    except XorecError as error:
        _tell({"error": str(error)})
        return 2
    _tell({"result": result})
    return 0


if __name__ == "__main__":
    sys.exit(main())
