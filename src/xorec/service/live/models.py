"""LiveModels: the served models by name, which follow the log.

The Follower thread applies what other processes write to the log.
"""

from __future__ import annotations

import asyncio
import threading
import time
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from xorec.core.errors import OptionError, XorecError
from xorec.core.printable import did_you_mean, quoted
from xorec.core.progress import logger
from xorec.recommender.recommender import Recommender
from xorec.service.live.generations import Generations
from xorec.service.live.model import LiveModel
from xorec.service.live.state import SharedState
from xorec.service.live.text_search import prepare_boxes
from xorec.service.log.base import LogReader
from xorec.service.log.records import Change, EventColumns, News, Record
from xorec.service.log.writer import SharedSequence

_PAUSE = 0.05
"""Seconds between two looks."""
_PAUSE_AFTER_FAILURE = 0.5


class Follower:
    """Looks at the log again and again.

    last_seq: asks the log for its last seq, where other machines write to it, too: the workers of
    this machine then learn of it by `sequence`. on_applied: called after something was applied.
    """

    def __init__(
        self,
        models: LiveModels,
        sequence: SharedSequence,
        last_seq: Callable[[], int] | None = None,
        on_applied: Callable[[], None] = lambda: None,
    ) -> None:
        self._models, self._sequence = models, sequence
        self._last_seq, self._on_applied = last_seq, on_applied
        self._wake, self._ending = threading.Event(), False
        self.is_failing = False
        """Whether the last look failed: the log is away."""
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)
        self._thread.start()

    def look(self, *, at_once: bool = False) -> None:
        """Apply what is new. at_once: also where `sequence` does not know of it yet."""
        if self._last_seq is not None:
            self._sequence.advance(self._last_seq())
        last = self._sequence.value
        if (at_once or last > self._models.applied_seq) and self._models.catch_up(last):
            self._on_applied()

    async def reach(self, seq: int, seconds: float) -> bool:
        """Whether everything up to this seq is known, after waiting for it if need be; not longer
        than until a look has failed."""
        loop = asyncio.get_running_loop()
        deadline, failures = loop.time() + seconds, self._failures
        while seq > self._models.applied_seq:
            if self._failures > failures or loop.time() > deadline:
                return False
            self._wake.set()
            await asyncio.sleep(0.002)
        return True

    def close(self) -> None:
        self._ending = True
        self._wake.set()
        self._thread.join(2)

    def _run(self) -> None:
        while True:
            woken = self._wake.wait(_PAUSE_AFTER_FAILURE if self.is_failing else _PAUSE)
            if self._ending:
                return
            self._wake.clear()
            try:
                self.look(at_once=woken)
            except XorecError as error:  # it is tried again; once is enough to know
                if not self.is_failing:
                    logger.warning("cannot follow the log: %s", error, extra={"event": "follow"})
                self._fail()
            except Exception:
                logger.exception("cannot follow the log")
                self._fail()
            else:
                if self.is_failing:
                    logger.warning("follows the log again", extra={"event": "follows again"})
                self.is_failing = False

    def _fail(self) -> None:
        self.is_failing = True
        self._failures += 1


_BLOCK = 50_000
"""Events that are read at once while catching up."""
_WARM = 3
"""Generations of a model that stay loaded, so that going back takes no time."""


