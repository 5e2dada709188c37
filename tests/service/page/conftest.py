"""A real service with two models, and a browser that notices everything that goes wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browsing import Trouble
from tests.support.page_shop import HIDDEN, shop_recommender
from tests.support.service_process import running_service
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service on a shop: "default" has codes, "slim" has none."""
    folder = tmp_path_factory.mktemp("page")
    for model in ("dsiml", "slim"):
        shop_recommender(model).save(folder / f"{model}.xorec")
    config = {"models": {"slim": str(folder / "slim.xorec")}, "update": {"events": 10**9}}
    with running_service(folder / "dsiml.xorec", folder / "data", config=config) as running:
        with running.client() as client:
            found = client.get("/v1/items", params={"q": HIDDEN}).json()["items"][0]
            changed = client.patch("/v1/items", json={"id": found["id"], "hidden": True})
            assert changed.status_code == 200, changed.text
        yield running.base_url


@pytest.fixture(scope="session")
def api(service: str) -> Iterator[httpx.Client]:
    """To ask the service besides the page: the oracle of what is shown."""
    with httpx.Client(base_url=service, timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of a module, not of the session: the plain API of playwright leaves a running event loop in
    the thread until it is stopped, and other tests call `asyncio.run`."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("there is no chromium here (apt install chromium)")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        opened = started.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def trouble() -> Iterator[Trouble]:
    """Fails the test at its end if there was any."""
    made = Trouble()
    yield made
    assert not made.found, "\n".join(made.found)


@pytest.fixture
def width() -> int:
    """Pixels; `parametrize("width", WIDTHS)` of `testing.browsing` has others."""
    return 1280


@pytest.fixture
def scheme() -> str:
    """Colours; `parametrize("scheme", SCHEMES)` has both."""
    return "light"


@pytest.fixture
def page(
    browser: Browser, service: str, trouble: Trouble, width: int, scheme: Any
) -> Iterator[Page]:
    """A page of a fresh browser profile: `page.goto("/?panel=explore")`."""
    context = browser.new_context(
        base_url=service,
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        reduced_motion="reduce",
        has_touch=width < 500,
    )
    context.set_default_timeout(1000 * PATIENCE)
    opened = context.new_page()
    trouble.watch(opened, service)
    yield opened
    context.close()
