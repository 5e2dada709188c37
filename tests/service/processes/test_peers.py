"""Requests between workers, over Unix sockets, with apps that stand in for two workers."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.waiting import PATIENCE
from xorec.service.api.base import Answer
from xorec.service.api.list_request import RecommendBody
from xorec.service.api.recommend import NextQuery, _asked_elsewhere
from xorec.service.config import Config
from xorec.service.http.app import App, WorkerHealth
from xorec.service.http.exchange import Reply, Request, RequestIds
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Routes
from xorec.service.log.records import Exposure
from xorec.service.metrics import Metrics
from xorec.service.processes import peers as peers_module
from xorec.service.processes.peers import Peers
from xorec.service.processes.serve import folder_for_sockets

KEY = "write-write-write"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has no processor just now is not away."""
    monkeypatch.setattr(peers_module, "CONNECT", PATIENCE)
    monkeypatch.setattr(peers_module, "ANSWER", PATIENCE)


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short name, whatever TMPDIR is: the name of a socket has 107 bytes at most."""
    place = "/tmp" if Path("/tmp").is_dir() else None
    made = tempfile.mkdtemp(prefix="x", dir=place)
    yield Path(made)
    shutil.rmtree(made)


class Echo(Answer):
    """Who answered, and to what."""

    worker: int
    got: Any = None


class Behind:
    """Stands in for a service."""

    def __init__(self, worker: int, peers: Peers) -> None:
        self.worker, self.peers = worker, peers
        self.exposures: list[Exposure] = []

    def follow(self) -> None:
        """There is no log."""

    def expose(self, exposure: Exposure) -> None:
        self.exposures.append(exposure)


ROUTES = Routes()


@ROUTES("POST", "/write", role="write", writer=True)
async def write(service: Any, body: RecommendBody) -> Echo:
    await asyncio.sleep(0.001)
    if body.user == "bad":
        raise HttpError(507, "no room.")
    return Echo(worker=service.worker, got=body.user)


@ROUTES("GET", "/next")
async def following(service: Any, request: Request, query: NextQuery) -> Echo | Reply:
    """Worker 0 alone knows the list "known"."""
    if service.worker == 0 and query.request_id in ("known", "w0-0123456789-1"):
        return Echo(worker=0)
    reply = await _asked_elsewhere(service, request, query.request_id)
    if reply is None:
        raise HttpError(404, "no such list.")
    return reply


Test = Callable[[list[App], list[Peers]], Awaitable[None]]


def with_workers(folder: Path, test: Test, count: int = 3) -> None:
    """Run a test with so many workers in one loop."""

    async def run() -> None:
        config = Config.model_validate({"keys": {"write": KEY}})
        peers = [Peers(folder, n, count) for n in range(count)]
        apps = []
        for n in range(count):
            health, metrics = WorkerHealth(), Metrics()
            forward = peers[n].ask_writer if n else None
            app = App(config, ROUTES, health, metrics, worker=n, forward=forward)
            app.service, health.state = cast("Any", Behind(n, peers[n])), "ready"
            await peers[n].listen(app.reply, app.expose)
            apps.append(app)
        try:
            await test(apps, peers)
        finally:
            for one in peers:
                await one.close()
            for app in apps:
                app.close()

    asyncio.run(run())


def post(user: Any, **headers: str) -> tuple[Request, bytes]:
    own = {"x-api-key": KEY, "content-type": "application/json", **headers}
    return Request("POST", "/write", "", own), json.dumps({"user": user}).encode()


def get(request_id: str) -> Request:
    return Request("GET", "/next", f"request_id={request_id}", {"x-api-key": KEY})


def test_the_writer_answers_what_reaches_another(folder: Path) -> None:
    async def test(apps: list[App], peers: list[Peers]) -> None:
        asked = [apps[n % 3].reply(*post(n)) for n in range(30)]
        for n, reply in enumerate(await asyncio.gather(*asked)):
            body = json.loads(reply.body)
            assert (reply.status, body["worker"], body["got"]) == (200, 0, n)
            assert body["request_id"].startswith(f"w{n % 3}-")
        reply = await apps[1].reply(*post("\u00fc\x00/" * 10_000, **{"x-request-id": "mine"}))
        assert json.loads(reply.body)["got"] == "\u00fc\x00/" * 10_000
        assert json.loads(reply.body)["request_id"] == "mine"

    with_workers(folder, test)


def test_problems_come_back_as_they_are(folder: Path) -> None:
    async def test(apps: list[App], peers: list[Peers]) -> None:
        reply = await apps[2].reply(*post("bad"))
        assert (reply.status, reply.media_type) == (507, "application/problem+json")
        assert json.loads(reply.body)["detail"] == "no room."
        refused = await apps[2].reply(*post(1, **{"x-api-key": "wrong"}))
        assert refused.status == 401

    with_workers(folder, test)


def test_a_writer_that_is_away_is_503_and_its_return_is_noticed(folder: Path) -> None:
    async def test(apps: list[App], peers: list[Peers]) -> None:
        async def go_away() -> None:
            await peers[0].close()
            its_own = [one for one in asyncio.all_tasks() if "connected" in repr(one)]
            for one in its_own:
                one.cancel()
            await asyncio.gather(*its_own, return_exceptions=True)
            async with asyncio.timeout(PATIENCE):
                while not all(reader.at_eof() for reader, _ in peers[1]._free.get(0, [])):
                    await asyncio.sleep(0.005)  # until the other side knows

        assert (await apps[1].reply(*post(1))).status == 200
        await go_away()
        await peers[0].listen(apps[0].reply, apps[0].expose)
        assert (await apps[1].reply(*post(2))).status == 200  # not by the old connection
        await go_away()
        reply = await apps[1].reply(*post(1))
        assert reply.status == 503
        assert ("retry-after", "1") in reply.headers
        assert "the worker that writes is away" in json.loads(reply.body)["detail"]
        await peers[0].listen(apps[0].reply, apps[0].expose)
        assert (await apps[1].reply(*post(2))).status == 200

    with_workers(folder, test)


@pytest.mark.parametrize("known", ["known", "w0-0123456789-1"])
def test_a_list_is_found_at_the_worker_that_made_it(folder: Path, known: str) -> None:
    async def test(apps: list[App], peers: list[Peers]) -> None:
        for app in apps:
            reply = await app.reply(get(known), b"")
            assert (reply.status, json.loads(reply.body)["worker"]) == (200, 0)
            for unknown in ("other", "w0-0123456789-2", "w9-0123456789-2", RequestIds(1).new()):
                assert (await app.reply(get(unknown), b"")).status == 404

    with_workers(folder, test)


def test_exposures_reach_the_writer(folder: Path) -> None:
    async def test(apps: list[App], peers: list[Peers]) -> None:
        exposure = Exposure("r1", "e", "default", 7, [1, "b"], 5)
        peers[2].expose(exposure)
        behind: Any = apps[0].service
        async with asyncio.timeout(PATIENCE):
            while not behind.exposures:
                await asyncio.sleep(0.005)
        assert behind.exposures == [exposure]

    with_workers(folder, test)


@pytest.mark.parametrize(("letters", "short"), [(76, True), (77, False), (200, False)])
def test_sockets_are_in_a_folder_whose_name_is_short_enough(
    monkeypatch: pytest.MonkeyPatch, letters: int, short: bool
) -> None:
    folder = "/" + "x" * letters
    monkeypatch.setattr(tempfile, "tempdir", folder)
    assert folder_for_sockets() == (folder if short else "/tmp")
