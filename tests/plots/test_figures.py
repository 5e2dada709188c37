"""Drawings: the same bytes each time, nothing asked of the network, series that stay apart."""

from __future__ import annotations

import hashlib
import math
import os
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from dataclasses import replace
from typing import Any

import pytest

from xorec.core.errors import MissingExtraError
from xorec.plots.figures import Drawn, columns, draw, needs_plots
from xorec.plots.panels import draw_panel
from xorec.plots.scales import names_on, number
from xorec.plots.series import Figure, Line, Panel
from xorec.plots.series_style import PAPER, styles_of

KS = (10, 20, 50, 100)
NAMES = [f"model-{place}" for place in range(10)]


def curves(count: int = 3) -> Panel:
    lines = [
        Line(name, KS, [0.01 * (place + k / 10) for k in KS], [0.001] * 4, highlight=place == 0)
        for place, name in enumerate(NAMES[:count])
    ]
    return Panel("left", "k", "NDCG@k", lines, level=(0.05, "popularity & co"))


BARS = Panel(
    "right",
    "",
    "times faster",
    [
        Line("model-0", ["Movies", "Books"], [7.0, 20.0], [0.5, math.nan], highlight=True),
        Line("the paper", ["Movies", "Books"], [7.84, 17.73], paper=True),
    ],
    "bars",
    level=(1.0, "as fast"),
)
POINTS = Panel(
    "", "items", "gain", [Line("all", [1, 10, 100], [0.1, -0.2, 0.05])], "points", log_x=True
)
MIXED = Figure("mixed", "A <mixed> figure & more", [curves(), BARS, POINTS])


@pytest.fixture(scope="module")
def mixed() -> Drawn:
    return draw(MIXED)


def texts(svg: str) -> list[str]:
    tree = ElementTree.fromstring(svg)
    return ["".join(node.itertext()).strip() for node in tree.iter() if node.tag.endswith("}text")]


