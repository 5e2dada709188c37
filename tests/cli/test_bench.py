from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.lab.bench import methods as hamming_methods

from .conftest import Run
from .test_errors import refused

QUICK = ("--queries", 10, "--repeats", 2, "--budget", 0.01, "--seen", 30)
OURS = ("--methods", "xorec,xorec-scan,xorec-mih,float-xorec")


def test_json_is_one_object_with_flat_rows(run: Run) -> None:
    words = ("--items", 2000, "--bits", 32, "--k", 5, *QUICK, *OURS, "--json", "-q")
    result = run("bench", "search", *words)
    assert result.exit_code == 0, result.output
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


def test_equal_seeds_search_equal_data(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = hamming_methods.hamming_index

    def remember(data: Any, kind: Any, threads: int) -> Any:
        made.append(data.item_codes)
        return original(data, kind, threads)

    monkeypatch.setattr(hamming_methods, "hamming_index", remember)
    for seed in (1, 1, 2):
        words = ("--items", 300, *QUICK, "--methods", "xorec", "--seed", seed, "-q")
        assert run("bench", "search", *words).exit_code == 0
    first, again, other = made[2::3]
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_table_fits_80_columns_and_notes_go_to_stderr(run: Run) -> None:
    result = run("bench", "search", "--items", 1500, *QUICK, *OURS, "--codes", "uniform")
    assert result.exit_code == 0, result.output
    assert "1,500 items x 64 bits, uniform codes, k = 10, 1 thread" in result.stdout
    assert "equals brute force on 10 queries" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "xorec-mih built in" in result.stderr


def test_a_wrong_index_fails_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    original = hamming_methods.hamming_index

    def wrong(data: Any, kind: Any, threads: int) -> Any:
        other = np.roll(data.tie_rank, 1)
        return original(data.__class__(**{**vars(data), "tie_rank": other}), kind, threads)

    monkeypatch.setattr(hamming_methods, "hamming_index", wrong)
    words = ("--items", 2000, "--bits", 8, *QUICK, "--methods", "xorec", "-q")
    result = run("bench", "search", *words)
    refused(result, "xorec, single is not exact", "brute force")
    assert result.stdout == ""


def test_plot_of_two_sizes(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "times.svg"
    words = ("--sizes", "200,1000", *QUICK, *OURS, "--plot", path, "-q", "--json")
    result = run("bench", "search", *words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["data"]["items"] == [200, 1000]
    picture = path.read_text()
    assert picture.startswith("<?xml")
    assert "</svg>" in picture


def test_bad_settings_are_refused_before_anything_runs(run: Run, model: Path) -> None:
    refused(run("bench", "search", "--items", 0), "items is 0")
    refused(run("bench", "search", "--bits", 2000), "bits is 2000")
    refused(run("bench", "search", "--sizes", "10,x"), "--sizes is '10,x'")
    refused(run("bench", "search", "--methods", "faiss"), "'faiss'", "faiss-binary-flat")
    refused(run("bench", "search", "--codes", "gaussian", "--items", 9), "'gaussian'", "low-rank")
    refused(run("bench", "search", "--codes", model), "not codes", "dsiml")
    refused(run("bench", "search", "--plot", "a.pdf"), "a.pdf", ".svg")


def test_codes_of_a_model_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    """More sizes than the file has items end with the file."""
    path = tmp_path / "codes.xorec"
    words = ("--model", "dsiml", "--bits", 16, "--epochs", 1, "-o", path, "-q")
    assert run("fit", ratings, *words).exit_code == 0
    sizes = ("--codes", path, "--sizes", "40,500,900")
    result = run("bench", "search", *sizes, *QUICK, *OURS, "--json", "-q")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["data"]["items"] == [40, 80]
    assert {(row["codes"], row["bits"]) for row in found["rows"]} == {("codes.xorec", 16)}
    assert {row["seen"] for row in found["rows"]} == {0, 20, 30}


@pytest.mark.process
def test_training_is_a_row_a_method(run: Run, ratings: Path) -> None:
    words = ("--data", ratings, "--dimensions", 8, "--rounds", 1, "--threads", 1)
    ours = ("--methods", "xorec-bpr,xorec-siml")
    result = run("bench", "train", *words, *ours, "--json", "-q")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["data"]["pairs"] == 120 * 15
    assert [(row["method"], row["negatives"]) for row in found["rows"]] == [
        ("xorec-bpr", 1),
        ("xorec-siml", 20),
    ]
    for row in found["rows"]:
        triplets = row["negatives"] * 120 * 15
        assert row["triplets_per_second"] == pytest.approx(triplets / row["seconds_per_epoch"])
        assert 20 < row["peak_mb"] < 4_000
    table = run("bench", "train", *words, "--methods", "xorec-bpr", "-q")
    assert table.exit_code == 0, table.output
    assert "x peer" in table.stdout
    assert max(map(len, table.stdout.splitlines())) <= 80


def test_a_training_method_that_is_not_known_is_named(run: Run) -> None:
    refused(run("bench", "train", "--methods", "xorec-bpt"), "xorec-bpt", "xorec-bpr")
    refused(run("bench", "train", "--rounds", 0), "rounds")
