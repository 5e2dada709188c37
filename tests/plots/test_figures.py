"""Drawings: the same bytes each time, nothing asked of the network, series that stay apart."""

from __future__ import annotations

import math
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib

import pytest

from xorec.plots.figures import Figure, Line, Panel, _styles, draw, names_on
from xorec.plots.pictures import Picture, number

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
def mixed() -> Picture:
    return draw(MIXED)


def texts(svg: str) -> list[str]:
    tree = ElementTree.fromstring(svg)
    return ["".join(node.itertext()).strip() for node in tree.iter() if node.tag.endswith("}text")]


def test_settings_of_the_user_neither_show_nor_change(mixed: Picture) -> None:
    import matplotlib

    with matplotlib.rc_context({"axes.linewidth": 9.0, "font.size": 30.0}):
        assert draw(MIXED) == mixed
        assert matplotlib.rcParams["font.size"] == 30.0


def test_the_svg_needs_no_network_and_the_png_has_no_time(mixed: Picture) -> None:
    rest = re.sub(r"http://www.w3.org/(2000/svg|1999/xlink)", "", mixed.svg)
    assert not re.search(r"http|<script|@import", rest)
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


def test_labels_of_series_axes_and_levels_are_shown(mixed: Picture) -> None:
    shown = texts(mixed.svg)
    for text in ("model-0", "the paper", "NDCG@k", "Movies", "popularity & co", "as fast", "17.7"):
        assert text in shown


def test_ten_series_differ_in_colour_and_in_grey() -> None:
    figure = Figure("many", "Many", [curves(10)])
    styles = list(_styles(figure).values())
    assert len({style["color"] for style in styles}) == 10
    assert len({(style["marker"], str(style["linestyle"])) for style in styles}) == 10


def test_a_series_looks_the_same_in_all_panels_and_own_stands_out() -> None:
    styles = _styles(MIXED)
    assert list(styles) == ["model-0", "model-1", "model-2", "the paper", "all"]
    others = [style for label, style in styles.items() if label != "model-0"]
    assert styles["model-0"]["linewidth"] > max(style["linewidth"] for style in others)
    assert styles["the paper"]["color"] not in {
        styles[name]["color"] for name in ("model-1", "all")
    }
    moved = Figure("x", "", [Panel("", "", "", list(reversed(curves().lines)))])
    assert _styles(moved)["model-0"]["color"] == styles["model-0"]["color"]


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


def test_nothing_to_draw_is_said() -> None:
    assert "no data" in texts(draw(Figure("none", "", [Panel("", "x", "y", [])])).svg)
