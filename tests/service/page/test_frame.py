"""The frame of the page: head, tabs, keys, colours, what happens at the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xorec.testing.browsing import SCHEMES, WIDTHS, scrolls_sideways

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_opens(page: Page, width: int, scheme: str) -> None:
    page.goto("/")
    page.get_by_role("navigation", name="Panels").wait_for()
    assert page.title() == "Explore · xorec"
    assert not scrolls_sideways(page)


def test_a_link_with_a_state_is_the_page(page: Page) -> None:
    answer = page.goto("/?panel=explore&items=i100&items=i101&user=user%20100")
    assert answer is not None
    assert answer.status == 200
    page.get_by_role("navigation", name="Panels").wait_for()
