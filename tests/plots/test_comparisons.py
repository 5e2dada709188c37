"""The frontier: which points are on it, and labels that keep clear of each other and of points."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import MissingExtraError, OptionError
from xorec.plots.comparisons import (
    Point,
    boxes_around,
    draw_points,
    meetings,
    picture_files,
    place_labels,
    unbeaten,
)

POINTS = [
    Point("popularity", "shared-scores", 0.12, 8, 18),
    Point("dsiml 20", "codes", 0.24, 21, 14),
    Point("dsiml 64", "codes", 0.31, 33, 17),
    Point("slim weight_dtype=int8", "neighbours", 0.418, 300, 30),
    Point("slim, $1 & <more>", "neighbours", 0.419, 600, 31),
    Point("ease", "item-weights", 0.39, 15400, 190),
    Point("lightrec", "codebooks", 0.2, 90, 60),
    Point("blend 64", "two-stage", 0.43, 420, 90),
]


@pytest.mark.parametrize("seed", range(6))
def test_labels_overlap_nothing_but_lines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(30, 370, 12), rng.uniform(30, 270, 12)])
    points[1:4] = points[0] + [[3, 2], [25, 1], [-4, 9]]  # a crowd
    sizes = np.column_stack([rng.uniform(30, 130, 12), np.full(12, 12.0)])
    marks, area = boxes_around(points, (9, 9)), np.array([0, 0, 400, 300])
    placed = place_labels(points, sizes, area, marks, np.empty((0, 4)))
    assert placed[:, 2:] - placed[:, :2] == pytest.approx(sizes)
    assert placed.min() >= 0
    assert (placed.max(axis=0)[2:] <= area[2:]).all()
    assert meetings(placed, marks).sum() == 0
    assert meetings(placed, placed).tolist() == [1] * 12  # itself


def test_a_free_label_stands_beside_its_point_and_off_the_line() -> None:
    given = np.array([[100.0, 100.0]]), np.array([(40.0, 10.0)]), np.array([0, 0, 200, 200])
    nothing, line = np.empty((0, 4)), np.array([[100.0, 99, 200, 101]])
    assert place_labels(*given, nothing, nothing).tolist() == [[107, 95, 147, 105]]
    aside = place_labels(*given, nothing, line)
    assert meetings(aside, line).tolist() == [0]
    assert aside[0, 2] == 93


def test_both_panels_name_every_point_and_equal_input_gives_equal_bytes() -> None:
    pytest.importorskip("matplotlib")
    first, again = (draw_points(POINTS, "NDCG@10", "a set") for _ in range(2))
    assert first == again
    assert first.png.startswith(b"\x89PNG")
    assert len(first.png) < 200_000
    texts = re.findall(r"<text[^>]*>(.*?)</text>", first.svg)
    for label in ("dsiml 20", "ease", "slim, $1 &amp; &lt;more&gt;", "blend 64"):
        assert texts.count(label) == 2, label
    assert {"bytes an item", "microseconds a query", "NDCG@10", "a set"} <= {*texts}
    assert {"codes", "item weights", "others", "nothing better for less"} <= {*texts}


def test_one_point_is_a_picture_too() -> None:
    pytest.importorskip("matplotlib")
    assert draw_points(POINTS[:1], "NDCG@10", "one").png


@pytest.mark.parametrize("name", ["trade", "trade.png", "trade.svg"])
def test_both_files_are_named(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    files = picture_files(tmp_path / name)
    assert files == (tmp_path / "trade.png", tmp_path / "trade.svg")


def test_what_is_missing_is_said_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OptionError, match=r"a\.pdf.*\.png or \.svg"):
        picture_files(tmp_path / "a.pdf")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'xorec\[plots\]'"):
        picture_files(tmp_path / "a.png")


@pytest.mark.parametrize("seed", range(5))
def test_the_frontier_is_what_nothing_beats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs, values = (rng.integers(1, 12, 30).astype(float).tolist() for _ in range(2))
    best = unbeaten(costs, values)
    rows = list(zip(costs, values, strict=True))
    beaten = [
        any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in rows)
        for cost, value in rows
    ]
    assert {rows[at] for at in best} == {
        row for row, lost in zip(rows, beaten, strict=True) if not lost
    }
    assert len({rows[at] for at in best}) == len(best)
    assert [rows[at] for at in best] == sorted(rows[at] for at in best)
