"""Lists for everybody, as rq3 measures them: the data, the clock, wrong answers."""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.lab.bench import methods, query_times
from xorec.lab.bench.data import learned_data
from xorec.lab.bench.everybody import (
    CODES,
    FAISS_CODES,
    FAISS_FLOATS,
    FLOATS,
    METHODS,
    Size,
    drawn_data,
    measure_lists,
    rows_of,
)
from xorec.lab.bench.float_ranking import FloatRanking
from xorec.lab.bench.methods import Method, Setup
from xorec.lab.bench.query_times import Harness, NotExactError, Timings
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors
from xorec.search.hamming.index import HammingIndex

from .conftest import Drawn

OPTIONS = RunOptions(threads=2)


def test_rows_of_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_times, "SHORTEST", 0.001)
    pytest.importorskip("faiss")
    drawn = drawn_data(Size(400, 130, 9), 20, OPTIONS)
    rows = measure_lists(*drawn, "paper", "Movies", k=5, rounds=3, budget=60.0, options=OPTIONS)
    assert [row["method"] for row in rows] == [CODES, FLOATS, FAISS_CODES, FAISS_FLOATS]
    assert json.loads(json.dumps(rows)) == rows
    floats = rows[1]
    for row in rows:
        assert row.items() >= {"size": "Movies", "part": "paper", "k": 5, "threads": 2}.items()
        assert (row["users"], row["items"], row["bits"]) == (400, 130, 20)
        assert row["users_measured"] == 400
        assert row["seconds"] == pytest.approx(row["us_per_user"] * 400 / 1e6)
        assert row["ratio_to"] == pytest.approx(floats["us_per_user"] / row["us_per_user"])
        assert row["code_bytes"] == 130 * 3
    assert floats["ratio_to"] == 1
    assert [row["bytes"] for row in rows[1:]] == [130 * 20 * 4, 130 * 4, 130 * 20 * 4]
    assert rows[0]["bytes"] > 130 * 8


def test_learned_models_are_measured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_times, "SHORTEST", 0.001)
    rng = np.random.default_rng(1)
    seen = Interactions.from_pairs((u, i) for u in range(30) for i in rng.choice(50, 6))
    users, items = rng.standard_normal((30, 8)), rng.standard_normal((seen.n_items, 8))
    codes = Codes.from_signs(users, items)
    bias = rng.standard_normal(seen.n_items).astype(np.float32)
    vectors = Vectors(users.astype(np.float32), items.astype(np.float32), bias)
    data = learned_data(codes, vectors, seen)
    rows = measure_lists(*data, "data", "amazon-movies", k=5, rounds=1, budget=0.1, options=OPTIONS)
    assert {(row["bits"], row["dimensions"], row["part"]) for row in rows} == {(8, 9, "data")}
    assert rows[0]["seen"] == seen.n_pairs / 30
    fewer = Codes(codes.user_codes, codes.item_codes[:-1], 8)
    with pytest.raises(DataError, match="30 users"):
        learned_data(fewer, vectors, seen)
    with pytest.raises(OptionError, match="vectors here"):
        learned_data(vectors, vectors, seen)
    with pytest.raises(OptionError, match="codes here"):
        learned_data(codes, codes, seen)


def test_bad_settings_are_named(drawn: Drawn) -> None:
    for setting, named in (("k", "k is 0"), ("rounds", "rounds"), ("budget", "budget is 0")):
        with pytest.raises(OptionError, match=named):
            measure_lists(*drawn, "", "", **cast(Any, {setting: 0}))
    wrong = {
        "items": (5, 0, 1, 4),
        "users": (0, 9, 1, 4),
        "bits": (5, 9, 1, 0),
        "-1": (5, 9, -1, 4),
    }
    for named, (*size, bits) in wrong.items():
        with pytest.raises(OptionError, match=named):
            drawn_data(Size(*size), bits, OPTIONS)


