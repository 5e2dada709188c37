"""The client against the service itself: every method, plain and async."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.load import Served
from tests.support.waiting import PATIENCE, until
from xorec.client import AsyncClient, Client, ClientError
from xorec.client.operations import query

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("client")
    with Served(folder, items=60, users=20) as served:
        yield served


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with Client(served.url, timeout=PATIENCE) as client:
        yield client


def test_lists(client: Client) -> None:
    best = client.recommend(1, k=5)
    assert len(best.items) == 5
    assert best.model is not None
    assert best.model.generation == 1
    more = client.next(best.request_id, 5)
    assert not {item.id for item in more.items} & {item.id for item in best.items}
    batch = client.recommend_batch([query(1, k=5), query(items=[3], k=2), query("no")])
    assert [one.status < 400 for one in batch.results] == [True, True, False]
    assert batch.results[0].answer is not None
    assert batch.results[0].answer.items == best.items
    assert len(client.similar(3, 4).items) == len(client.similar_users(3, 4).users) == 4
    assert client.explain(best.items[0].id, 1).explanation
    for ranked in (client.popular(3), client.latest(3), client.trending("1h", 3)):
        assert len(ranked.items) <= 3
    assert len(client.map(10).x) == 10
    assert sum(client.histogram(1).counts) == 60
    codes = client.codes(1, of=[item.id for item in best.items])
    assert codes.bits == 64
    for found, item in zip(best.items, codes.items, strict=True):
        assert (int(codes.user or "", 16) ^ int(item.code or "", 16)).bit_count() == found.distance
    assert client.categories().categories == []
    assert all(one.count for one in client.users(item=best.items[0].id).users)


def test_events_are_known_to_the_next_list(client: Client) -> None:
    best = client.recommend(2).items[0].id
    sent = client.send(2, best, "buy", event_id="mine")
    assert (sent.accepted, sent.duplicates, sent.durability) == (1, 0, "disk")
    assert client.send(2, best, "buy", event_id="mine").duplicates == 1
    assert client.seq == sent.seq
    assert best not in [item.id for item in client.recommend(2, k=50).items]
    assert [event.event_id for event in client.events(2).events] == ["mine"]
    assert [line["event_id"] for line in client.export()][-1] == "mine"
    client.send_events([{"user": 99, "item": 3}, {"user": 99, "item": 4}])
    assert client.erase(99).events == 2
    assert client.events(99).events == []
    with pytest.raises(ClientError) as caught:
        client.send_events([{"user": 1, "item": 2}, {"user": "one", "item": 2}])
    assert (caught.value.status in (400, 422), caught.value.at) == (True, 1)


def test_items_and_users(client: Client) -> None:
    assert client.put_items({"id": 7, "name": "seven", "categories": ["odd"]}).changed == 1
    assert client.patch_item(7, from_="2020-01-01T00:00:00Z", hidden=True).seq == client.seq
    (item,) = client.item(7).items
    assert (item.name, item.hidden, item.available) == ("seven", True, False)
    assert (item.from_ or "").startswith("2020-01-01")
    assert 7 not in [one.id for one in client.popular(60).items]
    assert [one.id for one in client.items("seven").items] == [7]
    assert client.delete_item(7).changed == 1
    assert [line["id"] for line in client.export("items")]
    assert client.users(user=1).users[0].known
    assert client.users("1", 3).users


def test_what_operators_ask(client: Client) -> None:
    assert client.health().ready
    assert client.stats().stats["worker"] == 0
    live = client.live(0.2)
    assert next(iter(live)).event == "stats"
    live.close()  # type: ignore[attr-defined]
    client.send(5, 6)
    task = client.refit(kind="update").task.id
    until(lambda: client.tasks(task).tasks[0].state in ("done", "failed"), pause=0.05)
    assert client.models().models[0].generation == 2
    assert [client.activate(number).generation for number in (1, 2)] == [1, 2]
    assert client.rollback().generation == 1
    made = client.make_snapshot().snapshot
    assert made.id in [one.id for one in client.snapshots().snapshots]
    client.put_experiment("one", {"default": 1.0})
    assert client.recommend(1, experiment="one").arm == "default"
    (experiment,) = client.experiments("one").experiments
    assert [arm.model for arm in experiment.arms] == ["default"]


def test_the_same_to_be_awaited(served: Served) -> None:
    async def main() -> list[int]:
        async with AsyncClient(served.url, timeout=PATIENCE) as client:
            lists = await asyncio.gather(*(client.recommend(user, k=3) for user in range(8)))
            await client.send(1, 2)
            seqs = [line["seq"] async for line in client.export()]
            assert seqs == sorted(seqs)
            assert client.seq in seqs
            async for event in client.live(0.2):
                assert event.event == "stats"
                break
            return [len(one.items) for one in lists]

    assert asyncio.run(main()) == [3] * 8
