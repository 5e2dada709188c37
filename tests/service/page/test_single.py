"""The page of one file: data that cannot break out, one script of many, and no request at all."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import xorec
from tests.support.browsing import SCHEMES, Trouble, expect, scrolls_sideways
from tests.support.page_shop import HARM, HARM_NAMES, shop_recommender
from xorec.core.errors import OptionError
from xorec.recommender.recommender import Recommender
from xorec.service.page.single.content import content
from xorec.service.page.single.document import bundle, document
from xorec.testing.data import planted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'


@pytest.fixture(scope="module")
def shop() -> Recommender:
    return shop_recommender("dsiml")


@pytest.fixture(scope="module")
def data(shop: Recommender) -> Any:
    return json.loads(json.dumps(content(shop, 320, 10)))


# -- what it shows


def test_users_lists_and_reasons_are_those_of_the_recommender(shop: Recommender, data: Any) -> None:
    ids = data["items"]["ids"]
    assert [user["id"] for user in data["users"]] == list(shop.user_ids)
    for user in data["users"][::40]:
        best = shop.recommend(user["id"], 10)
        assert [ids[place] for place, _, _ in user["list"]] == best.ids()
        for (_, score, distance), item in zip(user["list"], best.items, strict=True):
            assert distance == item.distance
            assert score == pytest.approx(item.score, rel=1e-4)
        have = {shop.item_ids[int(row)] for row in shop.items_of(shop.user_row(user["id"]))}
        assert {ids[place] for place in user["history"]} == have
        first = ids[user["list"][0][0]]
        because = [one.id for one in shop.explain(user["id"], first, 3).because]
        assert [ids[place] for place in user["because"][0]] == because


def test_bits_of_the_page_are_the_distances_of_the_list(data: Any) -> None:
    codes = np.frombuffer(base64.b64decode(data["items"]["codes"]), np.uint8).reshape(-1, 8)
    for user in data["users"][::40]:
        mine = np.frombuffer(bytes.fromhex(user["code"]), np.uint8)
        for place, _, distance in user["list"]:
            assert np.bitwise_count(codes[place] ^ mine).sum() == distance


def test_similar_items_names_and_counts(shop: Recommender, data: Any) -> None:
    ids, names = data["items"]["ids"], data["items"]["names"]
    assert shop.names is not None
    for place, near in list(data["similar"].items())[::30]:
        assert [ids[one] for one, _, _ in near] == shop.similar(ids[int(place)]).ids()
        row = shop.item_ids.find(ids[int(place)])
        assert names[int(place)] == shop.names[row]
        assert data["items"]["counts"][int(place)] == shop.item_counts[row]


def test_points_of_the_map_are_the_items_of_the_table_first(shop: Recommender, data: Any) -> None:
    made = replace(shop, map_xy=np.arange(480, dtype=np.int16).reshape(240, 2))
    found = content(made, 3, 5)
    places = np.frombuffer(base64.b64decode(found["map"]["places"]), "<i2").reshape(-1, 2)
    rows = [made.item_ids.find(one) for one in found["items"]["ids"]]
    np.testing.assert_array_equal(places[: len(rows), 0], 2 * np.array(rows))
    assert found["map"]["points"] == 240
    few = content(made, 3, 5, points=100)["map"]
    assert few["points"] >= 100
    assert few["items"] == 240


def test_colours_say_how_many_users_have_an_item(shop: Recommender, data: Any) -> None:
    colours = np.frombuffer(base64.b64decode(data["map"]["colours"]), np.uint8)
    counts = np.array(data["items"]["counts"])
    order = np.argsort(counts, kind="stable")
    assert (np.diff(colours[: len(counts)][order].astype(int)) >= 0).all()
    legend = data["map"]["legend"]
    assert sum(band["count"] for band in legend) == data["map"]["points"]
    for band in legend:
        low, high = (int(one.replace(",", "")) for one in re.findall(r"[\d,]+", band["label"]))
        inside = (counts >= low) & (counts <= high)
        shown = colours[: len(counts)][inside]
        assert (shown >= band["first"]).all()
        assert (shown <= band["last"]).all()


@pytest.mark.parametrize("model", [xorec.Popularity, xorec.SLIM, xorec.BPR])
def test_every_kind_of_model_has_a_page(model: Any) -> None:
    made = planted(30, 20, per_user=5)
    recommender = Recommender.from_model(model().fit(made), made)
    found = content(recommender, 4, 30)
    assert len(found["users"]) == 4
    assert found["items"]["codes"] is None
    assert all(len(user["list"]) == 15 for user in found["users"])
    assert json.loads(json.dumps(found, allow_nan=False))


def test_users_are_spread_and_equal_models_have_equal_pages(shop: Recommender) -> None:
    found = content(shop, 5, 3)
    rows = [shop.user_row(user["id"]) for user in found["users"]]
    assert rows == [0, 79, 159, 239, 319]
    assert document(found, "x") == document(content(shop, 5, 3), "x")
    assert content(shop, 0, 3)["users"] == []


# -- the file


def test_what_comes_from_a_model_stands_in_no_markup(data: Any) -> None:
    text = document(data, '</title><script>alert("t")</script>')
    assert len(re.findall("<script", text)) == 2
    assert len(re.findall("</script>", text)) == 2
    assert "<img" not in text
    kept = re.findall(r'id="data">(.*?)</script>', text)[0]
    assert json.loads(kept)["items"] == data["items"]
    assert kept.isascii()


def test_the_policy_allows_this_script_and_this_style_alone(data: Any) -> None:
    text = document(data, "x")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for name, pattern in (
        ("script-src", "<script>(.*?)</script>"),
        ("style-src", "<style>(.*?)</style>"),
    ):
        (inside,) = re.findall(pattern, text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_pictures_are_inside_or_refused(tmp_path: Path, data: Any) -> None:
    for name, content_, kind in (("a.png", PNG, "png"), ("a.svg", SVG, "svg+xml")):
        (tmp_path / name).write_bytes(content_)
        inline = f"data:image/{kind};base64,{base64.b64encode(content_).decode()}"
        assert f'src="{inline}"' in document(data, "x", tmp_path / name)
    (tmp_path / "a.gif").write_bytes(b"GIF89a")
    with pytest.raises(OptionError, match="neither a PNG nor an SVG"):
        document(data, "x", tmp_path / "a.gif")
    with pytest.raises(OptionError, match="cannot read the picture"):
        document(data, "x", tmp_path / "none.png")
    (tmp_path / "big.png").write_bytes(PNG + b"0" * 8_000_000)
    with pytest.raises(OptionError, match="take a smaller one"):
        document(data, "x", tmp_path / "big.png")


def test_one_script_of_many() -> None:
    files = {
        "a/main.js": 'import { one as first, two } from "../b/x.js";\n'
        'import { three } from "./y.js";\n',
        "b/x.js": 'import { three } from "../a/y.js";\n'
        "export const one = 1;\nexport class two {}\n",
        "a/y.js": "export async function three() {}\n",
        "not/used.js": "export const four = 4;\n",
    }
    text = bundle("a/main.js", files)
    assert text.index("$a_y =") < text.index("$b_x =") < text.index("$a_main =")
    assert text.count("async function three") == 1
    assert "const { one: first, two } = $b_x;" in text
    assert "four" not in text
    assert "export" not in text


@pytest.mark.parametrize(
    "wrong",
    [
        'import x from "./b.js";\n',
        'export { x } from "./b.js";\n',
        'const x = await import("./b.js");\n',
        'import { a } from "./a.js";\n',
        'import { y } from "./b.js";\n',
    ],
)
def test_what_cannot_be_one_script_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"a\.js"):
        bundle("a.js", {"a.js": wrong, "b.js": "export const x = 1;\n"})


@pytest.mark.process
def test_it_needs_nothing_of_the_service(tmp_path: Path) -> None:
    """Who has not installed xorec[serve] can make it, too."""
    code = (
        "import sys\n"
        "for name in ('granian', 'uvloop', 'prometheus_client'):\n"
        "    sys.modules[name] = None\n"
        "import xorec.service.page.single.content, xorec.service.page.single.document\n"
        "import xorec.cli.map\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


# -- in a browser


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, data: Any) -> Path:
    folder = tmp_path_factory.mktemp("single")
    (folder / "picture.svg").write_bytes(SVG)
    path = folder / "a page.html"
    path.write_text(document(data, "<b>Shop</b>", folder / "picture.svg"), encoding="utf-8")
    return path


@pytest.fixture
def opened(
    browser: Browser, file: Path, trouble: Trouble, width: int, scheme: Any
) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
    )
    context.set_default_timeout(120_000)
    page = context.new_page()
    trouble.watch(page, "about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.get_by_role("heading", name="About the model").wait_for()
    yield page
    context.close()
    others = [
        one
        for one in asked
        if not one.startswith("data:") and file.name not in one.replace("%20", " ")
    ]
    assert others == []
    trouble.found = [one for one in trouble.found if not one.startswith("foreign request: ")]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_opens_by_double_click(opened: Page, data: Any, width: int, scheme: str) -> None:
    assert opened.title() == "<b>Shop</b>"
    cards = opened.get_by_role("region", name="List").locator("li.item")
    expect(cards).to_have_count(10)
    assert cards.first.locator("svg.bits").count() == 1
    assert not scrolls_sideways(opened)
    picture = opened.get_by_role("img", name="Quality of lists").evaluate("one => one.naturalWidth")
    assert picture == 9
    ink = opened.locator("canvas.points").evaluate(
        """canvas => { const all = new Uint32Array(canvas.getContext("2d")
           .getImageData(0, 0, canvas.width, canvas.height).data.buffer);
           return new Set(all).size; }"""
    )
    assert ink > 2


def test_users_items_and_the_state_behind_the_hash(opened: Page, data: Any) -> None:
    user = data["users"][200]
    opened.get_by_role("region", name="Users").get_by_role("link", name=user["id"]).click()
    expect(opened.get_by_role("heading", name=f"Recommended to {user['id']}")).to_be_visible()
    ids = data["items"]["ids"]
    shown = opened.locator("li.item").evaluate_all("all => all.map(one => one.dataset.id)")
    assert shown == [ids[place] for place, _, _ in user["list"]]
    place = next(place for place, _, _ in user["list"] if ids[place].startswith("i"))
    opened.locator("li.item a.name", has_text=data["items"]["names"][place]).first.click()
    opened.get_by_role("heading", name="Similar items").wait_for()
    shown = opened.locator("li.item").evaluate_all("all => all.map(one => one.dataset.id)")
    assert shown == [ids[one] for one, _, _ in data["similar"][str(place)]]
    assert opened.url.endswith(f"#item={ids[place]}")
    opened.reload()
    opened.get_by_role("heading", name="Similar items").wait_for()
    opened.go_back()
    expect(opened.get_by_role("heading", name=f"Recommended to {user['id']}")).to_be_visible()


def test_picking_a_point_of_the_map_shows_the_item(opened: Page, data: Any) -> None:
    canvas = opened.locator("canvas.points")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    places = np.frombuffer(base64.b64decode(data["map"]["places"]), "<i2").reshape(-1, 2)
    at = int(np.argmax(places[:, 0]))  # the one at the right edge has few neighbours
    scale = 0.48 * min(box["width"], box["height"]) / 32768
    x, y = box["width"] / 2 + places[at, 0] * scale, box["height"] / 2 - places[at, 1] * scale
    canvas.hover(position={"x": x, "y": y})
    tip = opened.locator(".tip")
    expect(tip).to_be_visible()
    canvas.click(position={"x": x, "y": y})
    opened.wait_for_url("**#item=*")
    assert opened.get_by_role("region", name="Item", exact=True).is_visible()


@pytest.mark.parametrize("item", HARM)
def test_ids_and_names_that_mean_harm_stay_text(opened: Page, data: Any, item: str) -> None:
    opened.evaluate("id => { location.hash = new URLSearchParams({ item: id }); }", item)
    region = opened.get_by_role("region", name="Item", exact=True)
    region.wait_for()
    assert opened.locator("#main script, #main b > *, #head b > *, img:not(#frontier)").count() == 0
    name = HARM_NAMES.get(item)
    if name is not None and "\u202e" not in name:
        assert " ".join(name.split()) in " ".join(region.inner_text().split())
