"""Requests of an operator: models, tasks, experiments, snapshots, what the service is doing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from xorec.client.errors import error_of
from xorec.client.request import Request, StreamRequest, body, nothing, pairs, reader
from xorec.client.streams import LiveEvent, ServerSentEvents, json_line
from xorec.service.api.base import JsonId
from xorec.service.api.codes import HistogramAnswer
from xorec.service.api.compare import CompareAnswer
from xorec.service.api.experiments import ExperimentChanged, ExperimentList
from xorec.service.api.models import ActivateAnswer, ModelList, TaskAnswer, TaskList
from xorec.service.api.snapshots import SnapshotAnswer, SnapshotList
from xorec.service.api.stats import StatsAnswer


class Health(BaseModel):
    """Whether the service takes requests; detail: why not, where it does not."""

    ready: bool
    detail: str = ""


def models() -> Request[ModelList]:
    """All models with their generations.

    >>> models().what
    'GET /v1/models'
    """
    return Request("GET", "/v1/models", reader(ModelList))


def activate(generation: int, name: str = "default") -> Request[ActivateAnswer]:
    """Serve this generation of a model.

    >>> activate(7).body
    {'name': 'default', 'generation': 7}
    """
    wanted = {"name": name, "generation": generation}
    return Request("POST", "/v1/models/activate", reader(ActivateAnswer), body=wanted)


def rollback(name: str = "default") -> Request[ActivateAnswer]:
    """Serve the generation before the one that is served now. Sent once: two would go back two.

    >>> rollback().repeatable
    False
    """
    return Request(
        "POST",
        "/v1/models/rollback",
        reader(ActivateAnswer),
        body={"name": name},
        repeatable=False,
    )


def refit(
    name: str = "default",
    *,
    kind: Literal["refit", "update"] = "refit",
    recipe: str | None = None,
    settings: Mapping[str, Any] | None = None,
    activate: bool = True,
) -> Request[TaskAnswer]:
    """Learn anew, in a child process; `tasks` says how it goes.

    kind: "update" takes in the events without learning everything. recipe: a model's name, with
    `settings`; default: as the served model was learned.

    >>> refit(kind="update").body
    {'name': 'default', 'kind': 'update', 'activate': True}
    """
    wanted = body(name=name, kind=kind, recipe=recipe, settings=settings, activate=activate)
    return Request("POST", "/v1/refit", reader(TaskAnswer), body=wanted, repeatable=False)


def tasks(id: str | None = None) -> Request[TaskList]:
    """A task, or all, newest first.

    >>> tasks("t1").params
    (('id', 't1'),)
    """
    return Request("GET", "/v1/tasks", reader(TaskList), pairs(id=id))


def put_experiment(
    name: str, arms: Mapping[str, float], *, salt: str = "", active: bool = True
) -> Request[ExperimentChanged]:
    """Split users over models by shares.

    >>> put_experiment("ab", {"default": 0.5, "b": 0.5}).what
    'PUT /v1/experiments'
    """
    wanted = {"name": name, "arms": dict(arms), "salt": salt, "active": active}
    return Request("PUT", "/v1/experiments", reader(ExperimentChanged), body=wanted)


def experiments(name: str | None = None, *, kind: str | None = None) -> Request[ExperimentList]:
    """An experiment with its results, or all. kind: only such events are successes.

    >>> experiments("ab").params
    (('name', 'ab'),)
    """
    return Request("GET", "/v1/experiments", reader(ExperimentList), pairs(name=name, kind=kind))


def make_snapshot() -> Request[SnapshotAnswer]:
    """Model and events in one file on the service's disk.

    >>> make_snapshot().what
    'POST /v1/snapshots'
    """
    return Request("POST", "/v1/snapshots", reader(SnapshotAnswer), body={}, repeatable=False)


def snapshots() -> Request[SnapshotList]:
    """The snapshots that there are, newest first.

    >>> snapshots().what
    'GET /v1/snapshots'
    """
    return Request("GET", "/v1/snapshots", reader(SnapshotList))


def stats() -> Request[StatsAnswer]:
    """What the service is doing.

    >>> stats().what
    'GET /v1/stats'
    """
    return Request("GET", "/v1/stats", reader(StatsAnswer))


def compare(a: str, b: str, *, k: int = 10, users: int = 200) -> Request[CompareAnswer]:
    """Two models by name: what their lists have in common, and which ranks better, if known.

    >>> compare("default", "b").params
    (('a', 'default'), ('b', 'b'), ('k', '10'), ('users', '200'))
    """
    params = pairs(a=a, b=b, k=k, users=users)
    return Request("GET", "/v1/compare", reader(CompareAnswer), params)


def histogram(
    user: JsonId | None = None,
    *,
    item: JsonId | None = None,
    k: int = 10,
    model: str | None = None,
) -> Request[HistogramAnswer]:
    """How far all items are from a user or an item.

    >>> histogram(item="tea").params
    (('item', 'tea'), ('k', '10'))
    """
    params = pairs(user=user, item=item, k=k, model=model)
    return Request("GET", "/v1/histogram", reader(HistogramAnswer), params)


def health() -> Request[Health]:
    """Whether the service takes requests.

    >>> health().read(200, b"{}")
    Health(ready=True, detail='')
    """

    def read(status: int, content: bytes) -> Health:
        if status < 300:
            return Health(ready=True)
        return Health(ready=False, detail=error_of("GET /readyz", status, content).detail)

    return Request("GET", "/readyz", read, accepts=(503,))


def export(
    what: Literal["events", "items"] = "events", *, after: int = 0
) -> StreamRequest[dict[str, Any]]:
    """All events, or all items, one by one. after: events behind this place of the log.

    >>> export(after=7).request.params
    (('what', 'events'), ('after', '7'))
    """
    params = pairs(what=what, after=after)
    return StreamRequest(Request("GET", "/v1/export", nothing, params), lambda: json_line)


def live(seconds: float = 1.0) -> StreamRequest[LiveEvent]:
    """What the service is doing, again and again; ends when you stop reading.

    >>> live(0.5).request.params
    (('seconds', '0.5'),)
    """
    params = pairs(seconds=seconds)
    return StreamRequest(Request("GET", "/v1/live", nothing, params), ServerSentEvents)
