"""What the client sends is what the service's schemas take."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from pydantic import BaseModel

from xorec.client import admin_requests as admin
from xorec.client import event_requests as events
from xorec.client import item_requests as catalogue
from xorec.client import list_requests as lists
from xorec.client import map_requests as maps
from xorec.client.request import Request, StreamRequest
from xorec.service.api.batch import BatchBody
from xorec.service.api.codes import CodesQuery, HistogramQuery
from xorec.service.api.events import EraseQuery, EventBody, EventsBody, EventsQuery
from xorec.service.api.experiments import ExperimentBody, ExperimentQuery
from xorec.service.api.items import (
    CategoryQuery,
    ItemBody,
    ItemId,
    ItemOut,
    ItemPatch,
    ItemQuery,
    ItemsBody,
)
from xorec.service.api.list_request import RecommendBody, Where
from xorec.service.api.map import ColoursQuery, MapItemsQuery, MapQuery
from xorec.service.api.models import ActivateBody, RefitBody, RollbackBody, TaskQuery
from xorec.service.api.popular import RankedQuery, TrendingQuery
from xorec.service.api.recommend import NextQuery
from xorec.service.api.similar import ExplainQuery, SimilarQuery, SimilarUsersQuery
from xorec.service.api.snapshots import ExportQuery
from xorec.service.api.users import UserQuery

NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)
FILTERS: dict[str, Any] = {"deny": ["x"], "category": ["a", "b"], "not_category": ["c"]}

BODIES: list[tuple[Request[Any], type[BaseModel]]] = [
    (
        lists.recommend(
            7,
            items=[1, 2],
            k=3,
            seen=True,
            allow=[],
            deny=[4],
            shown=[5],
            where={"any": ["a"], "attributes": {"price": 3}},
            model="b",
            experiment="ab",
            explain=True,
        ),
        RecommendBody,
    ),
    (lists.recommend(items=["a"]), RecommendBody),
    (
        lists.recommend("a", where=Where(none=["b"])),
        RecommendBody,
    ),
    (lists.recommend_batch([lists.query(7), lists.query(8, k=2)]), BatchBody),
    (events.send("a", "b", "buy", value=2.0, ts=NOON, request_id="r"), EventsBody),
    (catalogue.put_items({"id": 1, "from": NOON, "hidden": True}), ItemsBody),
    (
        catalogue.put_items(ItemBody.model_validate({"id": 1, "until": NOON})),
        ItemsBody,
    ),
    (catalogue.patch_item(1, from_=NOON, name="n", categories=["c"]), ItemPatch),
    (admin.activate(3, "b"), ActivateBody),
    (admin.rollback("b"), RollbackBody),
    (admin.refit(recipe="als", settings={"epochs": 2}), RefitBody),
    (admin.refit("b", kind="update", activate=False), RefitBody),
    (admin.put_experiment("ab", {"default": 1.0}, salt="s"), ExperimentBody),
]
QUERIES: list[tuple[Request[Any], type[BaseModel]]] = [
    (lists.next_items("r", 3), NextQuery),
    (lists.similar(1, 3, allow=[2], model="b", **FILTERS), SimilarQuery),
    (lists.similar_users(1, 3, model="b"), SimilarUsersQuery),
    (lists.explain(1, 2, items=[3], k=2, model="b"), ExplainQuery),
    (lists.popular(3, user=1, model="b", **FILTERS), RankedQuery),
    (lists.latest(3, user=1, model="b", **FILTERS), RankedQuery),
    (lists.trending("7d", 3, user=1, model="b", **FILTERS), TrendingQuery),
    (events.events(1, 3, before=9), EventsQuery),
    (events.erase(1), EraseQuery),
    (catalogue.item(1, 2, model="b"), ItemQuery),
    (catalogue.items("q", 3), ItemQuery),
    (catalogue.delete_item(1), ItemId),
    (catalogue.users("q", 3, user=1, model="b"), UserQuery),
    (catalogue.users(item=2), UserQuery),
    (catalogue.categories(3, model="b"), CategoryQuery),
    (catalogue.codes(1, items=[2, 3], of=[4, 5], model="b"), CodesQuery),
    (admin.tasks("t"), TaskQuery),
    (admin.experiments("ab", kind="buy"), ExperimentQuery),
    (maps.item_map(3, model="b"), MapQuery),
    (maps.colours("distance", bit=1, user=2, item=3, most=4, model="b"), ColoursQuery),
    (maps.map_items([1, 2], items=[3], user=4, model="b"), MapItemsQuery),
    (admin.histogram(1, k=3, model="b"), HistogramQuery),
    (admin.export("items", after=3).request, ExportQuery),
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
        for query in read.queries:
            assert RecommendBody.model_validate(query).seq == 5
    if isinstance(read, EventsBody):
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
    assert json.loads(lists.recommend(7, deny=["7"]).content or b"") == {
        "user": 7,
        "deny": ["7"],
        "k": 10,
    }


def test_an_event_keeps_its_own_id() -> None:
    (event,) = (events.send(1, 2, event_id="mine").body or {})["events"]
    assert event["event_id"] == "mine"


def test_streams_are_gets() -> None:
    for stream in (admin.export(), admin.live()):
        assert isinstance(stream, StreamRequest)
        assert stream.request.method == "GET"


def test_the_times_of_an_item_come_back() -> None:
    item = ItemOut.model_validate({"id": 1, "from_": "2026-11-16T12:00:00Z"})
    read = ItemOut.model_validate_json(item.model_dump_json(by_alias=True))
    assert read.from_ == item.from_
