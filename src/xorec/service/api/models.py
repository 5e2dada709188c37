"""Models, generations and tasks: what an operator asks for."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.service.api.base import Answer, Body, Json, Query
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Routes
from xorec.service.jobs.schedule import activate, spec_for
from xorec.service.live.model import LiveModel
from xorec.service.service import Service

ROUTES = Routes("models")


class GenerationOut(BaseModel):
    """One generation of a model on the disk."""

    generation: int
    digest: str
    applied_seq: int
    users: int
    items: int
    nbytes: int
    source: str = Field(description='What made it: "import", "update", "refit", "restore".')
    active: bool
    gate: Json | None = None


class ModelOut(BaseModel):
    """A model by name."""

    name: str
    kind: str
    generation: int
    digest: str
    generations: list[GenerationOut]


class ModelList(Answer):
    """All models."""

    models: list[ModelOut]


class ActivateBody(Body):
    """Serve this generation."""

    name: str = "default"
    generation: int = Field(ge=1)


class RollbackBody(Body):
    """Serve the generation before the one that is served now."""

    name: str = "default"


class ActivateAnswer(Answer):
    """What is served now."""

    name: str
    generation: int
    seq: int


class RefitBody(Body):
    """Fit again on all data, in a child process; published behind the gate.

    recipe: a model's name with `settings`; default: as the served model was learned.
    """

    name: str = "default"
    kind: Literal["update", "refit"] = "refit"
    recipe: str | None = None
    settings: Json = {}
    activate: bool = True


class TaskOut(BaseModel):
    """A piece of work in a child process."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: str
    name: str
    state: Literal["waiting", "running", "done", "failed"]
    started: str | None = None
    ended: str | None = None
    detail: str = ""
    progress: float | None = None
    facts: Json = Field(
        default={}, description="How far it is, in numbers: loss, NDCG on validation."
    )
    notes: list[str] = Field(
        default=[], description="What it has said so far: what was tried, and chosen."
    )
    result: Json | None = None


class TaskAnswer(Answer):
    """A task that was taken on."""

    task: TaskOut


class TaskQuery(Query):
    """One task, or all."""

    id: str | None = None


class TaskList(Answer):
    """Tasks, newest first."""

    tasks: list[TaskOut]


@ROUTES("GET", "/v1/models", thread=True)
def get_models(service: Service) -> ModelList:
    """Every model, its generations, and which one is served."""
    names = service.models.names()
    models = [_model_out(service, service.models[name]) for name in names]
    return ModelList(model=service.models.default.ref, models=models)


def _model_out(service: Service, live: LiveModel) -> ModelOut:
    folder, active = service.models.generations(live.name), live.about.number
    found = []
    for number in folder.numbers():
        about = vars(folder.describe(number))
        found.append(GenerationOut(**about, generation=number, active=number == active))
    return ModelOut(
        name=live.name,
        kind=live.about.model,
        generation=live.about.number,
        digest=live.about.digest,
        generations=found,
    )


@ROUTES("POST", "/v1/models/activate", role="admin", writer=True, thread=True)
def post_activate(service: Service, body: ActivateBody) -> ActivateAnswer:
    """Serve a generation."""
    return _activated(service, service.models[body.name].name, body.generation)


@ROUTES("POST", "/v1/models/rollback", role="admin", writer=True, thread=True)
def post_rollback(service: Service, body: RollbackBody) -> ActivateAnswer:
    """Serve the generation before."""
    live = service.models[body.name]
    numbers = service.models.generations(body.name).numbers()
    older = [number for number in numbers if number < live.about.number]
    if not older:
        raise HttpError(409, f"generation {live.about.number} of {body.name!r} is the oldest.")
    return _activated(service, body.name, older[-1])


def _activated(service: Service, name: str, number: int) -> ActivateAnswer:
    seq = activate(service, name, number)
    return ActivateAnswer(model=service.models[name].ref, name=name, generation=number, seq=seq)


@ROUTES("POST", "/v1/refit", role="admin", status=202, writer=True)
def post_refit(service: Service, body: RefitBody) -> TaskAnswer:
    """Fit again on all data, or update with the new events now; published behind a gate."""
    live = service.models[body.name]
    if body.recipe is not None:
        from xorec.models import model_class

        try:
            model_class(body.recipe)(**body.settings)
        except TypeError as error:
            raise OptionError(f"the settings of {body.recipe} do not fit: {error}.") from None
    elif body.settings and body.kind == "update":
        raise OptionError("an update takes no settings: it goes on with the model as it is.")
    spec = spec_for(
        service,
        body.kind,
        live.name,
        recipe=body.recipe,
        settings=body.settings or None,
        activate=body.activate,
    )
    task = TaskOut.model_validate(service.require_tasks().add(spec))
    return TaskAnswer(model=live.ref, task=task)


@ROUTES("GET", "/v1/tasks", role="admin", writer=True)
def get_tasks(service: Service, query: TaskQuery) -> TaskList:
    """What is being worked on, and what came of it."""
    tasks = service.require_tasks().tasks()
    if query.id is not None:
        tasks = [task for task in tasks if task.id == query.id]
        if not tasks:
            raise UnknownIdError(f"there is no task {quoted(query.id)}.")
    return TaskList(
        model=service.models.default.ref, tasks=list(map(TaskOut.model_validate, tasks))
    )