@pytest.mark.process
def test_the_same_figure_has_the_same_bytes_in_another_process(mixed: Drawn) -> None:
    code = (
        "import importlib.util, sys, hashlib;"
        f"spec = importlib.util.spec_from_file_location('figs', {__file__!r});"
        "figs = importlib.util.module_from_spec(spec); spec.loader.exec_module(figs);"
        "print(figs.digest(figs.draw(figs.MIXED)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert digest(mixed) == other.stdout.strip()


def digest(drawn: Drawn) -> str:
    return hashlib.sha256(drawn.svg.encode() + drawn.png + drawn.narrow.encode()).hexdigest()


def test_settings_of_the_user_neither_show_nor_change(mixed: Drawn) -> None:
    import matplotlib

    with matplotlib.rc_context({"axes.linewidth": 9.0, "font.size": 30.0}):
        assert draw(MIXED) == mixed
        assert matplotlib.rcParams["font.size"] == 30.0


def test_the_svg_needs_no_network_and_the_png_has_no_time(mixed: Drawn) -> None:
    for svg in (mixed.svg, mixed.narrow):
        rest = svg.replace("http://www.w3.org/2000/svg", "").replace(
            "http://www.w3.org/1999/xlink", ""
        )
        assert "http" not in rest
        assert "<script" not in rest
        assert "@import" not in rest
    assert png_chunks(mixed.png) <= {b"IHDR", b"pHYs", b"tEXt", b"IDAT", b"IEND"}
    assert b"Software" not in mixed.png


def png_chunks(png: bytes) -> set[bytes]:
    """The kinds of chunks; their check sums are right."""
    kinds, place = set(), 8
    while place < len(png):
        size, kind = struct.unpack_from(">I4s", png, place)
        end = place + 8 + size
        assert zlib.crc32(png[place + 4 : end]) == struct.unpack_from(">I", png, end)[0]
        kinds.add(kind)
        place = end + 4
    return kinds


def test_labels_of_series_axes_and_levels_are_in_both_layouts(mixed: Drawn) -> None:
    for svg in (mixed.svg, mixed.narrow):
        shown = texts(svg)
        for text in ("model-0", "the paper", "NDCG@k", "Movies", "popularity & co", "as fast"):
            assert text in shown


def test_the_narrow_layout_is_narrow_and_higher(mixed: Drawn) -> None:
    def size(svg: str) -> tuple[float, float]:
        box = ElementTree.fromstring(svg).attrib["viewBox"].split()
        return float(box[2]), float(box[3])

    assert size(mixed.narrow)[0] < 310 < 700 < size(mixed.svg)[0]
    assert size(mixed.narrow)[1] > 2 * size(mixed.svg)[1]


def test_ten_series_differ_in_colour_and_in_grey() -> None:
    figure = Figure("many", "Many", [curves(10)])
    styles = list(styles_of(figure).values())
    assert len({style.colour for style in styles}) == 10
    assert len({(style.marker, str(style.dash)) for style in styles}) == 10


def test_a_series_looks_the_same_in_all_panels_and_own_stands_out() -> None:
    styles = styles_of(MIXED)
    assert list(styles) == ["model-0", "model-1", "model-2", "the paper", "all"]
    assert styles["model-0"].width > max(
        style.width for label, style in styles.items() if label != "model-0"
    )
    assert styles["the paper"].colour == PAPER
    moved = Figure("x", "", [Panel("", "", "", list(reversed(curves().lines)))])
    assert styles_of(moved)["model-0"].colour == styles["model-0"].colour


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"),
        (0.00001, "0.00001"),
        (0, "0"),
        (0.25, "0.25"),
        (17.73, "17.7"),
        (100, "100"),
        (1000, "1,000"),
        (250000, "250,000"),
        (10_000_000, "10M"),
        (-0.5, "\N{MINUS SIGN}0.5"),
    ],
)
def test_numbers_are_plain(value: float, text: str) -> None:
    assert number(value) == text


def test_log_axes_have_plain_numbers() -> None:
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    line = Line("a", sizes, [0.001, 0.01, 0.1, 1.0])
    shown = texts(draw(Figure("log", "", [Panel("", "n", "s", [line], "lines", True, True)])).svg)
    assert {"10,000", "100,000", "1M", "10M", "0.001", "0.01", "0.1", "1"} <= set(shown)


def test_a_zero_on_a_log_axis_is_a_name_and_is_shown() -> None:
    panel = Panel("", "lambda", "HR", [Line("a", [1, 0, 0.1], [1, 2, 3])], log_x=True)
    assert names_on(panel) == [0, 0.1, 1]
    assert {"0", "0.1", "1"} <= set(texts(draw(Figure("zero", "", [panel])).svg))


@pytest.mark.parametrize(("shift", "lines"), [(0.0, 1), (0.3, 0), (-0.3, 0)])
def test_points_on_both_sides_of_zero_have_a_line_at_zero(shift: float, lines: int) -> None:
    from matplotlib.figure import Figure as Canvas

    axis: Any = Canvas().subplots()
    points = Line("all", [1, 10, 100], [0.1 + shift, -0.2 + shift, 0.05 + shift])
    panel = replace(POINTS, lines=[points])
    draw_panel(axis, panel, styles_of(Figure("p", "", [panel])), 5.0)
    assert [list(map(float, line.get_ydata())) for line in axis.lines] == [[0.0, 0.0]] * lines


def test_nothing_to_draw_is_said() -> None:
    assert "no data" in texts(draw(Figure("none", "", [Panel("", "x", "y", [])])).svg)


@pytest.mark.parametrize(
    ("panels", "beside"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3), (9, 3)]
)
def test_panels_wrap_after_three(panels: int, beside: int) -> None:
    assert columns(panels) == beside


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*xorec\[reproduce\]"):
        needs_plots()
