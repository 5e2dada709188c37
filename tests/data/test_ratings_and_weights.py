from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import xorec
from xorec.core.errors import DataError, OptionError
from xorec.data.io.values import rating_note, scaled_weights

ROWS = {"user": ["a", "a", "b", "c"], "item": [1, 2, 1, 3], "plays": [1.0, 500.0, 20.0, 3.0]}


def weights_by_pair(data: xorec.Interactions) -> dict[tuple[Any, int], float]:
    assert data.weights is not None
    assert data.weights.dtype == np.float32
    pairs = zip(data.user_rows, data.indices, data.weights, strict=True)
    return {(data.users[u], data.items[i]): float(w) for u, i, w in pairs}


def raw(rows: Any, **how: str) -> dict[tuple[Any, int], float]:
    return weights_by_pair(xorec.read(rows, weight_scale="none", **how))  # type: ignore[arg-type]


def test_a_column_of_plays_is_taken_and_said() -> None:
    data: Any = xorec.read(pl.DataFrame(ROWS))
    assert "columns guessed: user = user, item = item, weight = plays" in data.notes
    assert any(note.startswith("weights from 1 to 500, on a log scale: ") for note in data.notes)
    strength = np.array([1.0, 500, 20, 3])
    expected = 1 + np.log(1 + strength / np.median(strength))
    np.testing.assert_allclose(data.weights, expected / expected.mean(), rtol=1e-6)
    assert xorec.read(pl.DataFrame(ROWS), weight_column="").weights is None


def test_the_scale_has_no_unit() -> None:
    hours = np.array([0.1, 3, 4, 10_000])
    np.testing.assert_allclose(scaled_weights(hours), scaled_weights(60 * hours), rtol=1e-6)  # type: ignore[arg-type]


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(OptionError, match="weight_scale is 'cubic': use log or none"):
        xorec.read([(1, 2)], weight_scale="cubic")


def test_repeated_pairs_sum_whatever_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"user": rng.integers(5, size=200), "item": rng.integers(4, size=200)})
    rows = rows.with_columns(count=pl.Series(rng.random(200) + 0.1))
    data = xorec.read(rows)
    assert "180 repeated pairs merged, their weights summed" in data.notes
    found = raw(rows)
    for (user, item), part in rows.group_by("user", "item"):
        assert found[user, item] == pytest.approx(part["count"].sum())
    assert xorec.read(rows[::-1]).digest() == data.digest()


def test_the_weight_of_a_test_row_does_not_leak_into_training() -> None:
    rows = {"user": [1, 1, 1, 2], "item": [1, 1, 1, 1], "count": [5, 2, 100, 1]}
    data = pl.DataFrame({**rows, "split": ["train", "train", "test", "test"]})
    assert raw(data) == {(1, 1): 7.0, (2, 1): 1.0}


def test_rows_of_a_pair_are_counted_when_asked() -> None:
    rows = [("a", 1), ("a", 1), ("a", 1), ("b", 1)]
    silent = xorec.read(rows)
    assert silent.weights is None
    assert "weight_column 'repeats' would weigh" in silent.notes[-1]
    frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    assert raw(frame, weight_column="repeats") == {("a", 1): 3.0, ("b", 1): 1.0}
    named = frame.with_columns(repeats=pl.Series([2, 2, 2, 9]))
    assert raw(named, weight_column="repeats") == {("a", 1): 6.0, ("b", 1): 9.0}


@pytest.mark.parametrize("value", ["0", "-3", "nan", "inf", "", "much", "1e-60"])
def test_what_is_no_weight_is_refused_with_its_row(tmp_path: Path, value: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"user,item,plays\na,1,2\na,2,{value}\n")
    said = f"'?{value}(.0)?'?" if value else "an empty field"
    message = f"column 'plays', data row 2: {said} is not a weight; .*weight_column=''"
    with pytest.raises(DataError, match=message):
        xorec.read(path)


def test_weights_that_are_all_the_same_are_none() -> None:
    data = xorec.read(pl.DataFrame({"user": [1, 2], "item": [1, 1], "count": [7, 7]}))
    assert data.weights is None
    assert data.notes[-1] == "every weight is 7: the same as none"


def test_weights_go_where_their_pairs_go() -> None:
    data = xorec.read(pl.DataFrame(ROWS), weight_scale="none")
    before = weights_by_pair(data)
    kept = xorec.prepare(data.select(data.indices != 0))
    assert weights_by_pair(kept) == {pair: before[pair] for pair in [("a", 2), ("c", 3)]}
    parts = xorec.split(data, test=0.5, keep_last=False)
    both = weights_by_pair(parts.train) | weights_by_pair(parts.test)
    assert both == before
    assert weights_by_pair(parts.train.union(parts.test)) == before
    bare = xorec.Interactions(data.users, data.items, data.indptr, data.indices)
    test_alone = bare.select(data.indices == 0)
    mixed = data.select(data.indices != 0).union(test_alone)
    assert weights_by_pair(mixed) == {**before, ("a", 1): 1.0, ("b", 1): 1.0}


def test_weights_are_in_the_digest_and_none_are_not() -> None:
    data = xorec.read(pl.DataFrame(ROWS))
    bare = xorec.read(pl.DataFrame(ROWS), weight_column="")
    assert data.digest() != bare.digest()
    assert bare.digest() == "2d1883c98dd15b59711257699e3e28fa"  # as before there were weights


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 2, 3, 4, 5], "1 to 5; min_rating 4 (--min-rating) would keep 40 %"),
        (np.arange(1, 11) / 2, "0.5 to 5; min_rating 4 (--min-rating) would keep 30 %"),
        (np.arange(1, 11), "1 to 10; min_rating 8 (--min-rating) would keep 30 %"),
        ([0, 1, 1, 1], "0 to 1, 1 of 4 of them 0 or less; min_rating 1 (--min-rating) would"),
        ([-1, -1, 1, 1], "-1 to 1, 2 of 4 of them 0 or less; min_rating 1 (--min-rating) would"),
        ([-1, 0, 1, 1], "-1 to 1, 2 of 4 of them 0 or less; min_rating 1 (--min-rating) would"),
        ([4, 5], "4 to 5; min_rating 5 (--min-rating) would keep 50 %"),
        (np.arange(1, 200), "1 to 199; they look like strengths: weight_column"),
    ],
)
def test_a_threshold_is_proposed_where_values_look_like_ratings(
    values: list[int], said: str
) -> None:
    assert rating_note(np.asarray(values, dtype=np.float32)).startswith(  # type: ignore[union-attr]
        f"every rating counts as positive, {said}"
    )


@pytest.mark.parametrize("ratings", [None, np.zeros(0), np.ones(3)])
def test_nothing_is_said_where_there_is_nothing_to_choose(ratings: np.ndarray | None) -> None:
    assert rating_note(ratings) is None


def test_every_pair_stays_and_the_note_goes_with_a_threshold() -> None:
    data = xorec.read([("a", 1, -1), ("a", 2, 1), ("b", 1, 0)])
    assert data.n_pairs == 3
    note = data.notes[-1]
    assert note.startswith("every rating counts as positive, -1 to 1, 2 of 3 of them 0 or less")
    liked = xorec.prepare(data, min_rating=1)
    assert liked.n_pairs == 1
    assert note not in liked.notes
    assert note in xorec.prepare(data).notes
