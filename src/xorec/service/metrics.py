"""Metrics for Prometheus, and Activity: the last two minutes, second by second, of all workers.

Each second has a row of counters: requests by class of status, events, and histograms of the times
of requests and flushes. Where there are several workers, the rows of each lie in a file of the
folder of metrics: the worker that is asked adds them up, and one that starts again goes on in its
own. No ids and no keys are kept: of a slow request its route.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, values
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from xorec.service.live.state import iso

SECONDS = 120
WINDOW = 10
"""Seconds that rates and quantiles are over."""
SLOW_MS = 50
"""A request that takes longer is remembered."""
SLOW_NS = SLOW_MS * 1_000_000
_SLOW_KEPT = 20
_MOST_WAITING = 50_000
"""Requests that are not counted yet; they are ten times a second."""
_EDGES = 10e-6 * 2 ** (np.arange(85) / 4)
"""Seconds between which times are counted: 10 us to 21 s, each 19 % above the one before."""
_BINS = len(_EDGES) + 1
_ROW = np.dtype(
    [
        ("at", "<u4"),
        ("status", "<u4", 6),
        ("events", "<u4"),
        ("took", "<u4", _BINS),
        ("flush", "<u4", _BINS),
    ]
)
_SLOW = np.dtype(
    [("at", "<f8"), ("ms", "<f4"), ("status", "<u2"), ("method", "S8"), ("route", "S64")]
)
Rows = npt.NDArray[np.void]
Json = dict[str, Any]


class Activity:
    """The counters of one worker; `report` adds up those of all.

    took: nanoseconds of a request times 8 plus its class of status, appended by the
    thread that answers: one number is all that a request costs here.
    """

    def __init__(self, worker: int = 0, folder: Path | None = None) -> None:
        self.took: deque[int] = deque(maxlen=_MOST_WAITING)
        self._folder = folder
        self._rows, self._slow = np.zeros(SECONDS, _ROW), np.zeros(_SLOW_KEPT, _SLOW)
        if folder is not None:
            path = folder / f"w{worker}.activity"
            reserve(path, self._rows.nbytes + self._slow.nbytes)
            self._rows, self._slow = _mapped(path, "r+")
        self._began = time.time()
        self._lock = threading.Lock()

    # -- what happens

    def slow(self, route: str, method: str, status: int, took: int) -> None:
        """A request of more than `SLOW_NS` nanoseconds: counted as any other, and remembered."""
        self.took.append(took << 3 | status // 100)
        with self._lock:
            oldest = int(self._slow["at"].argmin())
            row = (time.time(), took * 1e-6, status, method.encode(), route.encode())
            self._slow[oldest] = row

    def flush(self, seconds: float) -> None:
        with self._lock:
            self._row(time.time())["flush"][np.searchsorted(_EDGES, seconds)] += 1

    def events(self, count: int) -> None:
        with self._lock:
            self._row(time.time())["events"] += count

    def settle(self) -> None:
        """Count the requests that wait to be counted; about ten times a second."""
        waiting = self.took
        if not waiting:
            return
        with self._lock:
            taken = np.array([waiting.popleft() for _ in range(len(waiting))], dtype=np.int64)
            row = self._row(time.time())
            row["status"] += np.bincount(taken & 7, minlength=6)[:6].astype(np.uint32)
            bins = np.searchsorted(_EDGES, (taken >> 3) * 1e-9)
            row["took"] += np.bincount(bins, minlength=_BINS).astype(np.uint32)

    def _row(self, now: float) -> Any:
        """Of this second; what stood there two minutes ago goes."""
        row = self._rows[int(now) % SECONDS]
        if row["at"] != int(now):
            self._rows[int(now) % SECONDS] = 0
            row["at"] = int(now)
        return row

    # -- what is told

    def report(self, history: int = 3) -> Json:
        """Rates and quantiles over the last seconds, a line of each for the last `history`, and the
        last slow requests; of all workers."""
        self.settle()
        rows, slow, workers = self._all()
        now = int(time.time())
        recent = rows[(rows["at"] >= now - WINDOW) & (rows["at"] < now)]
        seconds = WINDOW if workers > 1 else min(max(now - int(self._began), 1), WINDOW)
        return {
            "of": "this worker" if self._folder is None else "all workers",
            "workers": workers,
            "seconds": seconds,
            "requests_per_second": _rate(recent["status"].sum(), seconds),
            "errors_per_second": _rate(recent["status"][:, 5].sum(), seconds),
            "by_status": {
                f"{kind}xx": _rate(recent["status"][:, kind].sum(), seconds)
                for kind in range(1, 6)
                if recent["status"][:, kind].any()
            },
            "events_per_second": _rate(recent["events"].sum(), seconds),
            **{
                f"{name}{q}_ms": quantile_ms(recent[of].sum(axis=0), share)
                for name, of in (("", "took"), ("flush_", "flush"))
                for q, share in (("p50", 0.5), ("p99", 0.99))
            },
            "history": _history(rows, range(now - history, now)),
            "slow_ms": SLOW_MS,
            "slow": _slow_requests(slow),
        }

    def _all(self) -> tuple[Rows, Rows, int]:
        """The rows of all workers, their slow requests, and how many workers there are."""
        if self._folder is None:
            return self._rows.copy(), self._slow.copy(), 1
        parts = [_mapped(path) for path in sorted(self._folder.glob("*.activity"))]
        rows, slow = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows, slow, len(parts)


def reserve(path: Path, nbytes: int) -> None:
    """Make a file of at least this size, with its space: a full disk would end a process that
    writes to a mapped hole."""
    with path.open("ab") as file:
        file.write(bytes(max(0, nbytes - file.tell())))


def _mapped(path: Path, mode: Any = "r") -> tuple[Rows, Rows]:
    """Rows and slow requests of a worker, in its file."""
    whole: Any = np.memmap(path, np.uint8, mode)
    end = SECONDS * _ROW.itemsize
    return whole[:end].view(_ROW), whole[end:].view(_SLOW)


def _rate(count: Any, seconds: float) -> float:
    return round(float(count) / seconds, 3)


def quantile_ms(counts: npt.NDArray[Any], q: float) -> float | None:
    """The time below which the share q lies, in milliseconds; None where nothing was counted.

    Between two edges times are taken to be spread evenly by their logarithms, so it is off by 19 %
    at most.
    """
    total = counts.sum()
    if not total:
        return None
    before = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    at = int(np.searchsorted(before, q * total, side="right")) - 1
    at = min(at, int(np.flatnonzero(counts)[-1]))
    inside = (q * total - before[at]) / max(1, counts[at])
    low = _EDGES[at - 1] if at > 0 else _EDGES[0] / 2
    high = _EDGES[at] if at < len(_EDGES) else _EDGES[-1] * 2
    return round(float(1000 * low * math.exp(inside * math.log(high / low))), 4)


def _history(rows: Rows, seconds: range) -> Json:
    """Columns with a value for each second; nothing counted is None where it is a time."""
    of = [rows[rows["at"] == second] for second in seconds]
    return {
        "from": seconds.start,
        "requests": [int(one["status"].sum()) for one in of],
        "errors": [int(one["status"][:, 5].sum()) for one in of],
        "events": [int(one["events"].sum()) for one in of],
        "p50_ms": [quantile_ms(one["took"].sum(axis=0), 0.5) for one in of],
        "p99_ms": [quantile_ms(one["took"].sum(axis=0), 0.99) for one in of],
        "flush_p99_ms": [quantile_ms(one["flush"].sum(axis=0), 0.99) for one in of],
    }


def _slow_requests(slow: Rows) -> list[Json]:
    """The last ones, newest first."""
    there = slow[slow["at"] > 0]
    newest = there[np.argsort(-there["at"], kind="stable")][:_SLOW_KEPT]
    return [
        {
            "route": one["route"].decode(),
            "method": one["method"].decode(),
            "status": int(one["status"]),
            "ms": round(float(one["ms"]), 1),
            "at": iso(int(one["at"] * 1e6)),
        }
        for one in newest
    ]


_SECONDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


_FILES = dict.fromkeys(("counter", "gauge_max", "gauge_sum", "gauge_mostrecent"), 1 << 16)
_FILES["histogram"] = 1 << 20
"""Files of prometheus-client in the folder of several workers, and the bytes that they need."""


class Metrics:
    """All figures of one worker."""

    def __init__(self, worker: int = 0) -> None:
        self._folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        if self._folder is not None:
            for kind, nbytes in _FILES.items():
                reserve(Path(self._folder) / f"{kind}_w{worker}.db", nbytes)
            values.ValueClass = values.MultiProcessValue(lambda: f"w{worker}")  # type: ignore[no-untyped-call]
        self.activity = Activity(worker, None if self._folder is None else Path(self._folder))
        self.registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "xorec_request_seconds",
            "Seconds inside the service, by route and status.",
            ("route", "method", "status"),
            buckets=_SECONDS,
            registry=registry,
        )
        self.events = Counter("xorec_events", "Events that were accepted.", registry=registry)
        self.duplicates = Counter(
            "xorec_duplicate_events", "Events that the log had already.", registry=registry
        )
        self.flush_seconds = Histogram(
            "xorec_flush_seconds",
            "Seconds of a commit of the log.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.group_size = Histogram(
            "xorec_group_events", "Events of a commit.", buckets=_SIZES, registry=registry
        )
        self.sequence = Gauge(
            "xorec_sequence", "Last seq in the log.", registry=registry, multiprocess_mode="max"
        )
        self.in_flight = Gauge(
            "xorec_requests_in_flight",
            "Requests that wait or are worked on.",
            registry=registry,
            multiprocess_mode="sum",
        )
        self.generation = Gauge(
            "xorec_generation",
            "Generation that is served.",
            ("model",),
            registry=registry,
            multiprocess_mode="mostrecent",
        )

    def request(self, route: str, method: str, status: int) -> Callable[[float], None]:
        """Where the seconds of such a request are to be counted; look it up once."""
        return self._requests.labels(route, method, str(status)).observe

    def summary(self) -> dict[str, dict[str, float]]:
        """Requests by status: how many, and their seconds in all."""
        found: dict[str, dict[str, float]] = {}
        for sample in next(iter(self._requests.collect())).samples:
            what = sample.name.removeprefix("xorec_request_seconds_")
            if what in ("count", "sum"):
                row = found.setdefault(sample.labels["status"], {"count": 0.0, "seconds": 0.0})
                row["seconds" if what == "sum" else what] += sample.value
        return found

    def text(self) -> bytes:
        """As Prometheus reads it, of all workers."""
        if self._folder is None:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(together)
