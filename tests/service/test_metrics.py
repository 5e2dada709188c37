"""Rates and quantiles of the last seconds against plain counting; the access log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import values

from xorec.core.errors import OptionError
from xorec.service import logs as access_log
from xorec.service import metrics as activity
from xorec.service.http.exchange import Request
from xorec.service.logs import AccessLog
from xorec.service.metrics import SECONDS, SLOW_NS, Activity, Metrics, quantile_ms


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(activity, "time", made)
    return made


def _answer(some: Activity, status: int, ms: float, times: int = 1) -> None:
    for _ in range(times):
        some.took.append(int(ms * 1e6) << 3 | status // 100)


@pytest.mark.parametrize("scale", [0.0005, 0.02, 3.0])
def test_quantiles_are_those_of_the_times_within_a_fifth(scale: float) -> None:
    times = np.random.default_rng(3).lognormal(np.log(scale), 0.7, 5_000)
    counts = np.bincount(np.searchsorted(activity._EDGES, times), minlength=activity._BINS)
    for q in (0.01, 0.5, 0.99):
        told = quantile_ms(counts, q)
        assert told is not None
        assert told == pytest.approx(1000 * np.quantile(times, q), rel=0.19)
    assert quantile_ms(counts * 0, 0.5) is None


def test_rates_are_over_whole_seconds_of_the_window(clock: Clock) -> None:
    some = Activity()
    for second in range(20):
        clock.now = 1_000_000.0 + second
        _answer(some, 200, 1, 6)
        _answer(some, 404, 1, 2)
        if second >= 15:
            _answer(some, 503, 10, 1)
        some.events(4)
        some.flush(0.004)
        some.settle()
    _answer(some, 200, 1, 1000)  # of the second that is not over
    found = some.report(history=5)
    assert found["seconds"] == 10
    assert found["by_status"] == {"2xx": 6.0, "4xx": 2.0, "5xx": 0.4}
    assert found["requests_per_second"] == pytest.approx(8.4)
    assert found["errors_per_second"] == 0.4
    assert found["events_per_second"] == 4
    assert found["p50_ms"] == pytest.approx(1, rel=0.19)
    assert found["p99_ms"] == pytest.approx(10, rel=0.19)
    assert found["flush_p99_ms"] == pytest.approx(4, rel=0.19)
    assert found["history"]["from"] == 1_000_014
    assert found["history"]["requests"] == [8, 9, 9, 9, 9]
    assert found["history"]["errors"] == [0, 1, 1, 1, 1]


def test_a_young_service_divides_by_its_own_age(clock: Clock) -> None:
    some = Activity()
    _answer(some, 200, 1, 12)
    some.settle()
    clock.now += 3
    assert some.report()["requests_per_second"] == 4


def test_what_is_two_minutes_old_is_gone(clock: Clock) -> None:
    some = Activity()
    _answer(some, 200, 1, 7)
    some.settle()
    clock.now += SECONDS
    _answer(some, 200, 1, 2)
    some.settle()
    clock.now += 1
    assert some.report(history=1)["history"]["requests"] == [2]
    assert sum(some.report(history=SECONDS - 1)["history"]["requests"]) == 2


def test_the_last_slow_requests_newest_first(clock: Clock) -> None:
    some = Activity()
    for n in range(30):
        clock.now += 1
        some.slow("/v1/map", "GET", 200, SLOW_NS + n * 1_000_000)
    slow = some.report()["slow"]
    assert [one["ms"] for one in slow] == [50.0 + n for n in range(29, 9, -1)]
    assert slow[0] == {
        "route": "/v1/map",
        "method": "GET",
        "status": 200,
        "ms": 79.0,
        "at": "1970-01-12T13:47:10Z",
    }
    clock.now += 1
    assert some.report()["by_status"] == {"2xx": pytest.approx(3.0)}


def test_all_workers_are_added_up_and_one_that_starts_again_goes_on(
    clock: Clock, tmp_path: Path
) -> None:
    first, second = (Activity(worker, tmp_path) for worker in range(2))
    _answer(first, 200, 1, 30)
    _answer(second, 500, 1, 20)
    first.settle()
    second.settle()
    second.slow("/v1/map", "GET", 200, 2 * SLOW_NS)
    again = Activity(0, tmp_path)
    clock.now += 1
    for one in (first, again):
        found = one.report()
        assert (found["of"], found["workers"]) == ("all workers", 2)
        assert found["by_status"] == {"2xx": 3.0, "5xx": 2.0}
        assert [slow["ms"] for slow in found["slow"]] == [100.0]


def test_what_waits_is_bounded() -> None:
    some = Activity()
    _answer(some, 200, 1, 60_000)
    assert len(some.took) == 50_000


def test_requests_of_all_routes_are_added_up_by_status() -> None:
    metrics = Metrics()
    for route, status, seconds in (
        ("/v1/recommend", 200, 0.25),
        ("/v1/recommend", 200, 0.5),
        ("/v1/similar", 200, 1.0),
        ("/v1/similar", 404, 2.0),
    ):
        metrics.request(route, "GET", status)(seconds)
    assert metrics.summary() == {
        "200": {"count": 3.0, "seconds": pytest.approx(1.75)},
        "404": {"count": 1.0, "seconds": pytest.approx(2.0)},
    }


# -- the access log


def request(n: int) -> Request:
    headers = {"x-api-key": "a-secret-key-0123"}
    return Request("GET", "/v1/recommend", "user=ann", headers, "10.0.0.7", f"r{n}")


def test_a_line_a_request_without_what_is_personal(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text("before\n")
    log = AccessLog(str(path))
    for n in range(1000):
        log.add(request(n), "/v1/recommend", 200 + n % 2, n, 2 * n)
    log.add(Request("EVIL", "/ann", "", {}, "10.0.0.7", "r"), "unmatched", 404, 1, 2)
    log.close()
    first, *lines = path.read_text().splitlines()
    assert first == "before"
    rows = [json.loads(line) for line in lines]
    assert [row["request_id"] for row in rows[:-1]] == [f"r{n}" for n in range(1000)]
    row = rows[7]
    assert row.pop("time").endswith("Z")
    assert row == {
        "request_id": "r7",
        "method": "GET",
        "path": "/v1/recommend",
        "status": 201,
        "took_us": 7,
        "bytes": 14,
        "client": "10.0.0.7",
    }
    for secret in ("ann", "secret", "EVIL"):
        assert secret not in path.read_text()


def test_what_cannot_be_written_in_time_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "_MOST_WAITING", 10)
    monkeypatch.setattr(access_log, "_PAUSE", 60.0)
    log = AccessLog(str(tmp_path / "access.log"))
    for n in range(25):
        log.add(request(n), "/v1/recommend", 200, 1, 2)
    log.close()
    rows = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert len(rows) == 11
    assert rows[-1] == {"dropped": 15}


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot write the access log"):
        AccessLog(str(tmp_path / "no" / "access.log"))


def test_files_of_several_workers_have_their_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write to a mapped hole ends the process when the disk is full."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    monkeypatch.setattr("prometheus_client.values.ValueClass", values.ValueClass)
    Metrics(3).events.inc()
    for path in tmp_path.iterdir():
        assert path.stat().st_blocks * 512 >= path.stat().st_size > 0, path
