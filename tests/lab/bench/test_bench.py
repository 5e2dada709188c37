"""The parts of `xorec bench search`, on an index of its own: brute force, right or wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.bits import pack_signs
from xorec.core.errors import MissingExtraError, OptionError
from xorec.lab.bench import methods
from xorec.lab.bench.data import draw_seen, lists_of, make_data, part_of, seen_lists
from xorec.lab.bench.float_ranking import BY_KERNEL, BY_NUMPY
from xorec.lab.bench.harness import Turn
from xorec.lab.bench.methods import (
    METHODS,
    Method,
    Setup,
    by_blas,
    hamming_index,
    missing_modules,
)
from xorec.lab.bench.query_times import (
    NotExactError,
    Timings,
    float_recall,
    hamming_distances,
    hamming_recall,
    oracle,
)
from xorec.lab.bench.search import (
    MODES,
    SearchBench,
    check_plot,
    rows_of,
    series,
    with_speedups,
)
from xorec.lab.bench.serve_requests import drawn_recommender
from xorec.representations.codes import Codes
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Hits
from xorec.testing.indexes import best, hamming

Wrong = Callable[[Hits, Any], Hits]


def patch_index(monkeypatch: pytest.MonkeyPatch, wrong: Wrong) -> None:
    """Measure an index whose hits `wrong` spoils: (hits, exclude) -> hits."""

    class Spoiled(HammingIndex):
        def search(self, *words: Any, **named: Any) -> Hits:
            return wrong(super().search(*words, **named), named.get("exclude"))

    monkeypatch.setattr(methods, "HammingIndex", Spoiled)


def small(**settings: Any) -> SearchBench:
    usual = {"sizes": (600,), "queries": 12, "repeats": 2, "budget": 0.01, "seen": 20}
    return SearchBench(**{**usual, "methods": ("xorec", "float-numpy", "float-xorec"), **settings})


@pytest.mark.parametrize("codes", ["low-rank", "uniform"])
def test_data_depend_on_the_seed_alone(codes: str) -> None:
    one, same = (make_data(codes, 1500, 20, 30, seed=3) for _ in range(2))
    for name in ("item_codes", "query_codes", "tie_rank", "item_vectors", "query_vectors"):
        assert np.array_equal(getattr(one, name), getattr(same, name)), name
    without = make_data(codes, 1500, 20, 30, seed=3, vectors=False)
    assert without.item_vectors is None
    assert np.array_equal(without.item_codes, one.item_codes)
    other = make_data(codes, 1500, 20, 30, seed=4)
    assert not np.array_equal(other.item_codes, one.item_codes)
    assert sorted(one.tie_rank) == list(range(1500))


def test_codes_are_the_signs_of_the_vectors() -> None:
    data = make_data("low-rank", 900, 70, 10, seed=0)
    assert data.item_vectors is not None
    assert np.array_equal(pack_signs(data.item_vectors), data.item_codes)
    assert data.item_codes.shape == (900, 2)


def test_low_rank_queries_have_nearer_items_than_uniform_ones() -> None:
    kth = {}
    for codes in ("low-rank", "uniform"):
        data = make_data(codes, 2000, 64, 20, seed=0)
        kth[codes] = np.mean([found[1][-1] for found in oracle(data, 10, np.arange(20))])
    assert kth["low-rank"] < kth["uniform"] - 4


def test_a_model_file_gives_its_users_items_and_ties(tmp_path: Path) -> None:
    path = tmp_path / "m.xorec"
    model = drawn_recommender(90, 40, 24)
    model.save(path)
    assert isinstance(model.representation, Codes)
    data = make_data(str(path), 1_000_000, None, 1000, seed=0)
    assert (data.n_items, data.n_queries, data.bits) == (90, 40, 24)
    assert np.array_equal(data.item_codes, model.representation.item_codes)
    assert np.array_equal(data.tie_rank, model.tie_rank)
    known = set(model.representation.user_codes[:, 0].tolist())
    assert set(data.query_codes[:, 0].tolist()) == known
    assert data.item_vectors is not None
    assert np.array_equal(pack_signs(data.item_vectors), data.item_codes)
    part = make_data(str(path), 50, 24, 8, seed=0)
    assert (part.n_items, part.n_queries) == (50, 8)
    assert np.array_equal(np.argsort(part.tie_rank), np.argsort(model.tie_rank[:50]))
    with pytest.raises(OptionError, match="bits is 32"):
        make_data(str(path), 50, 32, 8, seed=0)


def test_seen_lists_are_distinct_ascending_and_half_near() -> None:
    near = np.arange(30 * 200, dtype=np.int32).reshape(30, 200)
    lists = seen_lists(near, 100_000, 40, np.random.default_rng(1))
    assert lists.shape == (30, 40)
    assert np.all(np.diff(lists) > 0)
    assert all(20 <= np.isin(*rows).sum() <= 23 for rows in zip(lists, near, strict=True))
    indptr, indices = np.arange(31) * 40, lists.reshape(-1)
    cut = part_of((indptr, indices), 4, 6)
    assert cut[0].tolist() == [0, 40, 80]
    assert np.array_equal(cut[1], indices[160:240])
    some = lists_of((indptr, indices), np.array([7, 4]))
    assert some[0].tolist() == [0, 40, 80]
    assert np.array_equal(some[1], np.concatenate([lists[7], lists[4]]))


def some_lists(queries: int, near: int, items: int, length: int) -> Any:
    nearest = np.tile(np.arange(near, dtype=np.int32), (queries, 1))
    lists = seen_lists(nearest, items, length, np.random.default_rng(0))
    return np.arange(queries + 1) * length, lists.reshape(-1)


def test_seen_lists_of_many_queries_depend_on_the_seed_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("xorec.lab.bench.data.LISTS_AT_ONCE", 7)
    data = make_data("uniform", 60, 16, 20, seed=0)
    index = hamming_index(data, "auto", 1)
    one, same = (draw_seen(data, index, 12, 30, 5, 1) for _ in range(2))
    assert np.array_equal(one[1], same[1])
    assert one[0].tolist() == [12 * row for row in range(21)]
    indptr, half = draw_seen(data, index, 1_000, 30, 5, 1)
    assert indptr[1] == 30  # of 60 items
    assert all(len(set(row)) == 30 for row in half.reshape(20, 30).tolist())


def test_oracle_agrees_with_sorting_everything() -> None:
    data = make_data("uniform", 500, 12, 8, seed=0)
    exclude = some_lists(8, 100, 500, 30)
    everything = (np.arange(9) * 500, np.tile(np.arange(500), 8))
    for hidden in (None, exclude, everything):
        for row, (items, distances) in enumerate(oracle(data, 25, np.arange(8), hidden)):
            away = hamming(data.item_codes, data.query_codes[row])
            seen = set() if hidden is None else set(hidden[1][hidden[0][row] : hidden[0][row + 1]])
            assert (items.tolist(), distances.tolist()) == best(away, data.tie_rank, 25, seen)


def test_rows_follow_the_contract() -> None:
    result = small().run()
    names = {"method", "mode", "items", "bits", "k", "us_per_query", "recall", "spread", "codes"}
    names |= {"cpu_us_per_query", "seen", "bytes_per_item", "build_seconds"}
    for row in result["rows"]:
        assert names <= set(row)
        assert row["recall"] == 1.0
        assert row["us_per_query"] > 0
    kinds = {(row["method"], row["mode"], row["seen"]) for row in result["rows"]}
    floats = {(f"float-{one}", mode, 0) for one in ("numpy", "xorec") for mode in MODES}
    ours = {("xorec", mode, seen) for mode in MODES for seen in (0, 20)}
    assert kinds == floats | ours
    assert len(result["rows"]) == len(kinds)
    assert result["data"]["items"] == [600]


def swap_two(hits: Hits) -> Hits:
    return replace(hits, items=hits.items[:, [1, 0, *range(2, hits.items.shape[1])]])


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        (lambda hits, exclude: swap_two(hits), "xorec, single"),
        (lambda hits, exclude: replace(hits, distances=hits.distances + 1), "xorec, single"),
        (lambda hits, exclude: replace(hits, counts=hits.counts - 1), "xorec, single"),
        (
            lambda hits, exclude: hits if exclude is None else swap_two(hits),
            "xorec, single, 20 seen",
        ),
        (lambda hits, exclude: hits if len(hits.items) == 1 else swap_two(hits), "xorec, batch"),
    ],
)
def test_a_wrong_index_is_an_error(
    monkeypatch: pytest.MonkeyPatch, wrong: Wrong, where: str
) -> None:
    patch_index(monkeypatch, wrong)
    with pytest.raises(NotExactError, match=f"^{where} is not exact"):
        small(methods=("xorec",)).run()


def test_recall_counts_what_is_too_far_and_what_is_missing() -> None:
    data = make_data("uniform", 400, 32, 4, seed=0)
    truth = oracle(data, 5, np.arange(4))
    items = np.array([found[0] for found in truth])
    assert hamming_recall(data, np.arange(4), truth, items) == 1.0
    farthest = [np.argmax(hamming_distances(data.item_codes, query)) for query in data.query_codes]
    items[:, 0] = farthest
    items[0, 1] = -1
    items[1, 1] = items[1, 2]
    assert hamming_recall(data, np.arange(4), truth, items) == 1 - 6 / 20


def test_float_methods_find_the_largest_products_across_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("xorec.lab.bench.methods.TORCH_SCORES", 128)
    monkeypatch.setattr("xorec.lab.bench.methods.TORCH_QUERIES", 3)
    data = make_data("low-rank", 700, 16, 7, seed=0)
    items, queries = data.vectors
    right = np.argsort(-(queries @ items.T), axis=1)[:, :9]
    floats = {name: one for name, one in METHODS.items() if name.startswith("float-")}
    missing = missing_modules(one.module for one in floats.values())
    small = [by_blas(replace(way, queries=3, scores=128)) for way in (BY_NUMPY, BY_KERNEL)]
    there = [one.build for one in floats.values() if one.module not in missing]
    for build in [*there, *small]:
        method = build(Setup("float", data, 9, 1))
        assert np.array_equal(method.search(method.queries, None)[0], right), build
    every = np.arange(7)
    assert float_recall(data, 9, every, right) == 1.0
    assert float_recall(data, 9, every, right[:, ::-1] * 0) < 0.5
    exclude = np.arange(8) * 9, np.sort(right, axis=1).reshape(-1)
    assert float_recall(data, 9, every, right, exclude) == 0.0


def test_faiss_rows_have_their_recall() -> None:
    pytest.importorskip("faiss")
    names = ("faiss-binary-flat", "faiss-binary-ivf", "faiss-binary-hnsw")
    rows = small(sizes=(2000,), bits=20, methods=names).run()["rows"]
    recall = {row["method"]: row["recall"] for row in rows}
    assert recall["faiss-binary-flat"] == 1.0
    assert all(0.3 < recall[name] <= 1.0 for name in names)
    assert {row["bytes_per_item"] for row in rows if row["method"] == names[0]} == {3}


def row(method: str, us: float, mode: str = "single", seen: int = 0) -> dict[str, Any]:
    return {"method": method, "mode": mode, "seen": seen, "us_per_query": us, "items": 10}


def test_speedups_are_ratios_within_a_mode() -> None:
    rows = with_speedups(
        [
            row("xorec", 20.0),
            row("xorec", 25.0, seen=100),
            row("xorec", 10.0, "batch"),
            row("faiss-binary-flat", 1000.0),
            row("faiss-binary-flat", 800.0, "batch"),
            row("float-numpy", 9000.0),
            row("float-torch", 6000.0),
            row("float-numpy", 3000.0, "batch"),
        ]
    )
    assert [one["speedup_faiss_flat"] for one in rows[:4]] == [50, 40, 80, 1]
    assert [one["speedup_best_float"] for one in rows[:4]] == [300, 240, 300, 6]
    assert rows[1]["seen_cost"] == pytest.approx(1.25)
    alone = with_speedups([row("xorec", 20.0)])[0]
    assert alone["speedup_faiss_flat"] is None
    assert alone["speedup_best_float"] is None


def test_times_are_medians_over_rounds_and_count_every_call() -> None:
    """One slow query in each round raises the figure: the mean of a round, not its median call."""
    data = make_data("low-rank", 50, 16, 4, seed=0)
    method = METHODS["xorec"].build(Setup("xorec", data, 3, 1))
    timings = Timings(method, "single", queries=4)
    timings.turns = [Turn(us * 1e-6, 4e-6) for us in (8, 40, 12, 16, 20)]
    (found,) = rows_of([timings], data, 3)
    assert found["us_per_query"] == pytest.approx(4.0)
    assert found["spread"] == pytest.approx(2.0)
    assert found["cpu_us_per_query"] == pytest.approx(1.0)

    def first_is_slow(queries: Any, exclude: Any) -> Any:
        time.sleep(0.02 if np.array_equal(queries, data.query_codes[:1]) else 0.0)

    slow = Timings(replace(method, search=first_is_slow), "single")
    assert slow.time_queries(4, 0.0).seconds >= 0.02


@pytest.mark.parametrize(("mode", "calls"), [("single", [1] * 6), ("batch", [6])])
def test_modes_and_seen_lists_reach_the_method(mode: Any, calls: list[int]) -> None:
    asked: list[tuple[Any, Any]] = []

    def search(queries: Any, exclude: Any) -> Any:
        asked.append((queries, exclude))

    data = make_data("uniform", 60, 16, 6, seed=0)
    exclude = some_lists(6, 20, 60, 10)
    method = Method("x", data.query_codes, search, 8)
    Timings(method, mode, exclude).time_queries(6, 0.0)
    assert [len(queries) for queries, _ in asked] == calls
    assert np.array_equal(np.concatenate([queries for queries, _ in asked]), data.query_codes)
    assert np.array_equal(np.concatenate([lists[1] for _, lists in asked]), exclude[1])
    assert all(len(lists[0]) == len(queries) + 1 and lists[0][0] == 0 for queries, lists in asked)


def test_large_sizes_leave_out_what_takes_too_much_unless_named() -> None:
    usual = SearchBench()
    names, notes = usual._fitting(usual._wanted(), 10_000_000)
    assert [name for name in names if name.startswith("float-")] == ["float-numpy", "float-xorec"]
    assert "faiss-binary-hnsw" not in names
    assert len(notes) == 4
    named = SearchBench(methods=("float-faiss", "faiss-binary-hnsw"))
    assert named._fitting(named._wanted(), 10_000_000) == (["faiss-binary-hnsw", "float-faiss"], [])


def test_missing_peers_are_skipped_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    result = small(methods=("xorec", "faiss-binary-flat", "float-faiss")).run()
    assert {one["method"] for one in result["rows"]} == {"xorec"}
    (note,) = [one for one in result["data"]["notes"] if "busy" not in one]
    assert "faiss-binary-flat, float-faiss" in note
    assert "xorec[faiss]" in note
    with pytest.raises(OptionError, match="faiss is not installed"):
        small(methods=("faiss-binary-flat",)).run()


def test_a_plot_is_checked_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="svg"):
        check_plot(tmp_path / "a.pdf", (10, 100))
    with pytest.raises(OptionError, match="--sizes"):
        check_plot(tmp_path / "a.svg", (10,))
    with pytest.raises(OptionError, match="folder"):
        check_plot(tmp_path / "none" / "a.svg", (10, 100))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"xorec\[plots\]"):
        check_plot(tmp_path / "a.svg", (10, 100))


def test_lines_of_the_plot_take_the_best_float_of_each_size() -> None:
    rows = [
        {**row(method, us), "items": items}
        for items, *times in ((100, 3.0, 5.0, 4.0), (10, 1.0, 2.0, 9.0))
        for method, us in zip(("xorec", "float-numpy", "float-torch"), times, strict=True)
    ]
    rows.append({**row("xorec", 8.0, seen=100), "items": 10})
    lines = series(rows, "single")
    assert lines == {"xorec": [(10, 1), (100, 3)], "faiss": [], "float": [(10, 2), (100, 4)]}
    assert series(rows, "batch") == {"xorec": [], "faiss": [], "float": []}
