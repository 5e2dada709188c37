"""RQ3: its steps, and tables, figures and verdicts from rows."""

from __future__ import annotations

from typing import Any

import pytest

from xorec.core.options import RunOptions
from xorec.lab.bench import everybody, query_times
from xorec.lab.bench.everybody import (
    CODES,
    FAISS_CODES,
    FAISS_FLOATS,
    FLOATS,
    Size,
    drawn_data,
    measure_lists,
)
from xorec.lab.reproduce import rq3_speed
from xorec.lab.reproduce.paper import SPEED_UPS
from xorec.lab.reproduce.question import Run
from xorec.lab.reproduce.rq3_section import section
from xorec.lab.reproduce.rq3_speed import SIZES, Speed
from xorec.lab.reproduce.sections import Section, Table

from .conftest import MakeDataset

OPTIONS = RunOptions(threads=2)


def test_every_size_is_measured_once_and_the_data_set_as_well(
    make_dataset: MakeDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rq3_speed, "SIZES", {"Movies": Size(50, 300, 5)})
    small = {"speed_bits": (16,), "speed_items": (200,), "speed_rounds": 1, "speed_budget": 0.2}
    dataset = make_dataset(**small)
    speed = Speed(Run(dataset.plan, [dataset], dataset.cache, dataset.options))
    steps = list(speed.steps())
    assert [step.label for step in steps] == [
        "speed: Movies, 16 bits",
        "speed: 200 items, 16 bits",
        "speed: planted, 16 bits",
    ]
    for step in steps:
        assert not step.done()
        assert "us a user" in step.run()
        assert step.done()
    made = speed.section()
    rows = {table.name: table.rows for table in made.tables}
    assert [row["size"] for row in rows["rq3-sizes"]] == ["Movies"]
    assert [(row["size"], row["items"]) for row in rows["rq3-data"]] == [("planted", 80)]
    assert [row["items"] for row in rows["rq3-catalogue"]] == [200]
    assert rows["rq3-sizes"][0]["paper"] == 7.84


def test_without_faiss_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_times, "SHORTEST", 0.001)
    monkeypatch.setattr(everybody, "missing_modules", set)
    data = drawn_data(Size(60, 40, 4), 12, OPTIONS)
    rows = measure_lists(*data, "paper", "Movies", k=3, rounds=1, budget=0.2, options=OPTIONS)
    assert [row["method"] for row in rows] == [CODES, FLOATS]
    made = section(rows)
    assert "faiss was not installed" in made.paragraphs[0]
    check_columns(made)


def planted(
    size: str, bits: int, us: dict[str, float], part: str = "paper", items: int = 1_000
) -> list[dict[str, Any]]:
    """Rows as `rows_of` makes them, of these times."""
    same = {"part": part, "size": size, "users": 100, "items": items, "bits": bits, "k": 10}
    same |= {"dimensions": bits, "seen": 5.0, "threads": 2, "rounds": 3, "build_seconds": 0.5}
    same |= {"spread": 0.001, "users_measured": 100, "ratio_spread": 0.25}
    same["code_bytes"] = items * -(-bits // 8)
    return [
        {
            **same,
            "method": method,
            "seconds": each / 1e4,
            "us_per_user": each,
            "ratio_to": us[FLOATS] / each,
            "bytes": items * (4 * bits if "float" in method else 24),
            "how": f"the way of {method}",
        }
        for method, each in us.items()
    ]


def check_columns(made: Section) -> None:
    """Every column is in every row; those of the clock are marked."""
    for table in made.tables:
        for column in table.columns:
            assert all(column.key in row for row in table.rows), column.key
            timed = column.key.partition("_")[0] in ("seconds", "us", "ratio", "build")
            assert (column.kind == "time") == timed, column.key


def table_of(made: Section, name: str) -> Table:
    return next(table for table in made.tables if table.name == name)


def test_verdicts_follow_the_rows() -> None:
    rows = [
        *planted("MovieLens", 64, {CODES: 50.0, FLOATS: 100.0}),
        *planted("MovieLens", 20, {CODES: 20.0, FLOATS: 100.0}),  # 5.0 >= 4.46
        *planted("Movies", 20, {CODES: 20.0, FLOATS: 100.0}),  # 1 < 5.0 < 7.84
        *planted("Yelp", 20, {CODES: 100.0, FLOATS: 50.0}),  # 0.5
    ]
    made = section(rows)
    claims = {claim.text.rpartition(" ")[2]: claim for claim in made.claims}
    assert {name: claim.verdict for name, claim in claims.items()} == {
        "MovieLens": "holds",
        "Movies": "holds in part",
        "Yelp": "does not hold",
        "Books": "not tested",
    }
    assert all(claim.timed for claim in made.claims)
    evidence = claims["MovieLens"].evidence
    assert evidence.startswith("20 bits: 5.00 times")
    assert "64 bits: 2.00 times" in evidence
    assert "the way of float-blas" in evidence
    assert section(rows, {"Movies": 5.0}).claims[0].verdict == "holds"


def test_tables_and_figures_follow_the_rows() -> None:
    us = {CODES: 10.0, FLOATS: 80.0, FAISS_CODES: 30.0, FAISS_FLOATS: 160.0}
    grown = {method: 10 * each for method, each in us.items()}
    rows = [
        *planted("Movies", 20, us),
        *planted("Books", 20, us),
        *planted("2,000 items", 20, grown, "catalogue", 2_000),
        *planted("1,000 items", 20, us, "catalogue"),
    ]
    made = section(rows)
    check_columns(made)
    sizes = table_of(made, "rq3-sizes")
    assert [(row["size"], row["ratio"], row["paper"]) for row in sizes.rows] == [
        ("Movies", 8.0, 7.84),
        ("Books", 8.0, 17.73),
    ]
    assert sizes.rows[0][f"ratio_{FAISS_CODES}"] == pytest.approx(3.0)
    assert sizes.rows[0][f"ratio_{FAISS_FLOATS}"] == pytest.approx(16.0)
    memory = table_of(made, "rq3-memory").rows[-1]
    assert (memory["saved_codes"], memory["saved_index"]) == (80 / 3, 80 / 24)
    ratios, times, room = made.figures
    assert (ratios.timed, times.timed, room.timed) == (True, True, False)
    ours, paper = ratios.panels[0].lines
    assert (ours.highlight, list(ours.x), list(ours.y)) == (True, ["Movies", "Books"], [8.0, 8.0])
    assert (paper.paper, list(paper.y)) == (True, [7.84, 17.73])
    codes = times.panels[0].lines[0]
    assert (codes.highlight, list(codes.x), list(codes.y)) == (True, [1_000, 2_000], [10.0, 100.0])
    assert len(times.panels[0].lines) == 4
    assert list(room.panels[0].lines[0].y) == [0.003, 0.006]


def test_no_rows_are_no_tables_and_a_data_set_of_the_paper_has_its_figure() -> None:
    made = section([])
    assert (list(made.tables), list(made.figures), list(made.paragraphs)) == ([], [], [])
    assert {claim.verdict for claim in made.claims} == {"not tested"}
    assert list(SIZES) == list(SPEED_UPS)
    rows = planted("amazon-movies", 20, {CODES: 10.0, FLOATS: 80.0}, "data")
    table = section(rows).tables[0]
    assert (table.name, table.rows[0]["paper"]) == ("rq3-data", SPEED_UPS["Movies"])