def run_once(drawn: Drawn, k: int) -> list[dict[str, Any]]:
    how: Any = {"rounds": 1, "budget": 0.001, "options": RunOptions(threads=1)}
    return measure_lists(*drawn, "paper", "Movies", k=k, **how)


@pytest.mark.parametrize("fault", ["seen", "twice", "worse"])
def test_wrong_lists_of_vectors_raise(
    drawn: Drawn, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = FloatRanking.search

    def wrong(self: FloatRanking, queries: Any, seen: Any) -> Any:
        items, scores = search(self, queries, None if fault == "seen" else seen)
        if fault == "twice":
            items[:, 1] = items[:, 0]
        if fault == "worse":
            items[-1, -1] = next(i for i in range(83) if i not in items[-1])
        return items, scores

    run_once(drawn, 8)
    monkeypatch.setattr(FloatRanking, "search", wrong)
    with pytest.raises(NotExactError, match=r"^float-blas, batch, 12 seen is not exact"):
        run_once(drawn, 8)


def test_faiss_has_the_same_distances_by_padded_codes(drawn: Drawn) -> None:
    pytest.importorskip("faiss")
    data, seen = drawn
    method = METHODS[FAISS_CODES](Setup(FAISS_CODES, data, 7, 1, seen))
    _, distances, _ = method.search(method.queries, seen)
    hits = HammingIndex(data.item_codes, 20, data.tie_rank).search(data.query_codes, 7)
    assert method.queries.shape == (300, 4)
    assert distances.tolist() == np.asarray(hits.distances).tolist()
    assert methods.code_bytes(data.item_codes, 16)[:, 3:].sum() == 0


class Clock:
    """Time that passes only when a method works: so many seconds for each user."""

    def __init__(self) -> None:
        self.now, self.asked = 0.0, list[int]()

    def timings(self, name: str, drawn: Drawn, each: float) -> Timings:
        def search(queries: Any, exclude: Any) -> Any:
            assert len(exclude[0]) == len(queries) + 1
            self.now += each * len(queries)
            self.asked.append(len(queries))

        data, seen = drawn
        return Timings(Method(name, data.query_codes, search, 1), "batch", seen)

    def __call__(self) -> float:
        return self.now


def test_a_slow_method_answers_for_some_and_is_scaled_up() -> None:
    drawn, clock = drawn_data(Size(1_000, 30, 3), 8, OPTIONS), Clock()
    timings = [
        clock.timings(CODES, drawn, 0.001),
        clock.timings(FLOATS, drawn, 0.01),
        clock.timings("slowest", drawn, 1.0),
    ]
    assert drawn[0].spread(3).tolist() == [0, 333, 666]
    Harness(rounds=4, budget=2.0, clock=clock).time(timings)
    assert [one.queries for one in timings] == [1_000, 200, query_times.FEWEST["batch"]]
    codes, floats, slowest = rows_of(timings, drawn[0], {"size": "x"})
    assert codes["seconds"] == pytest.approx(1.0)
    assert floats["seconds"] == pytest.approx(10.0)
    assert slowest["seconds"] == pytest.approx(1_000.0)
    assert (floats["users"], floats["users_measured"], floats["rounds"]) == (1_000, 200, 4)
    ratios = [row["ratio_to"] for row in (codes, floats, slowest)]
    assert ratios == pytest.approx([10.0, 1.0, 0.01])
    assert codes["spread"] == pytest.approx(0.0, abs=1e-9)
    assert max(clock.asked) == 1_000


def test_a_short_call_is_repeated() -> None:
    clock = Clock()

    def search(queries: Any, exclude: Any) -> Any:
        clock.now += 0.02
        clock.asked.append(1)

    one = Timings(Method("x", np.zeros((3, 1)), search, 1), "batch")
    assert one.time_queries(3, query_times.SHORTEST, clock).seconds == pytest.approx(0.02)
    assert len(clock.asked) == 3
