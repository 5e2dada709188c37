"""What the client sends is what the service's schemas take."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from pydantic import BaseModel

from xorec.client import Client
from xorec.client.operations import query
from xorec.client.request import Request
from xorec.service.api import (
    codes,
    events,
    experiments,
    items,
    map,
    models,
    popular,
    recommend,
    similar,
)
from xorec.service.api.events import EventBody
from xorec.service.api.items import ItemBody, ItemOut
from xorec.service.api.list_request import RecommendBody, Where
from xorec.service.api.recommend import BatchBody
from xorec.service.api.snapshots import ExportQuery
from xorec.service.api.users import UserQuery

NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)
FILTERS: dict[str, Any] = {"deny": ["x"], "category": ["a", "b"], "not_category": ["c"]}

EVERYTHING: dict[str, Any] = {
    "items": [1, 2],
    "k": 3,
    "seen": True,
    "allow": [],
    "deny": [4],
    "shown": [5],
    "where": {"any": ["a"], "attributes": {"price": 3}},
    "model": "b",
    "experiment": "ab",
    "explain": True,
}
BODIES: list[tuple[Request[Any], type[BaseModel]]] = [
    (Client.recommend.request(7, **EVERYTHING), RecommendBody),
    (Client.recommend.request(items=["a"]), RecommendBody),
    (Client.recommend.request("a", where=Where(none=["b"])), RecommendBody),
    (Client.recommend_batch.request([query(7), query(8, k=2)]), BatchBody),
    (Client.send.request("a", "b", "buy", value=2.0, ts=NOON, request_id="r"), events.EventsBody),
    (Client.put_items.request({"id": 1, "from": NOON, "hidden": True}), items.ItemsBody),
    (Client.put_items.request(ItemBody.model_validate({"id": 1, "until": NOON})), items.ItemsBody),
    (Client.patch_item.request(1, from_=NOON, name="n", categories=["c"]), items.ItemPatch),
    (Client.activate.request(3, "b"), models.ActivateBody),
    (Client.rollback.request("b"), models.RollbackBody),
    (Client.refit.request(recipe="als", settings={"epochs": 2}), models.RefitBody),
    (Client.refit.request("b", kind="update", activate=False), models.RefitBody),
    (Client.put_experiment.request("ab", {"default": 1.0}, salt="s"), experiments.ExperimentBody),
]
QUERIES: list[tuple[Request[Any], type[BaseModel]]] = [
    (Client.next.request("r", 3), recommend.NextQuery),
    (Client.similar.request(1, 3, allow=[2], model="b", **FILTERS), similar.SimilarQuery),
    (Client.similar_users.request(1, 3, model="b"), similar.SimilarUsersQuery),
    (Client.explain.request(1, 2, items=[3], k=2, model="b"), similar.ExplainQuery),
    (Client.popular.request(3, user=1, model="b", **FILTERS), popular.RankedQuery),
    (Client.latest.request(3, user=1, model="b", **FILTERS), popular.RankedQuery),
    (Client.trending.request("7d", 3, user=1, model="b", **FILTERS), popular.TrendingQuery),
    (Client.events.request(1, 3, before=9), events.EventsQuery),
    (Client.erase.request(1), events.EraseQuery),
    (Client.item.request(1, 2, model="b"), items.ItemQuery),
    (Client.items.request("q", 3), items.ItemQuery),
    (Client.delete_item.request(1), items.ItemId),
    (Client.users.request("q", 3, user=1, model="b"), UserQuery),
    (Client.users.request(item=2), UserQuery),
    (Client.categories.request(3, model="b"), items.CategoryQuery),
    (Client.codes.request(1, items=[2, 3], of=[4, 5], model="b"), codes.CodesQuery),
    (Client.tasks.request("t"), models.TaskQuery),
    (Client.experiments.request("ab", kind="buy"), experiments.ExperimentQuery),
    (Client.map.request(3, model="b"), map.MapQuery),
    (
        Client.map_colours.request("distance", bit=1, user=2, item=3, most=4, model="b"),
        map.ColoursQuery,
    ),
    (Client.map_items.request([1, 2], items=[3], user=4, model="b"), map.MapItemsQuery),
    (Client.histogram.request(1, k=3, model="b"), codes.HistogramQuery),
    (Client.export.request("items", after=3), ExportQuery),
]


@pytest.mark.parametrize(("request_", "schema"), BODIES, ids=lambda one: getattr(one, "what", ""))
def test_bodies_fit_the_schemas(request_: Request[Any], schema: type[BaseModel]) -> None:
    sent = json.loads(request_.knowing(5).content or b"")
    read = schema.model_validate_json(request_.knowing(5).content or b"")
    names = {field.alias or name: name for name, field in schema.model_fields.items()}
    assert sent.keys() <= names.keys()
    if isinstance(read, RecommendBody):
        assert read.seq == 5
    if isinstance(read, BatchBody):
        for one in read.queries:
            assert RecommendBody.model_validate(one).seq == 5
    if isinstance(read, events.EventsBody):
        for event in read.events:
            assert EventBody.model_validate_json(json.dumps(event)).event_id


@pytest.mark.parametrize(("request_", "schema"), QUERIES, ids=lambda one: getattr(one, "what", ""))
def test_queries_fit_the_schemas(request_: Request[Any], schema: type[BaseModel]) -> None:
    sent: dict[str, Any] = {}
    properties = schema.model_json_schema()["properties"]
    lists_ = {name for name, one in properties.items() if '"array"' in json.dumps(one)}
    for name, value in request_.knowing(5).params:
        if name in lists_:
            sent.setdefault(name, []).append(value)
        else:
            assert name not in sent
            sent[name] = value
    read = schema.model_validate(sent)  # unknown names are refused
    assert getattr(read, "seq", None) == (5 if "seq" in schema.model_fields else None)


def test_every_place_that_takes_a_seq_is_known() -> None:
    """A list that can know the client's events does."""
    for request, schema in (*BODIES, *QUERIES):
        assert (request.seq is not None) == ("seq" in schema.model_fields or schema is BatchBody)


def test_the_ids_types_stay() -> None:
    assert json.loads(Client.recommend.request(7, deny=["7"]).content or b"") == {
        "user": 7,
        "deny": ["7"],
        "k": 10,
    }


def test_an_event_keeps_its_own_id() -> None:
    (event,) = (Client.send.request(1, 2, event_id="mine").body or {})["events"]
    assert event["event_id"] == "mine"


def test_the_times_of_an_item_come_back() -> None:
    item = ItemOut.model_validate({"id": 1, "from_": "2026-11-16T12:00:00Z"})
    read = ItemOut.model_validate_json(item.model_dump_json(by_alias=True))
    assert read.from_ == item.from_
