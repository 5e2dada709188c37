from __future__ import annotations

import json
from pathlib import Path

import pytest

from xorec.core.errors import OptionError
from xorec.service import logs as access_log
from xorec.service.http.exchange import Request
from xorec.service.logs import AccessLog


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
    monkeypatch.setattr(access_log, "MOST", 10)
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