class LiveModels(SharedState):
    """Every model by name with its generation, and everything that happened after.

    One thread at a time applies records (`catch_up` and `apply` hold a lock); any thread reads.
    """

    def __init__(self, folder: Path, log: LogReader) -> None:
        super().__init__()
        self.folder, self.log = folder, log
        self.experiments: dict[str, Mapping[str, Any]] = {}
        self.applied_seq = 0
        self.last_erased = 0
        """The seq of the last erasure in the log."""
        self.machine: str | None = None
        """Our name among the machines that share the log: generations are each machine's own."""
        self.served_since: dict[str, float] = {}
        """By model: when this process began to serve its generation, in seconds since 1970."""
        self.on_swap: Callable[[LiveModel], None] = lambda live: None
        self._live: dict[str, LiveModel] = {}
        self._warm: dict[str, OrderedDict[int, LiveModel]] = {}
        self._said: dict[str, int] = {}
        """By model: the seq of the last activation in the log."""
        self.activating = threading.Lock()
        """Held from CURRENT to the log, so that both have one order."""
        self._replaying = False
        self._lock = threading.RLock()
        self._loading = threading.Lock()

    # -- what is served

    def __getitem__(self, name: str | None) -> LiveModel:
        found = self._live.get(name or "default")
        if found is None:
            hint = did_you_mean(str(name), self._live)
            listed = ", ".join(self._live)
            raise OptionError(f"there is no model {quoted(name)}.{hint} There are: {listed}.")
        return found

    @property
    def default(self) -> LiveModel:
        """The model that answers where none is named."""
        return self._live["default"]

    def names(self) -> list[str]:
        return list(self._live)

    def generations(self, name: str) -> Generations:
        return Generations(self.folder / "models" / name)

    # -- start

    def open(self, names: Iterable[str]) -> int:
        """Load CURRENT of every model and replay the log; how many records were replayed."""
        for name in names:
            number = self.generations(name).current()
            if number is None:
                raise OptionError(f"the model {name!r} has no generation in {self.folder}.")
            self._live[name] = self._load(name, number)
            self.served_since[name] = time.time()
        self._require_same_ids()
        self._replaying, last = True, self.log.last_seq()
        items = self.log.newest_items()
        for change in (*items, *self.log.changes("erase"), *self.log.changes("experiment")):
            self._apply_change(change)
        floor = min(live.about.applied_seq for live in self._live.values())
        self.recent.floor = self.applied_seq = floor
        count = sum(change.seq > floor for change in items)
        count += self.catch_up(last, items_after=last)
        self._replaying = False
        return count

    def catch_up(self, last: int = 0, items_after: int = 0) -> int:
        """Apply everything that the log has and this has not; how many records.

        last: a seq that the log has, of which nothing may be left to read: it counts as applied.
        items_after: changes of items up to this seq are known.
        """
        count = 0
        with self._lock:
            while (news := self.log.news(self.applied_seq, _BLOCK, items_after)).last_seq:
                self._apply(news)
                count += len(news.events.seqs) + len(news.changes)
            self.applied_seq = max(self.applied_seq, last)
        return count

    def _require_same_ids(self) -> None:
        kinds = {(live.users.kind, live.items.kind) for live in self._live.values()}
        if len(kinds) > 1:
            raise OptionError(
                "the models have ids of different types, and one log serves them all: fit them on "
                f"data with the same ids ({', '.join(map(str, sorted(kinds)))})."
            )

    # -- the log

    def apply(self, records: Sequence[Record]) -> None:
        """What the log says next, in its order; what was applied before is passed over.

        Places between are of other machines that write to the log: they are read first.
        """
        with self._lock:
            if records[0].seq > self.applied_seq + 1:
                self.catch_up()
            self._apply(News.of(records))

    def _apply(self, news: News) -> None:
        events = news.events
        at = bisect_right(events.seqs, self.applied_seq)
        for change in news.changes:
            if change.seq <= self.applied_seq:
                continue
            before = bisect_left(events.seqs, change.seq)
            self._apply_events(events.part(at, before))
            at = before
            self._apply_change(change)
            self.applied_seq = change.seq
        self._apply_events(events.part(at))

    def _apply_events(self, events: EventColumns) -> None:
        if not events.seqs:
            return
        self.recent.add(events)
        strange = [item for item in dict.fromkeys(events.items) if item not in self.cold]
        for live in self._live.values():
            _, strange = live.item_rows(strange)
        if strange:
            first = dict(zip(reversed(events.items), reversed(events.times), strict=True))
            self.cold.update((item, first[item]) for item in strange)
        self.applied_seq = events.seqs[-1]

    def _apply_change(self, change: Change) -> None:
        body = change.body
        if change.kind == "item":
            self.catalogue.apply(body)
        elif change.kind == "erase":
            self.recent.forget(body["user"])
            self.erased[body["user"]] = self.last_erased = change.seq
            for live in self._all_loaded():
                live.forget(body["user"])
        elif change.kind == "experiment":
            self.experiments[body["name"]] = body
        elif (
            change.kind == "activate"
            and not self._replaying  # else CURRENT has said it
            and body.get("machine") == self.machine
        ):
            self._said[body["name"]] = change.seq
            self._follow(body["name"], int(body["generation"]), bool(body.get("reload")))

    # -- swaps

    def prepare(self, name: str, number: int) -> LiveModel:
        """Load a generation and make it warm, so that `activate` takes no time."""
        with self._loading:
            kept = self._warm[name].get(number)
            return kept if kept is not None else self._load(name, number)

    def _follow(self, name: str, number: int, reload: bool) -> None:
        """The log says that this generation is served: at once if it is warm, else soon.

        reload: files were rewritten, so what is loaded must not be used.
        """
        if name not in self._live:
            return
        if reload:
            self._warm[name] = OrderedDict()
        elif self._live[name].about.number == number:
            return
        kept = self._warm[name].get(number)
        if kept is not None:
            self._swap(kept)
        elif self.generations(name).path(number).exists():
            what = (name, number, self._said[name])
            threading.Thread(target=self._load_and_swap, args=what, daemon=True).start()

    def _load_and_swap(self, name: str, number: int, seq: int) -> None:
        """Serve it, unless the log has said another one meanwhile."""
        try:
            live = self.prepare(name, number)
        except XorecError as error:
            logger.error("generation %d of %s cannot be served: %s", number, name, error)
            return
        with self._lock:
            if self._said[name] == seq:
                self._swap(live)

    def _swap(self, live: LiveModel) -> None:
        with self._lock:
            before, self._live[live.name] = self._live.get(live.name), live
            self.served_since[live.name] = time.time()
            self._warm[live.name].move_to_end(live.about.number)
            known = [one for one in self.cold if live.item_row(one) >= 0]
            for item in known:
                self.cold.pop(item, None)
            floor = min(one.about.applied_seq for one in self._all_loaded())
            self.recent.trim(floor)
        if before is not None and before is not live:
            before.search_boxes = {}  # their memory comes back
        self.on_swap(live)

    def _load(self, name: str, number: int) -> LiveModel:
        generations = self.generations(name)
        about = generations.describe(number)
        recommender = Recommender.load(about.path, threads=1).warm_up()
        live = LiveModel(name, about, recommender, self)
        if name in self._live:
            prepare_boxes(live, self._live[name])
        with self._lock:
            if about.applied_seq < self.recent.floor:
                self._reach_back(about.applied_seq)
            warm = self._warm.setdefault(name, OrderedDict())
            warm[number] = live
            served = self._live.get(name)
            for old in [one for one in warm if served is None or one != served.about.number]:
                if len(warm) > _WARM and old != number:
                    del warm[old]
        return live

    def _reach_back(self, seq: int) -> None:
        """Events that an older generation does not know and the log still has."""
        older: list[EventColumns] = []
        at = seq
        while at < self.recent.floor and (news := self.log.news(at, _BLOCK)).last_seq:
            older.append(news.events)
            at = news.last_seq
        columns = (list(chain.from_iterable(parts)) for parts in zip(*older, strict=True))
        self.recent.reach_back(EventColumns(*columns), seq)

    def _all_loaded(self) -> list[LiveModel]:
        warm = [live for kept in self._warm.values() for live in kept.values()]
        return [*warm, *(live for live in self._live.values() if live not in warm)]
