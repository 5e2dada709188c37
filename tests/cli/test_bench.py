from __future__ import annotations

import json
from pathlib import Path

import pytest

from xorec.core.errors import OptionError
from xorec.lab import machine_constants
from xorec.lab.bench.serve import ServeBench
from xorec.selection.plan.constants import this_machine

from .conftest import Run, refused, width_of

QUICK = ("--queries", 10, "--repeats", 2, "--budget", 0.01, "--seen", 30)
OURS = ("--methods", "xorec,xorec-scan,xorec-mih,float-xorec")


def test_json_is_one_object_with_flat_rows(run: Run) -> None:
    words = ("--items", 2000, "--bits", 32, "--k", 5, *QUICK, *OURS, "--json", "-q")
    result = run.ok("bench", "search", *words)
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert set(found) == {"data", "rows"}
    assert found["data"]["items"] == [2000]
    for row in found["rows"]:
        assert (row["items"], row["bits"], row["k"], row["recall"]) == (2000, 32, 5, 1.0)
        assert row["mode"] in ("single", "batch")
        assert row["seen"] in (0, 30)
        assert not any(isinstance(value, dict | list) for value in row.values())
    assert len(found["rows"]) == 3 * 2 * 2 + 2


def test_table_fits_80_columns_and_notes_go_to_stderr(run: Run) -> None:
    result = run.ok("bench", "search", "--items", 1500, *QUICK, *OURS, "--codes", "uniform")
    assert "1,500 items x 64 bits, uniform codes, k = 10, 1 thread" in result.stdout
    assert "equals brute force on 10 queries" in result.stdout
    assert width_of(result.stdout) <= 80
    assert "xorec-mih built in" in result.stderr


def test_plot_of_two_sizes(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "times.svg"
    found = run.json("bench", "search", "--sizes", "200,1000", *QUICK, *OURS, "--plot", path)
    assert found["data"]["items"] == [200, 1000]
    picture = path.read_text()
    assert picture.startswith("<?xml")
    assert "</svg>" in picture


def test_bad_settings_are_refused_before_anything_runs(run: Run, model: Path) -> None:
    for words, says in (
        (("--items", 0), ["items is 0"]),
        (("--bits", 2000), ["bits is 2000"]),
        (("--sizes", "10,x"), ["--sizes is '10,x'"]),
        (("--methods", "faiss"), ["'faiss'", "faiss-binary-flat"]),
        (("--codes", "gaussian", "--items", 9), ["'gaussian'", "low-rank"]),
        (("--codes", model), ["not codes", "dsiml"]),
        (("--plot", "a.pdf"), ["a.pdf", ".svg"]),
    ):
        refused(run("bench", "search", *words), *says)
    refused(run("bench", "train", "--methods", "xorec-bpt"), "xorec-bpt", "xorec-bpr")
    refused(run("bench", "train", "--rounds", 0), "rounds")
    refused(run("bench", "serve", "--url", "http://192.0.2.1:80"), "127.0.0.1 only")
    refused(run("bench", "serve", "--what", "everything"), "lists, events or mixed")
    refused(run("bench", "serve", "--clients", "many"), "numbers with commas")
    with pytest.raises(OptionError, match="seconds is 4000"):
        ServeBench(seconds=4000)


def test_codes_of_a_model_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    """More sizes than the file has items end with the file."""
    path = tmp_path / "codes.xorec"
    run.ok("fit", ratings, "--model", "dsiml", "--bits", 16, "--epochs", 1, "-o", path, "-q")
    sizes = ("--codes", path, "--sizes", "40,500,900")
    found = run.json("bench", "search", *sizes, *QUICK, *OURS)
    assert found["data"]["items"] == [40, 80]
    assert {(row["codes"], row["bits"]) for row in found["rows"]} == {("codes.xorec", 16)}
    assert {row["seen"] for row in found["rows"]} == {0, 20, 30}


@pytest.mark.process
def test_training_is_a_row_a_method(run: Run, ratings: Path) -> None:
    words = ("--data", ratings, "--dimensions", 8, "--rounds", 1, "--threads", 1)
    found = run.json("bench", "train", *words, "--methods", "xorec-bpr,xorec-siml")
    assert found["data"]["pairs"] == 120 * 15
    methods = [(row["method"], row["negatives"]) for row in found["rows"]]
    assert methods == [("xorec-bpr", 1), ("xorec-siml", 20)]
    for row in found["rows"]:
        triplets = row["negatives"] * 120 * 15
        assert row["triplets_per_second"] == pytest.approx(triplets / row["seconds_per_epoch"])
        assert 20 < row["peak_mb"] < 4_000
    table = run.ok("bench", "train", *words, "--methods", "xorec-bpr", "-q").stdout
    assert "x peer" in table
    assert width_of(table) <= 80


def test_what_was_measured_is_kept_for_plans(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(
        machine_constants, "measure", lambda progress, spark: {"ns_flop": 0.5 + spark}
    )
    told = run.json("bench", "engine", "--no-spark")
    assert told["rows"] == [{"constant": "ns_flop", "value": 0.5}]
    assert Path(told["kept"]).is_relative_to(tmp_path)
    machine = this_machine()
    assert (machine.measured, machine.note, machine.constants.ns_flop) == (True, "", 0.5)
    assert "ns_flop" in run("bench", "engine").stdout
    assert this_machine().constants.ns_flop == 1.5


CONTRACT = {"clients", "requests_per_second", "p50_ms", "p99_ms", "errors", "rss_mb"}
SMALL = ("--items", 500, "--users", 50, "--seconds", 0.4, "--clients", "1,4", "-q")


@pytest.mark.process
def test_load_is_a_row_a_run(run: Run) -> None:
    rows = run.json("bench", "serve", *SMALL, "--what", "mixed", "--rate", 50)["rows"]
    modes = [(row["mode"], row["clients"]) for row in rows]
    assert modes == [("closed", 1), ("closed", 4), ("open", 64), ("open", 64)]
    for row in rows:
        assert set(row) >= CONTRACT | {"mode", "what", "cpu_us_per_request", "rate"}
        assert row["errors"] == 0, row
        assert row["requests_per_second"] > 0
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
        assert row["cpu_us_per_request"] > 0
        assert row["rss_mb"] > 20
    best = max(row["requests_per_second"] for row in rows[:2])
    assert [row["rate"] for row in rows[2:]] == [50, pytest.approx(0.5 * best)]
