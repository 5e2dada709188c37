from __future__ import annotations

import json

import pytest

from xorec.core.errors import OptionError
from xorec.lab.bench.serve import ServeBench

from .conftest import Run
from .test_errors import refused

pytestmark = pytest.mark.process

CONTRACT = {"clients", "requests_per_second", "p50_ms", "p99_ms", "errors", "rss_mb"}
SMALL = ("--items", 500, "--users", 50, "--seconds", 0.4, "--clients", "1,4", "-q")


def test_json_is_one_object_with_flat_rows(run: Run) -> None:
    result = run("bench", "serve", *SMALL, "--what", "mixed", "--rate", 50, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [(row["mode"], row["clients"]) for row in found["rows"]] == [
        ("closed", 1),
        ("closed", 4),
        ("open", 64),
        ("open", 64),
    ]
    for row in found["rows"]:
        assert set(row) >= CONTRACT | {"mode", "what", "cpu_us_per_request", "rate"}
        assert row["errors"] == 0, row
        assert row["requests_per_second"] > 0
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
        assert row["cpu_us_per_request"] > 0
        assert row["rss_mb"] > 20
    best = max(row["requests_per_second"] for row in found["rows"][:2])
    assert [row["rate"] for row in found["rows"][2:]] == [50, pytest.approx(0.5 * best)]


def test_load_stays_on_this_machine(run: Run) -> None:
    refused(run("bench", "serve", "--url", "http://192.0.2.1:80"), "127.0.0.1 only")
    refused(run("bench", "serve", "--what", "everything"), "lists, events or mixed")
    refused(run("bench", "serve", "--clients", "many"), "numbers with commas")
    with pytest.raises(OptionError, match="seconds is 4000"):
        ServeBench(seconds=4000)
