from __future__ import annotations

import numpy as np
import pytest

import xorec
from xorec.data.io.values import rating_note


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
