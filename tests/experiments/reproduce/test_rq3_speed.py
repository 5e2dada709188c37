"""RQ3: float ranking against brute force, the clock, wrong answers, and verdicts from rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.core.options import RunOptions
from xorec.core.progress import Task
from xorec.data.interactions import Interactions
from xorec.experiments.bench.check import NotExactError
from xorec.experiments.reproduce import rq3_speed
from xorec.experiments.reproduce.paper import SPEED_UPS
from xorec.experiments.reproduce.rq3_speed import (
    SIZES,
    measure_representations,
    measure_speed,
    section,
)
from xorec.experiments.reproduce.sections import Section, Table
from xorec.experiments.reproduce.speed import sides as speed_sides
from xorec.experiments.reproduce.speed import timing as speed_timing
from xorec.experiments.reproduce.speed.data import NEAREST, SpeedData, drawn, learned
from xorec.experiments.reproduce.speed.floats import (
    WAYS,
    WHOLE,
    FloatRanking,
    Way,
    fastest_way,
    without_bias,
)
from xorec.experiments.reproduce.speed.sides import CODES, FAISS_CODES, FAISS_FLOATS, FLOATS, Side
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors
from xorec.search.hamming.index import HammingIndex

OPTIONS = RunOptions(threads=2)
ODD = (
    Way(3, 7, "a block each"),
    Way(5, WHOLE, "a block each", "argpartition"),
    Way(4, 6, "one block", "argpartition"),
    Way(300, 20, "one block"),
)


@pytest.fixture(scope="module")
def data() -> SpeedData:
    return drawn(300, 83, 20, 12, OPTIONS)


def best_by_hand(data: SpeedData, user: int, k: int) -> list[int]:
    scores = data.item_vectors.astype(np.float64) @ data.user_vectors[user].astype(np.float64)
    scores[seen_by(data, user)] = -np.inf
    return [int(item) for item in np.argsort(-scores)[:k]]


def seen_by(data: SpeedData, user: int) -> list[int]:
    indptr, indices = data.seen
    return [int(item) for item in indices[indptr[user] : indptr[user + 1]]]


@pytest.mark.parametrize("way", [*WAYS, *ODD], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_way_ranks_as_brute_force(data: SpeedData, way: Way, threads: int) -> None:
    ranking = FloatRanking(data.item_vectors, 10, threads, way)
    for _ in range(2):  # memory is used again
        items, scores = ranking.answer(data.user_vectors, data.seen)
        for user in range(data.n_users):
            assert items[user].tolist() == best_by_hand(data, user, 10)
        mean = np.einsum("uki,ui->uk", data.item_vectors[items], data.user_vectors)
        np.testing.assert_allclose(scores, mean, rtol=1e-4, atol=1e-4)


def test_a_block_has_no_more_scores_than_its_memory() -> None:
    assert Way(32, WHOLE, "a block each").items_of(100) == 100
    assert Way(256, 8_192, "one block").items_of(10**7) == 8_192
    for way in WAYS:
        assert way.users * way.items_of(10**7) <= 6 << 20


def test_the_fastest_way_is_taken(data: SpeedData, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, now = FloatRanking.answer, [0.0]

    def slow_but_one(self: FloatRanking, *request: Any) -> Any:
        now[0] += 0.5 if self.way == ODD[2] else 1.0
        return answer(self, *request)

    monkeypatch.setattr(FloatRanking, "answer", slow_but_one)
    monkeypatch.setattr(
        "xorec.experiments.reproduce.speed.floats.time.perf_counter", lambda: now[0]
    )
    found = fastest_way(data.item_vectors, data.user_vectors, data.seen, 10, 1, ODD)
    assert found == ODD[2]


def test_a_bias_is_one_more_dimension() -> None:
    rng = np.random.default_rng(0)
    vectors = Vectors(*(rng.random(shape, dtype=np.float32) for shape in ((4, 3), (6, 3), 6)))
    users, items = without_bias(vectors)
    np.testing.assert_allclose(users @ items.T, vectors.score(vectors.user_vectors), rtol=1e-6)


def test_seen_lists_ascend_and_half_is_near() -> None:
    data = drawn(200, 2_000, 64, 16, RunOptions(seed=3, threads=1))
    index = HammingIndex(data.item_codes, 64, data.tie_rank)
    near = index.search(data.user_codes, NEAREST).items
    for user in range(data.n_users):
        seen = seen_by(data, user)
        assert seen == sorted(set(seen))
        assert len(set(seen) & set(near[user].tolist())) >= 8
        assert 12 < len(seen) <= 16
    again = drawn(200, 2_000, 64, 16, RunOptions(seed=3, threads=2))
    assert np.array_equal(again.seen[1], data.seen[1])


def test_a_list_is_at_most_half_of_the_catalogue() -> None:
    data = drawn(50, 21, 8, 1_000, OPTIONS)
    assert int(np.diff(data.seen[0]).max()) <= 10


def test_rows_of_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_timing, "SHORTEST", 0.001)
    pytest.importorskip("faiss")
    rows = measure_speed(400, 130, 20, 9, 5, OPTIONS, 3, 60.0, part="paper", size="Movies")
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


def test_without_faiss_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_timing, "SHORTEST", 0.001)
    monkeypatch.setattr(rq3_speed, "missing", lambda modules: set(modules))
    rows = measure_speed(60, 40, 12, 4, 3, OPTIONS, 1, 0.2, part="paper", size="Movies")
    assert [row["method"] for row in rows] == [CODES, FLOATS]
    made = section(rows)
    assert "faiss was not installed" in made.paragraphs[0]
    check_columns(made)


def test_learned_models_are_measured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_timing, "SHORTEST", 0.001)
    rng = np.random.default_rng(1)
    seen = Interactions.from_pairs((u, i) for u in range(30) for i in rng.choice(50, 6))
    users, items = rng.standard_normal((30, 8)), rng.standard_normal((seen.n_items, 8))
    codes = Codes.from_signs(users, items)
    bias = rng.standard_normal(seen.n_items).astype(np.float32)
    vectors = Vectors(users.astype(np.float32), items.astype(np.float32), bias)
    rows = measure_representations(codes, vectors, seen, 5, OPTIONS, 1, 0.1, size="amazon-movies")
    assert {(row["bits"], row["dimensions"], row["part"]) for row in rows} == {(8, 9, "data")}
    assert rows[0]["seen"] == seen.n_pairs / 30
    table = section(rows).tables[0]
    assert (table.name, table.rows[0]["paper"]) == ("rq3-data", SPEED_UPS["Movies"])
    fewer = Codes(codes.user_codes, codes.item_codes[:-1], 8)
    with pytest.raises(DataError, match="30 users"):
        learned(fewer, vectors, seen)
    with pytest.raises(OptionError, match="vectors here"):
        learned(vectors, vectors, seen)
    with pytest.raises(OptionError, match="codes here"):
        learned(codes, codes, seen)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"items": 0}, "items"),
        ({"k": 0}, "k is 0"),
        ({"rounds": 0}, "rounds"),
        ({"seen": -1}, "-1"),
    ],
)
def test_bad_settings_are_named(setting: dict[str, int], named: str) -> None:
    usual = {"users": 5, "items": 9, "bits": 4, "seen": 1, "options": OPTIONS}
    with pytest.raises(OptionError, match=named):
        measure_speed(**{**usual, **setting})  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="budget is 0"):
        measure_speed(5, 9, 4, 1, budget=0)
    with pytest.raises(OptionError, match="'Music'"):
        rq3_speed.measure_paper_size("Music", 20, 10, OPTIONS, 1, 1.0)


def swapped(hits: Any) -> Any:
    items = hits.items.copy()
    items[:, [0, 1]] = items[:, [1, 0]]
    return replace(hits, items=items)


def farther(hits: Any) -> Any:
    return replace(hits, distances=hits.distances + 1)


def shorter(hits: Any) -> Any:
    return replace(hits, counts=hits.counts - 1)


@pytest.mark.parametrize("wrong", [swapped, farther, shorter])
def test_wrong_lists_of_codes_raise(
    data: SpeedData, wrong: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong(HammingIndex):
        def search(self, *args: Any, **settings: Any) -> Any:
            return wrong(super().search(*args, **settings))

    speed_sides.codes_side(data, 5, 1)
    monkeypatch.setattr(speed_sides, "HammingIndex", Wrong)
    with pytest.raises(NotExactError, match="xorec is not exact"):
        speed_sides.codes_side(data, 5, 1)


@pytest.mark.parametrize("fault", ["seen", "twice", "worse"])
def test_wrong_lists_of_vectors_raise(
    data: SpeedData, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = FloatRanking.answer

    def wrong(self: FloatRanking, queries: Any, seen: Any) -> Any:
        if fault == "seen":
            seen = np.zeros(len(queries) + 1, np.int64), seen[1][:0]
        items, scores = answer(self, queries, seen)
        if fault == "twice":
            items[:, 1] = items[:, 0]
        if fault == "worse":
            items[-1, -1] = next(i for i in range(83) if i not in items[-1])
        return items, scores

    speed_sides.floats_side(data, 8, 1)
    monkeypatch.setattr(FloatRanking, "answer", wrong)
    with pytest.raises(NotExactError, match="float-blas is not exact"):
        speed_sides.floats_side(data, 8, 1)


def test_faiss_has_the_same_distances_by_padded_codes(data: SpeedData) -> None:
    pytest.importorskip("faiss")
    side = speed_sides.faiss_codes_side(data, 7)
    distances, _ = side.answer(side.queries, data.seen)
    hits = HammingIndex(data.item_codes, 20, data.tie_rank).search(data.user_codes, 7)
    assert side.queries.shape == (300, 4)
    assert distances.tolist() == np.asarray(hits.distances).tolist()
    assert speed_sides.padded_bytes(data.item_codes, 16)[:, 3:].sum() == 0


class Clock:
    """Time that passes only when a side works: so many seconds for each user."""

    def __init__(self) -> None:
        self.now, self.asked = 0.0, list[int]()

    def side(self, method: str, queries: Any, each: float, how: str = "") -> Side:
        def answer(queries: Any, seen: Any) -> None:
            assert len(seen[0]) == len(queries) + 1
            self.now += each * len(queries)
            self.asked.append(len(queries))

        return Side(method, queries, answer, 1, how)

    def __call__(self) -> float:
        return self.now


def test_a_slow_side_answers_for_some_and_is_scaled_up() -> None:
    data, clock = drawn(1_000, 30, 8, 3, OPTIONS), Clock()
    sides = [
        clock.side(CODES, data.user_codes, 0.001),
        clock.side(FLOATS, data.user_vectors, 0.01),
        clock.side("slowest", data.user_vectors, 1.0),
    ]
    turns = speed_timing.measure(sides, data, 4, 2.0, Task(), clock)
    assert [one.users for one in turns] == [1_000, 200, speed_timing.FEWEST]
    codes, floats, slowest = speed_timing.rows_of(turns, data, 2, {"size": "x"})
    assert codes["seconds"] == pytest.approx(1.0)
    assert floats["seconds"] == pytest.approx(10.0)
    assert slowest["seconds"] == pytest.approx(1_000.0)
    assert (floats["users"], floats["users_measured"], floats["rounds"]) == (1_000, 200, 4)
    ratios = [row["ratio_to"] for row in (codes, floats, slowest)]
    assert ratios == pytest.approx([10.0, 1.0, 0.01])
    assert codes["spread"] == pytest.approx(0.0, abs=1e-9)
    assert max(clock.asked) == 1_000


def test_those_who_are_measured_are_spread_over_all(data: SpeedData) -> None:
    assert data.spread(3).tolist() == [0, 100, 200]
    assert data.spread(300).tolist() == list(range(300))
    users = data.spread(7)
    indptr, indices = data.seen_of(users)
    for row, user in enumerate(users):
        assert indices[indptr[row] : indptr[row + 1]].tolist() == seen_by(data, user)


def test_a_short_call_is_repeated() -> None:
    clock = Clock()

    def work() -> None:
        clock.now += 0.02
        clock.asked.append(1)

    assert speed_timing.seconds_of(work, clock) == pytest.approx(0.02)
    assert len(clock.asked) == 3


def test_half_of_what_lies_between_the_quartiles() -> None:
    assert speed_timing.half_spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == 1.0


def planted(
    size: str, bits: int, us: dict[str, float], part: str = "paper", items: int = 1_000
) -> list[dict[str, Any]]:
    """Rows as `rows_of` makes them, of these times."""
    same = {"part": part, "size": size, "users": 100, "items": items, "bits": bits, "k": 10}
    more = {"dimensions": bits, "seen": 5.0, "threads": 2, "rounds": 3, "build_seconds": 0.5}
    return [
        {
            **same,
            **more,
            "method": method,
            "seconds": each / 1e4,
            "spread": 0.001,
            "us_per_user": each,
            "users_measured": 100,
            "ratio_to": us[FLOATS] / each,
            "ratio_spread": 0.25,
            "bytes": items * (4 * bits if "float" in method else 24),
            "code_bytes": items * -(-bits // 8),
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
    assert (ours.own, list(ours.x), list(ours.y)) == (True, ["Movies", "Books"], [8.0, 8.0])
    assert (paper.paper, list(paper.y)) == (True, [7.84, 17.73])
    codes = times.panels[0].lines[0]
    assert (codes.own, list(codes.x), list(codes.y)) == (True, [1_000, 2_000], [10.0, 100.0])
    assert len(times.panels[0].lines) == 4
    assert list(room.panels[0].lines[0].y) == [0.003, 0.006]


def test_no_rows_are_no_tables() -> None:
    made = section([])
    assert (list(made.tables), list(made.figures), list(made.paragraphs)) == ([], [], [])
    assert {claim.verdict for claim in made.claims} == {"not tested"}


def test_the_sizes_are_those_of_the_papers_figures() -> None:
    assert list(SIZES) == list(SPEED_UPS)
    assert (SIZES["Movies"].users, SIZES["Movies"].items) == (18_128, 11_252)
    assert (SIZES["Books"].users, SIZES["Books"].items) == (603_374, 348_957)
