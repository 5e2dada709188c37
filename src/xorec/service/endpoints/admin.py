"""Models, generations and tasks: what an operator asks for."""

from __future__ import annotations

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Call, Route
from xorec.service.live.model import LiveModel
from xorec.service.schemas.admin import (
    ActivateAnswer,
    ActivateBody,
    GenerationOut,
    ModelList,
    ModelOut,
    RefitBody,
    RollbackBody,
    TaskAnswer,
    TaskList,
    TaskQuery,
)
from xorec.service.service import Service
from xorec.service.tasks.orders import order_for
from xorec.service.tasks.publishing import activate


def get_models(service: Service, call: Call) -> ModelList:
    """Every model with the generations that are on the disk."""
    names = service.models.names()
    models = [_model_out(service, service.models[name]) for name in names]
    return ModelList(model=service.models.default.ref, models=models)


def _model_out(service: Service, live: LiveModel) -> ModelOut:
    folder = service.models.generations(live.name)
    found = []
    for number in folder.numbers():
        about = folder.describe(number)
        found.append(
            GenerationOut(
                generation=number,
                digest=about.digest,
                applied_seq=about.applied_seq,
                users=about.users,
                items=about.items,
                nbytes=about.nbytes,
                source=about.source,
                active=number == live.about.number,
                gate=about.gate,
            )
        )
    return ModelOut(
        name=live.name,
        kind=live.about.model,
        generation=live.about.number,
        digest=live.about.digest,
        generations=found,
    )


def post_activate(service: Service, call: Call) -> ActivateAnswer:
    """Serve this generation; the next list is of it."""
    body: ActivateBody = call.body
    return _activated(service, service.models[body.name].name, body.generation)


def post_rollback(service: Service, call: Call) -> ActivateAnswer:
    """Serve the generation before the one that is served."""
    body: RollbackBody = call.body
    live = service.models[body.name]
    older = [
        number
        for number in service.models.generations(body.name).numbers()
        if number < live.about.number
    ]
    if not older:
        raise HttpError(409, f"generation {live.about.number} of {body.name!r} is the oldest.")
    return _activated(service, body.name, older[-1])


def _activated(service: Service, name: str, number: int) -> ActivateAnswer:
    seq = activate(service, name, number)
    return ActivateAnswer(model=service.models[name].ref, name=name, generation=number, seq=seq)


def post_refit(service: Service, call: Call) -> TaskAnswer:
    """Learn anew, or take in the events now, in a child process."""
    body: RefitBody = call.body
    live = service.models[body.name]
    if body.recipe is not None:
        from xorec.models import model_class

        try:
            model_class(body.recipe)(**body.settings)
        except TypeError as error:
            raise OptionError(f"the settings of {body.recipe} do not fit: {error}.") from None
    elif body.settings and body.kind == "update":
        raise OptionError("an update takes no settings: it goes on with the model as it is.")
    order = order_for(
        service,
        body.kind,
        live.name,
        recipe=body.recipe,
        settings=body.settings or None,
        activate=body.activate,
    )
    return TaskAnswer(model=live.ref, task=service.require_tasks().add(order))


def get_tasks(service: Service, call: Call) -> TaskList:
    """All tasks that are remembered, or one."""
    query: TaskQuery = call.query
    tasks = service.require_tasks().tasks()
    if query.id is not None:
        tasks = [task for task in tasks if task.id == query.id]
        if not tasks:
            raise UnknownIdError(f"there is no task {quoted(query.id)}.")
    return TaskList(model=service.models.default.ref, tasks=tasks)


ROUTES = (
    Route(
        method="GET",
        path="/v1/models",
        handler=get_models,
        answer=ModelList,
        thread=True,
        tag="models",
        summary="Every model, its generations, and which one is served.",
    ),
    Route(
        method="POST",
        path="/v1/models/activate",
        handler=post_activate,
        body=ActivateBody,
        answer=ActivateAnswer,
        role="admin",
        writer=True,
        thread=True,
        tag="models",
        summary="Serve a generation.",
    ),
    Route(
        method="POST",
        path="/v1/models/rollback",
        handler=post_rollback,
        body=RollbackBody,
        answer=ActivateAnswer,
        role="admin",
        writer=True,
        thread=True,
        tag="models",
        summary="Serve the generation before.",
    ),
    Route(
        method="POST",
        path="/v1/refit",
        handler=post_refit,
        body=RefitBody,
        answer=TaskAnswer,
        role="admin",
        status=202,
        writer=True,
        tag="models",
        summary="Learn anew from everything, or take in the events now; published behind a gate.",
    ),
    Route(
        method="GET",
        path="/v1/tasks",
        handler=get_tasks,
        query=TaskQuery,
        answer=TaskList,
        role="admin",
        writer=True,
        tag="models",
        summary="What is being worked on, and what came of it.",
    ),
)
