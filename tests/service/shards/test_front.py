"""A front with two shards answers as one server that has all items, to the byte."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import xorec
from tests.support.service_process import RunningService, running_service
from tests.support.waiting import PATIENCE, until
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted
from xorec.testing.examples import shop_with_categories
from xorec.testing.store_models import codes, recommender_of

pytestmark = pytest.mark.process

DATA = planted(60, 80, per_user=12)
KEYS = {"read": "read-read-read-read", "admin": "admin-admin-admin"}
PATIENT = {"shard_seconds": 60}
"""A machine that runs tests may be very busy."""
ADMIN = {"Authorization": f"Bearer {KEYS['admin']}"}


@dataclass
class Both:
    """One server that has all items, and a front with its shards."""

    whole: RunningService
    front: RunningService
    shards: list[RunningService]
    shop: Recommender

    def ask(self, method: str, path: str, **what: Any) -> tuple[bytes, bytes]:
        """What both answer, without what differs from request to request."""
        answers = []
        for service in (self.whole, self.front):
            reply = httpx.request(
                method, service.base_url + path, timeout=PATIENCE, headers=ADMIN, **what
            )
            text = re.sub(rb'"request_id":"[^"]*"', b"", reply.content)
            answers.append(b"%d " % reply.status_code + re.sub(rb'"took_us":\d+', b"", text))
        return answers[0], answers[1]

    def same(self, method: str, path: str, **what: Any) -> bytes:
        whole, front = self.ask(method, path, **what)
        assert front == whole, (method, path, what)
        return whole


def started(stack: ExitStack, folder: Path, shop: Recommender) -> Both:
    shop.save(folder / "m.xorec")

    def serve(name: str, **config: Any) -> RunningService:
        config["keys"] = KEYS
        return stack.enter_context(
            running_service(folder / "m.xorec", folder / name, config=config)
        )

    whole = serve("whole")
    shards = [serve(f"shard{number}", shard=f"{number}/2") for number in (1, 2)]
    front = serve("front", shards=[one.base_url for one in shards], limits=PATIENT)
    return Both(whole, front, shards, shop)


MAKE: dict[str, Callable[[], Recommender]] = {
    "codes": lambda: Recommender.from_model(xorec.DSIML(bits=16, epochs=2).fit(DATA), DATA),
    "slim": lambda: Recommender.from_model(xorec.SLIM().fit(DATA), DATA),
}


@pytest.fixture(scope="module", params=MAKE)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    with ExitStack() as stack:
        yield started(stack, tmp_path_factory.mktemp("shards"), MAKE[request.param]())


def test_lists_are_the_same_to_the_byte(both: Both) -> None:
    items, users = list(both.shop.item_ids), list(both.shop.user_ids)
    rng = np.random.default_rng(0)
    for user in users[:15]:
        both.same("GET", "/v1/recommend", params={"user": user, "k": int(rng.integers(1, 90))})
    for _ in range(40):
        some = rng.choice(items, size=30, replace=False).tolist()
        body: dict[str, Any] = {"k": int(rng.integers(1, 50))}
        kind = int(rng.integers(3))
        if kind != 1:
            body["user"] = int(rng.choice(users))
        if kind != 0:
            body["items"] = some[: int(rng.integers(1, 6))]
        body["seen"] = bool(rng.integers(2))
        if rng.integers(2):
            body["deny"] = some[6:20]
        if rng.integers(2):
            body["allow"] = some[: int(rng.integers(0, 30))]
        body["explain"] = bool(rng.integers(2))
        answer = both.same("POST", "/v1/recommend", json=body)
        assert answer.startswith(b"200 "), answer
    both.same("GET", "/v1/recommend", params={"user": 10**7})  # popular items
    both.same("GET", "/v1/recommend", params={"user": "x"})  # no id
    both.same("GET", "/v1/recommend", params={"user": users[0], "k": 10**6})
    both.same("POST", "/v1/recommend", json={"user": users[0], "deny": items})
    both.same("POST", "/v1/recommend", json={"user": users[0], "allow": []})


def test_a_batch_and_what_goes_on_after_a_list(both: Both) -> None:
    users = list(both.shop.user_ids)
    queries = [{"user": user, "k": 7} for user in users[:9]] + [{"user": "x"}, {"items": [1003]}]
    both.same("POST", "/v1/recommend/batch", json={"queries": queries, "distinct": True})
    for service in (both.whole, both.front):
        with service.client(headers={**ADMIN, "X-Request-Id": "list-1"}) as client:
            assert client.get("/v1/recommend", params={"user": users[2], "k": 4}).status_code == 200
    first = both.same("GET", "/v1/next", params={"request_id": "list-1", "k": 6})
    assert both.same("GET", "/v1/next", params={"request_id": "list-1", "k": 6}) != first


def test_events_are_known_to_the_very_next_list(both: Both) -> None:
    items = list(both.shop.item_ids)
    for number in range(12):
        user = int(both.shop.user_ids[number % 4]) if number % 3 else 10**6 + number
        event = {"user": user, "item": items[(number * 7) % 80], "event_id": f"e{number}"}
        both.same("POST", "/v1/events", json=event)
        answer = both.same("GET", "/v1/recommend", params={"user": user, "k": 12})
        assert f'"id":{event["item"]},'.encode() not in answer
    hidden = items[3]
    both.same("PUT", "/v1/items", json={"id": hidden, "hidden": True, "categories": ["new"]})
    both.same("PUT", "/v1/items", json={"id": items[4], "categories": ["new"]})
    for where in ({"any": ["new"]}, {"none": ["new"]}):
        answer = both.same(
            "POST", "/v1/recommend", json={"user": 7, "k": 80, "seen": True, "where": where}
        )
        assert f'"id":{hidden},'.encode() not in answer


def test_similar_items_where_shards_can_find_them(both: Both) -> None:
    path, params = (
        "/v1/similar",
        {"item": both.shop.item_ids[5], "k": 9, "deny": both.shop.item_ids[6]},
    )
    if both.shop.representation.kind == "codes":
        both.same("GET", path, params=params)
        return
    whole, front = both.ask("GET", path, params=params)
    assert whole.startswith(b"200 ")
    assert front.startswith(b"501 ")
    assert b"only codes without offsets find similar items in the same way" in front


def test_what_the_front_answers_itself(both: Both) -> None:
    user, item = both.shop.user_ids[3], both.shop.item_ids[9]
    both.same("GET", "/v1/explain", params={"user": user, "item": item})
    both.same("GET", "/v1/popular", params={"k": 5})
    both.same("GET", "/v1/users", params={"user": user})
    both.same("GET", "/v1/codes", params={"user": user, "of": item})


@pytest.mark.parametrize(
    ("method", "path", "what"),
    [
        ("POST", "/v1/refit", {"json": {"kind": "update"}}),
        ("POST", "/v1/models/activate", {"json": {"generation": 1}}),
        ("POST", "/v1/models/rollback", {"json": {}}),
        ("DELETE", "/v1/events", {"params": {"user": 3}}),
        ("GET", "/v1/compare", {"params": {"a": "default", "b": "default"}}),
        ("GET", "/v1/shard", {}),
    ],
)
def test_what_a_front_refuses(both: Both, method: str, path: str, what: Any) -> None:
    url = both.front.base_url + path
    reply = httpx.request(method, url, headers=ADMIN, timeout=PATIENCE, **what)
    assert reply.status_code == 501, reply.text
    assert f"{path} is not answered by this server: " in reply.json()["detail"]


def test_a_shard_sends_people_to_the_front(both: Both) -> None:
    base, (first, _) = both.shards[0].base_url, both.shards
    for path, params in (("/v1/recommend", {"user": 3}), ("/v1/models", {}), ("/v1/events", {})):
        reply = ask(base + path, params=params, headers=ADMIN)
        assert reply.status_code == 421
        assert "it holds shard 1/2 of the items, for a front: ask the front" in reply.text
    assert ask(base + "/readyz").status_code == 200
    assert ask(base + "/v1/shard").status_code == 401
    assert ask(base + "/v1/shard", headers=ADMIN).json()["stop"] == 40
    assert first.lines[0].rstrip().endswith("shard 1/2; 0 events replayed)")


def ask(url: str, **how: Any) -> httpx.Response:
    return httpx.get(url, timeout=PATIENCE, **how)


def test_a_shard_that_is_away_slow_wrong_and_back(tmp_path: Path) -> None:
    shop, other = recommender_of(codes(20)), recommender_of(codes(20, seed=1))
    shop.save(tmp_path / "m.xorec")
    other.save(tmp_path / "other.xorec")
    with ExitStack() as stack:
        first = stack.enter_context(
            running_service(tmp_path / "m.xorec", tmp_path / "s1", config={"shard": "1/2"})
        )
        kept = stack.enter_context(socket.socket())  # nobody else takes the port meanwhile
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = int(kept.getsockname()[1])

        def second(model: str, shard: str, folder: str) -> RunningService:
            return inner.enter_context(
                running_service(
                    tmp_path / model,
                    tmp_path / folder,
                    config={"shard": shard},
                    port=port,
                )
            )

        url = f"http://127.0.0.1:{port}"

        def front(name: str, limits: dict[str, Any]) -> httpx.Client:
            settings = {"shards": [first.base_url, url], "limits": limits}
            made = running_service(tmp_path / "m.xorec", tmp_path / name, config=settings)
            return stack.enter_context(stack.enter_context(made).client())

        client, hasty = front("front", PATIENT), front("hasty", {"shard_seconds": 1})

        def told(path: str = "/v1/recommend?user=3") -> str:
            reply = client.get(path)
            assert reply.status_code == 503, reply.text
            assert reply.headers["retry-after"]
            detail: str = reply.json()["detail"]
            assert detail.startswith(f"shard 2 of 2 ({url}) ")
            return detail

        def is_missed(path: str) -> bool:
            """Whether the one that says nothing is named; a busy machine may delay the other."""
            reply = hasty.get(path)
            assert reply.status_code == 503, reply.text
            detail: str = reply.json()["detail"]
            assert "does not answer in 1 seconds" in detail
            return detail.startswith(f"shard 2 of 2 ({url}) ")

        def is_right() -> bool:
            reply = client.get("/v1/recommend?user=3")
            assert (
                reply.status_code == 503
                or [one["id"] for one in reply.json()["items"]] == shop.recommend(3).ids()
            )
            return reply.status_code == 200 and client.get("/readyz").status_code == 200

        for path in ("/v1/recommend?user=3", "/readyz"):  # it never was there
            assert "cannot be reached: Connection refused" in told(path)
        for _ in range(2):
            with ExitStack() as inner:
                service = second("m.xorec", "2/2", "s2")
                until(is_right)  # used at once, without a restart of the front
                service.process.kill()
                service.process.wait(PATIENCE)
                assert "cannot be reached" in told()
                assert "cannot be reached" in told("/readyz")
        with ExitStack() as inner:
            service = second("m.xorec", "2/2", "s2")
            until(is_right)
            service.process.send_signal(19)  # SIGSTOP: it is there, and says nothing
            for path in ("/v1/recommend?user=3", "/readyz"):
                until(lambda path=path: is_missed(path))  # type: ignore[misc]
            service.process.send_signal(18)
            until(is_right)
        with ExitStack() as inner:
            second("other.xorec", "2/2", "s3")
            assert "answers 409: this shard serves the model" in told()
            assert "serves another model" in told("/readyz")
        with ExitStack() as inner:
            second("m.xorec", "2/3", "s4")
            assert "answers 409: this is shard 2/3, not '2/2'" in told()
            assert "holds another share: it says '2/3'" in told("/readyz")
        with ExitStack() as inner:
            second("m.xorec", "2/2", "s2")
            until(is_right)
        assert client.get("/livez").status_code == 200


def test_a_model_that_cannot_be_cut_is_refused_at_the_start(tmp_path: Path) -> None:
    bpr = Recommender.from_model(xorec.BPR(epochs=1).fit(DATA), DATA)
    bpr.save(tmp_path / "m.xorec")
    for config in ({"shard": "1/2"}, {"shards": ["http://127.0.0.1:1"]}):
        with (
            pytest.raises(AssertionError, match="is not searched in shards"),
            running_service(tmp_path / "m.xorec", tmp_path / next(iter(config)), config=config),
        ):
            pass


def test_several_workers_of_a_front_and_of_a_shard(tmp_path: Path) -> None:
    shop = shop_with_categories()
    shop.save(tmp_path / "m.xorec")
    with ExitStack() as stack:
        only = stack.enter_context(
            running_service(tmp_path / "m.xorec", tmp_path / "s", 2, config={"shard": "1/1"})
        )
        config = {"shards": [only.base_url], "limits": PATIENT}
        front = stack.enter_context(
            running_service(tmp_path / "m.xorec", tmp_path / "front", 2, config=config)
        )
        workers: list[str] = []

        def both_answered() -> bool:
            """Each time on a connection of its own: either may take it."""
            reply = ask(f"{front.base_url}/v1/recommend?user=cem&k=3").json()
            assert [one["id"] for one in reply["items"]] == shop.recommend("cem", 3).ids()
            workers.append(reply["request_id"].split("-")[0])
            return len(workers) >= 20 and set(workers) == {"w0", "w1"}

        until(both_answered)
