"""The pages hold together: links have their targets, figures that are repeated are the same."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_CODE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$|`[^`\n]*`", re.M | re.S)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def anchors(page: Path) -> list[str]:
    """As GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    return [slug(heading) for heading in re.findall(r"(?m)^#{1,6} (.+)$", text)]


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def section(page: Path, anchor: str) -> str:
    """The text below a heading, up to the next one that is not below it."""
    text, depth = page.read_text("utf-8"), 0
    kept: list[str] = []
    for line in text.splitlines():
        heading = re.match(r"(#{1,6}) (.+)$", line)
        if heading and depth and len(heading[1]) <= depth:
            break
        if heading and not depth and slug(heading[2]) == anchor:
            depth = len(heading[1])
        if depth:
            kept.append(line)
    return "\n".join(kept)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_has_its_target(page: Path) -> None:
    text = _CODE.sub("", page.read_text("utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: {link}"


def rows_with_a_source() -> list[tuple[str, Path, str]]:
    """(cells, page, anchor) of each row of docs/why.md that says where it was measured."""
    text = (ROOT / "docs" / "why.md").read_text("utf-8")
    found = re.findall(r"(?m)^\| (.*) \| \[\w+\]\(([\w/-]+\.md)#([\w-]+)\) \|$", text)
    return [(cells, ROOT / "docs" / page, anchor) for cells, page, anchor in found]


def numbers(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]\d)", text))


def test_figures_of_the_comparison_are_those_that_were_measured() -> None:
    rows = rows_with_a_source()
    assert len(rows) == 15
    for cells, page, anchor in rows:
        measured = numbers(section(page, anchor).replace("**", ""))
        missing = numbers(cells) - measured
        assert not missing, f"{cells}: {missing} not in {page.name}#{anchor}"
