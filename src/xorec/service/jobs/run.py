"""Pairs out of the log: what users took, for learning."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.errors import OptionError, XorecError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress, TrackedTask
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.evaluation.protocol import evaluate
from xorec.recommender.recommender import Recommender
from xorec.recommender.state import RecommenderState
from xorec.recommender.updating import without_users
from xorec.service.ids import from_json
from xorec.service.jobs.spec import TaskSpec
from xorec.service.live.generations import Generation
from xorec.service.log.location import LogLocation
from xorec.service.log.records import Event, Id


def positive_events(log: LogLocation, after: int, until: int) -> list[Event]:
    """Events of the log that teach something, after one place and up to another, in spec."""
    found: list[Event] = []
    with closing(log.open_reader()) as reader:
        for records in reader.blocks(after):
            events = (one for one in records if isinstance(one, Event) and one.seq <= until)
            found += [event for event in events if event.value > 0]
            if records[-1].seq >= until:
                break
    return found


def erased_users(log: LogLocation, after: int = 0) -> list[Id]:
    """Users that were erased after a place of the log."""
    with closing(log.open_reader()) as reader:
        return [change.body["user"] for change in reader.changes("erase", after)]


def as_pairs(state: RecommenderState, events: Sequence[Event]) -> Interactions:
    """The events as interactions, with ids of the types that the model has."""
    users, user_rows = _coded(state.user_ids, [event.user for event in events], "user")
    items, item_rows = _coded(state.item_ids, [event.item for event in events], "item")
    return Interactions.from_rows(users, items, user_rows, item_rows)


def _coded(known: Ids, given: Sequence[Id], what: str) -> tuple[Ids, np.ndarray]:
    """The distinct raw ids in the spec of their first event, and the row of each event."""
    rows: dict[Id, int] = {}
    places = [rows.setdefault(one, len(rows)) for one in given]
    return _ids_of(known, (from_json(known, one, what) for one in rows)), np.array(places)


def _ids_of(known: Ids, raw: Iterable[Id]) -> Ids:
    values = list(raw)
    if known.kind == "int64":
        return Ids("int64", np.array(values, dtype=np.int64))
    made = Ids.of(values)
    return made if made.kind == known.kind else Ids.of([known.parse(str(v)) for v in values])


_FEWEST = 20
"""Users with new pairs that are needed to judge by."""


def publish_gate(
    served: Recommender,
    made: Recommender,
    train: Interactions,
    newest: Sequence[Event],
    drop: float,
) -> dict[str, Any]:
    """Whether `made` may be served: its NDCG@10 on the newest events against the served model's.

    Both know the pairs of `train` and nothing of `newest`. drop: the share by which it may be
    worse.
    """
    test = _unseen(train, as_pairs(served, newest)) if newest else None
    if test is None or np.count_nonzero(test.user_counts) < _FEWEST:
        users = 0 if test is None else int(np.count_nonzero(test.user_counts))
        reason = f"only {users} users have new pairs to judge by, {_FEWEST} are needed"
        return {"passed": True, "users": users, "reason": reason}
    old, new = (evaluate(one, train, test, ks=(10,)) for one in (served, made))
    passed = bool(new["ndcg@10"] >= old["ndcg@10"] * (1 - drop))
    return {
        "passed": passed,
        "users": old.n_users,
        "served_ndcg@10": float(old["ndcg@10"]),
        "made_ndcg@10": float(new["ndcg@10"]),
        "reason": f"worse by at most {drop:.1%}" if passed else f"worse by more than {drop:.1%}",
    }


def _unseen(train: Interactions, new: Interactions) -> Interactions:
    """The new pairs of users and items that `train` has, without the pairs that it has."""
    users = train.users.find_many(new.users)[new.user_rows]
    items = train.items.find_many(new.items)[new.indices]
    known = (users >= 0) & (items >= 0)
    pairs = Interactions.from_rows(train.users, train.items, users[known], items[known])
    new_keys, old_keys = (
        one.user_rows.astype(np.int64) * one.n_items + one.indices for one in (pairs, train)
    )
    return pairs.select(~np.isin(new_keys, old_keys))


_HELD_OUT = 0.2
_MOST_HELD_OUT = 20_000


def update(spec: TaskSpec) -> dict[str, Any]:
    """The next generation: the one that is served, with the events that came after it."""
    served, about = _served(spec)
    events = positive_events(spec.log, about.applied_seq, spec.until)
    after = served.update(as_pairs(served, events)) if events else served
    number = spec.generations.publish(
        after, "update", spec.until, erased_seq=spec.until, events=len(events)
    )
    return {"generation": number, "events": len(events), "activate": True}


def refit(spec: TaskSpec) -> dict[str, Any]:
    """Learn anew from all pairs; the newest events first judge, then are learned, too."""
    served, about = _served(spec)
    events = positive_events(spec.log, about.applied_seq, spec.until)
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
    model = _model(spec, served)
    checkpoint = Path(spec.checkpoint) if spec.checkpoint else None
    options = RunOptions(
        seed=int(served.metadata.get("seed", 0)),
        threads=spec.threads,
        progress=_Told(),
        checkpoint=checkpoint,
        resume=checkpoint is not None,
    )
    model.fit(train, None, options=options)
    made = Recommender.from_model(model, train, seed=options.seed)
    gate = publish_gate(before, made, train, newest, spec.gate_drop)
    if newest:
        made = made.update(as_pairs(made, newest))
    number = spec.generations.publish(made, "refit", spec.until, erased_seq=spec.until, gate=gate)
    return {
        "generation": number,
        "events": len(events),
        "gate": gate,
        "activate": bool(gate["passed"]),
    }


def purge(spec: TaskSpec) -> dict[str, Any]:
    """Rewrite every generation that still has somebody who was erased."""
    rewritten = []
    for number in spec.generations.numbers():
        about = spec.generations.describe(number)
        gone = erased_users(spec.log, about.erased_seq)
        if not gone:
            continue
        stored = Recommender.load(about.path, threads=spec.threads)
        left = without_users(stored, gone)
        service = {**stored.metadata.get("service", {}), "erased_seq": spec.until}
        replace(left, metadata={**left.metadata, "service": service}).save(about.path)
        rewritten.append(number)
    return {"rewritten": rewritten, "activate": False}


def _served(spec: TaskSpec) -> tuple[Recommender, Generation]:
    """The generation that is served, without those who were erased since it was made."""
    number = spec.generations.current()
    if number is None:
        raise OptionError(f"the model {spec.name!r} has no generation in {spec.folder}.")
    about = spec.generations.describe(number)
    served = Recommender.load(about.path, threads=spec.threads)
    gone = erased_users(spec.log, about.erased_seq)
    if gone:
        served = without_users(served, gone)
    return served, about


def _model(spec: TaskSpec, served: Recommender) -> Any:
    from xorec.models import model_class

    if spec.recipe is None:
        settings = {**served.metadata["config"], **(spec.settings or {})}
        return model_class(served.metadata["model"])(**settings)
    return model_class(spec.recipe)(**(spec.settings or {}))


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


KINDS: dict[str, Callable[[TaskSpec], dict[str, Any]]] = {
    "update": update,
    "refit": refit,
    "purge": purge,
}


def main() -> int:
    """Carry out the spec on standard input."""
    os.nice(10)
    spec = TaskSpec(**json.load(sys.stdin))
    try:
        result = KINDS[spec.kind](spec)
        spec.generations.remove_old(spec.keep, set())
    except XorecError as error:
        _tell({"error": str(error)})
        return 2
    _tell({"result": result})
    return 0


if __name__ == "__main__":
    sys.exit(main())
