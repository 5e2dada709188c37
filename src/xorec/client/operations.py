"""Operations: one table of the service's endpoints, from which both clients are made."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel

from xorec.client.errors import error_of
from xorec.client.request import Json, LiveEvent, ServerSentEvents, json_line, operation, stream
from xorec.service.api.base import JsonId
from xorec.service.api.codes import CodesAnswer, HistogramAnswer
from xorec.service.api.compare import CompareAnswer
from xorec.service.api.events import EraseAnswer, EventBody, EventList, EventsAnswer
from xorec.service.api.experiments import ExperimentChanged, ExperimentList
from xorec.service.api.items import CategoryList, ItemBody, ItemList, ItemsChanged
from xorec.service.api.list_request import Where
from xorec.service.api.map import ColoursAnswer, MapAnswer, MapItemsAnswer
from xorec.service.api.models import ActivateAnswer, ModelList, TaskAnswer, TaskList
from xorec.service.api.popular import RankedAnswer
from xorec.service.api.recommend import BatchAnswer, RecommendAnswer
from xorec.service.api.similar import ExplainAnswer, SimilarAnswer, SimilarUsersAnswer
from xorec.service.api.snapshots import SnapshotAnswer, SnapshotList
from xorec.service.api.stats import StatsAnswer
from xorec.service.api.users import UserList

Ids = Iterable[JsonId]


class Health(BaseModel):
    """Whether the service takes requests; detail: why not."""

    ready: bool
    detail: str = ""


def _health(status: int, content: bytes) -> Health:
    if status < 300:
        return Health(ready=True)
    return Health(ready=False, detail=error_of("GET /readyz", status, content).detail)


def _with_id(event: EventBody | Mapping[str, Any]) -> Json:
    """An event with its `event_id`: the retry of a request sends the same one."""
    plain = event.model_dump(exclude_unset=True) if isinstance(event, EventBody) else dict(event)
    if plain.get("event_id") is None:
        plain["event_id"] = uuid4().hex
    return plain


def _item(item: ItemBody | Mapping[str, Any]) -> Json:
    if isinstance(item, ItemBody):
        return item.model_dump(exclude_unset=True, by_alias=True)
    return {name: value for name, value in item.items() if value is not None}


class Operations:
    """The methods of both clients. They have no bodies: their arguments are what is sent.

    `Client` has an example of each.

    >>> Operations.similar.request("tea", category=["drinks"]).params
    (('item', 'tea'), ('k', '10'), ('category', 'drinks'))
    """

    # -- lists

    @operation("POST", "/v1/recommend", seq="body")
    def recommend(
        self,
        user: JsonId | None = None,
        *,
        items: Ids = (),
        k: int = 10,
        seen: bool = False,
        allow: Ids | None = None,
        deny: Ids = (),
        shown: Ids = (),
        where: Where | Mapping[str, Any] | None = None,
        model: str | None = None,
        experiment: str | None = None,
        explain: bool = False,
    ) -> RecommendAnswer:
        """The `k` best items for a user, for a new user who has `items`, or for both together.

        seen: items that the user has may come, too. allow: only these; deny, shown: not these.
        where: categories (any, all, none) and attributes. experiment: the model is the user's arm.
        """

    @operation("POST", "/v1/recommend/batch", seq="queries")
    def recommend_batch(
        self, queries: Sequence[Mapping[str, Any]], *, distinct: bool = False
    ) -> BatchAnswer:
        """Several lists by one request, each with its own status. queries: see `query`.

        distinct: the lists are the shelves of one page, and no item comes twice.
        """

    @operation("GET", "/v1/next")
    def next(self, request_id: str, k: int | None = None) -> RecommendAnswer:
        """Go on after a list that was answered, without repeats."""

    @operation("GET", "/v1/similar", seq="query")
    def similar(
        self,
        item: JsonId,
        k: int = 10,
        *,
        allow: Ids | None = None,
        deny: Ids = (),
        category: Sequence[str] = (),
        not_category: Sequence[str] = (),
        model: str | None = None,
    ) -> SimilarAnswer:
        """The `k` items most like this one."""

    @operation("GET", "/v1/similar-users")
    def similar_users(
        self, user: JsonId, k: int = 10, *, model: str | None = None
    ) -> SimilarUsersAnswer:
        """The `k` users most like this one."""

    @operation("GET", "/v1/explain", seq="query")
    def explain(
        self,
        item: JsonId,
        user: JsonId | None = None,
        *,
        items: Ids = (),
        k: int = 5,
        model: str | None = None,
    ) -> ExplainAnswer:
        """Why this item for a user, or for a new user who has `items`."""

    @operation("GET", "/v1/popular", seq="query")
    def popular(
        self,
        k: int = 10,
        *,
        user: JsonId | None = None,
        deny: Ids = (),
        category: Sequence[str] = (),
        not_category: Sequence[str] = (),
        model: str | None = None,
    ) -> RankedAnswer:
        """What most users have; without what `user` has."""

    @operation("GET", "/v1/latest", seq="query")
    def latest(
        self,
        k: int = 10,
        *,
        user: JsonId | None = None,
        deny: Ids = (),
        category: Sequence[str] = (),
        not_category: Sequence[str] = (),
        model: str | None = None,
    ) -> RankedAnswer:
        """The newest items, also those that no model has yet."""

    @operation("GET", "/v1/trending", seq="query")
    def trending(
        self,
        window: str = "24h",
        k: int = 10,
        *,
        user: JsonId | None = None,
        deny: Ids = (),
        category: Sequence[str] = (),
        not_category: Sequence[str] = (),
        model: str | None = None,
    ) -> RankedAnswer:
        """What most users took in the last while. window: 90s, 15m, 24h, 7d."""

    # -- events

    @operation("POST", "/v1/events", prepare=lambda given: {"events": [_with_id(given)]})
    def send(
        self,
        user: JsonId,
        item: JsonId,
        kind: str | None = None,
        *,
        value: float | None = None,
        ts: datetime.datetime | str | None = None,
        event_id: str | None = None,
        request_id: str | None = None,
    ) -> EventsAnswer:
        """One event. request_id: of the list that the user acted on. event_id: the service takes
        each once; one is made up where none is given."""

    @operation(
        "POST",
        "/v1/events",
        prepare=lambda given: {"events": [_with_id(one) for one in given["events"]]},
    )
    def send_events(self, events: Iterable[EventBody | Mapping[str, Any]]) -> EventsAnswer:
        """Several events: all are taken, or none."""

    @operation("GET", "/v1/events")
    def events(
        self, user: JsonId | None = None, k: int = 100, *, before: int | None = None
    ) -> EventList:
        """A user's events, or everybody's, newest first. before: only below this `seq`."""

    @operation("DELETE", "/v1/events")
    def erase(self, user: JsonId) -> EraseAnswer:
        """Forget a user: events, history, code, and what experiments know."""

    # -- items and users

    @operation(
        "PUT", "/v1/items", prepare=lambda given: {"items": [_item(one) for one in given["items"]]}
    )
    def put_items(self, *items: ItemBody | Mapping[str, Any]) -> ItemsChanged:
        """All that is known of some items: name, categories, attributes, hidden, from, until."""

    @operation(
        "PATCH",
        "/v1/items",
        prepare=lambda given: {
            "id": given["item"],
            **{name.rstrip("_"): value for name, value in given["changes"].items()},
        },
    )
    def patch_item(self, /, item: JsonId, **changes: Any) -> ItemsChanged:
        """Change some of what is known of an item; what is not named stays. `from_` is "from"."""

    @operation("DELETE", "/v1/items")
    def delete_item(self, item: JsonId) -> ItemsChanged:
        """Take an item out of every list."""

    @operation("GET", "/v1/items", prepare=lambda given: {"item": given.pop("items"), **given})
    def item(self, *items: JsonId, model: str | None = None) -> ItemList:
        """What is known of an item, or of several."""

    @operation("GET", "/v1/items")
    def items(self, q: str | None = None, k: int = 20, *, model: str | None = None) -> ItemList:
        """Items whose id or name has `q` in it; neither case nor accents count."""

    @operation("GET", "/v1/users")
    def users(
        self,
        q: str | None = None,
        k: int = 20,
        *,
        user: JsonId | None = None,
        item: JsonId | None = None,
        model: str | None = None,
    ) -> UserList:
        """Users whose id has `q` in it, one user with their history, or who has an item."""

    @operation("GET", "/v1/categories")
    def categories(self, k: int = 100, *, model: str | None = None) -> CategoryList:
        """Categories and how many items are in each, those with most items first."""

    @operation("GET", "/v1/codes", seq="query")
    def codes(
        self,
        user: JsonId | None = None,
        *,
        items: Ids = (),
        of: Ids = (),
        model: str | None = None,
    ) -> CodesAnswer:
        """The code that a user's list is searched with, and the codes of the items `of`.

        items: what a new user has, or a user besides.
        """

    # -- figures

    @operation("GET", "/v1/histogram")
    def histogram(
        self,
        user: JsonId | None = None,
        *,
        item: JsonId | None = None,
        k: int = 10,
        model: str | None = None,
    ) -> HistogramAnswer:
        """How far all items are from a user or an item."""

    @operation("GET", "/v1/compare")
    def compare(self, a: str, b: str, *, k: int = 10, users: int = 200) -> CompareAnswer:
        """Two models by name: what their lists have in common, and which ranks better, if known."""

    @operation("GET", "/v1/map")
    def map(self, k: int = 100_000, *, model: str | None = None) -> MapAnswer:
        """The positions of items on the map: two numbers each."""

    @operation("GET", "/v1/map/colours")
    def map_colours(
        self,
        by: Literal["popularity", "category", "bit", "distance"] = "popularity",
        *,
        bit: int | None = None,
        user: JsonId | None = None,
        item: JsonId | None = None,
        items: Ids = (),
        most: int | None = None,
        model: str | None = None,
    ) -> ColoursAnswer:
        """One byte an item, in base64, and what the bytes mean. items: as if the user had them."""

    @operation("GET", "/v1/map/items")
    def map_items(
        self,
        rows: Iterable[int] = (),
        *,
        items: Ids = (),
        user: JsonId | None = None,
        model: str | None = None,
    ) -> MapItemsAnswer:
        """Items by their rows on the map, or the rows of items, or of what a user has."""

    # -- operators

    @operation("GET", "/v1/models")
    def models(self) -> ModelList:
        """All models with their generations."""

    @operation("POST", "/v1/models/activate")
    def activate(self, generation: int, name: str = "default") -> ActivateAnswer:
        """Serve this generation of a model."""

    @operation("POST", "/v1/models/rollback", repeatable=False)
    def rollback(self, name: str = "default") -> ActivateAnswer:
        """Serve the generation before the current one. Never sent twice."""

    @operation("POST", "/v1/refit", repeatable=False)
    def refit(
        self,
        name: str = "default",
        *,
        kind: Literal["refit", "update"] = "refit",
        recipe: str | None = None,
        settings: Mapping[str, Any] | None = None,
        activate: bool = True,
    ) -> TaskAnswer:
        """Learn again from everything, in a child process; `tasks` says how it goes.

        kind: "update" takes in the events without learning everything. recipe: a model's name, with
        `settings`; default: as the served model was learned.
        """

    @operation("GET", "/v1/tasks")
    def tasks(self, id: str | None = None) -> TaskList:
        """A task, or all, newest first."""

    @operation("PUT", "/v1/experiments")
    def put_experiment(
        self, name: str, arms: Mapping[str, float], *, salt: str = "", active: bool = True
    ) -> ExperimentChanged:
        """Split users over models by shares."""

    @operation("GET", "/v1/experiments")
    def experiments(self, name: str | None = None, *, kind: str | None = None) -> ExperimentList:
        """An experiment with its results, or all. kind: only such events are successes."""

    @operation("POST", "/v1/snapshots", repeatable=False)
    def make_snapshot(self) -> SnapshotAnswer:
        """Model and events in one file on the service's disk."""

    @operation("GET", "/v1/snapshots")
    def snapshots(self) -> SnapshotList:
        """All snapshots, newest first."""

    @operation("GET", "/v1/stats")
    def stats(self) -> StatsAnswer:
        """What the service is doing."""

    @operation("GET", "/readyz", read=_health, accepts=(503,))
    def health(self) -> Health:
        """Whether the service takes requests."""

    @stream("/v1/export", lambda: json_line)
    def export(
        self, what: Literal["events", "items"] = "events", *, after: int = 0
    ) -> Iterator[Json]:
        """All events, or all items, one by one. after: events behind this position in the log."""

    @stream("/v1/live", ServerSentEvents)
    def live(self, seconds: float = 1.0) -> Iterator[LiveEvent]:
        """What the service is doing, again and again; ends when you stop reading."""


def query(user: JsonId | None = None, **wanted: Any) -> Json:
    """One of the queries of `recommend_batch`, from the arguments of `recommend`.

    >>> query("ann", k=3, deny=["tea"])
    {'user': 'ann', 'k': 3, 'deny': ['tea']}
    """
    return dict(Operations.recommend.request(user, **wanted).body or {})
