"""Models, tasks, snapshots and experiments: what an operator asks for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from xorec.service.schemas.base import Answer, Body, Json, Query

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


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
    """Learn anew from everything, in a child process; published behind the gate.

    recipe: a model's name with `settings`; default: as the served model was learned.
    """

    name: str = "default"
    kind: Literal["update", "refit"] = "refit"
    recipe: str | None = None
    settings: Json = {}
    activate: bool = True


class TaskOut(BaseModel):
    """A piece of work in a child process."""

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


class ExperimentBody(Body):
    """Shares of users by model: {"default": 0.5, "b": 0.5}. A user stays where the hash says."""

    name: Name
    arms: dict[str, float] = Field(min_length=1, max_length=16)
    salt: str = Field("", max_length=64)
    active: bool = True


class ExperimentQuery(Query):
    """One experiment with its results, or all."""

    name: str | None = None
    kind: str | None = Field(None, description="Events of this kind only count as success.")


class ArmOut(BaseModel):
    """One arm. rate: the mean over its users of the share of their lists that they acted on."""

    model: str
    share: float
    users: int = 0
    lists: int = 0
    successes: int = 0
    rate: float | None = None
    interval: tuple[float, float] | None = None


class ExperimentOut(BaseModel):
    """An experiment. test: of the difference between each arm and the first."""

    name: str
    salt: str
    active: bool
    arms: list[ArmOut]
    tests: list[Json] = []


class ExperimentList(Answer):
    """Experiments."""

    experiments: list[ExperimentOut]


class ExperimentChanged(Answer):
    """An experiment that was set."""

    experiment: ExperimentOut
    seq: int


class SnapshotOut(BaseModel):
    """Model and events in one file."""

    id: str
    path: str
    nbytes: int
    seq: int
    made: str
    generation: int


class SnapshotAnswer(Answer):
    """A snapshot that was made."""

    snapshot: SnapshotOut


class SnapshotList(Answer):
    """Snapshots, newest first."""

    snapshots: list[SnapshotOut]


class ExportQuery(Query):
    """What to export as NDJSON."""

    what: Literal["events", "items"] = "events"
    after: int = Field(0, ge=0, lt=2**63)


class StatsAnswer(Answer):
    """What the service is doing."""

    stats: dict[str, Any]


class HistogramQuery(Query):
    """How far all items are from a user or an item."""

    user: str | None = None
    item: str | None = None
    k: int = Field(10, ge=1)
    name: str | None = Field(None, alias="model")


class HistogramAnswer(Answer):
    """counts[d]: items at distance d. cut: of the k-th; tie: items at that distance."""

    counts: list[int]
    cut: int
    tie: int
