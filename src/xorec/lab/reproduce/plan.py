"""The plan of a run: everything that decides its figures. It goes into run.json and comes back."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from xorec.core.addresses import parse_address, without_secrets
from xorec.core.errors import OptionError
from xorec.lab.reproduce.paper import CONTINUOUS, HASHING
from xorec.models import model_class

QUESTIONS = {
    "rq1": "rq1_hashing",
    "rq2": "rq2_continuous",
    "rq3": "rq3_speed",
    "rq4": "rq4_imbalance",
    "rq5": "rq5_sensitivity",
}
"""The registry of questions: each one's file, in which `QUESTION` is its class."""

HASHING_METHODS = ("popularity", "signs", "dpr", "drmf", *HASHING)
CONTINUOUS_METHODS = ("popularity", *CONTINUOUS)
"""Those of the paper, and what a reader would miss."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DataSpec(_Frozen):
    """One data set: its path, and the filters applied to it."""

    path: str
    core: int = Field(default=0, ge=0)
    min_rating: float | None = None
    columns: dict[str, str] = {}

    @field_validator("path", "columns")
    @classmethod
    def _without_secrets(cls, given: Any) -> Any:
        """The plan is written to run.json, and the data are read by it again."""
        for text in [given] if isinstance(given, str) else given.values():
            address = parse_address(text)
            if address is not None and address.has_secret:
                raise ValueError(
                    "an address that goes into a report has no password; give it by PGPASSWORD, "
                    "~/.pgpass or a service file"
                )
        return given

    @property
    def name(self) -> str:
        """Its label in tables and file names: the last part of the path, and the core."""
        address = parse_address(self.path)
        stem = PurePath(self.path).name or self.path if address is None else address.label
        return f"{stem}-{self.core}core" if self.core else stem


class Winner(_Frozen):
    """What validation chose for a method: all its settings, with the number of epochs.

    bits: the length of codes it is for; None of a method without one, and in files that had one
    choice for all lengths. seconds: of the trials. default: what the method's own defaults reached
    on validation.
    """

    data: str
    method: str
    bits: int | None = None
    model: str
    trials: int
    validation: float | None
    default: float | None
    settings: dict[str, Any]
    seconds: float = 0.0


class Plan(_Frozen):
    """One run of `xorec reproduce`.

    seeds: of the last fits; the first is also that of the split and of the trials. bits: lengths
    of codes, each with settings of its own. dimensions: of continuous models. settings: what
    does not move, a table for each method, and `starts`, a table for each model to start from.
    chosen: choices of an earlier run, which are not made again. grid_seeds: how many of the seeds
    rq5 has. lambdas, gammas: its grids. speed_*: bits, catalogues, rounds
    and seconds of a method in a round of rq3.
    """

    questions: tuple[str, ...] = tuple(QUESTIONS)
    data: tuple[DataSpec, ...] = (DataSpec(path="debian"),)
    seeds: tuple[int, ...] = Field(default=(0, 1, 2), min_length=1)
    trials: int = Field(default=5, ge=1)
    bits: tuple[int, ...] = Field(default=(20,), min_length=1)
    dimensions: int = Field(default=20, ge=1)
    ks: tuple[int, ...] = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    hashing: tuple[str, ...] = HASHING_METHODS
    continuous: tuple[str, ...] = CONTINUOUS_METHODS
    test: float = Field(default=0.2, gt=0, lt=1)
    validation: float = Field(default=0.1, gt=0, lt=1)
    lambdas: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    gammas: tuple[float, ...] = (0.2, 0.5, 0.8, 1.1, 1.4, 1.7)
    grid_seeds: int = Field(default=1, ge=1)
    speed_bits: tuple[int, ...] = (20, 64)
    speed_items: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    speed_rounds: int = Field(default=5, ge=1)
    speed_budget: float = Field(default=5.0, gt=0)
    quick: bool = False
    settings: dict[str, dict[str, Any]] = {}
    chosen: tuple[Winner, ...] = ()

    @field_validator("questions")
    @classmethod
    def _known(cls, questions: tuple[str, ...]) -> tuple[str, ...]:
        for name in questions:
            if name not in QUESTIONS:
                raise ValueError(
                    f"there is no question {name}: give some of {', '.join(QUESTIONS)}"
                )
        return questions

    @model_validator(mode="after")
    def _names_differ(self) -> Plan:
        names = [source.name for source in self.data]
        if len(set(names)) < len(names):
            raise ValueError(f"two data sets have the same name ({', '.join(names)}): rename one")
        return self

    @property
    def seed(self) -> int:
        """Of the split and of the trials."""
        return self.seeds[0]


QUICK: dict[str, Any] = {
    "quick": True,
    "seeds": (0, 1),
    "trials": 2,
    "lambdas": (0.01, 1.0, 100.0),
    "gammas": (0.5, 1.1, 1.7),
    "speed_bits": (20,),
    "speed_items": (1_000, 10_000, 100_000),
    "speed_rounds": 3,
    "speed_budget": 2.0,
}
"""What `--quick` has less of; and fits have at most QUICK_EPOCHS epochs."""
QUICK_EPOCHS = 10


def make_plan(**fields: Any) -> Plan:
    """A plan, or an error that names the field."""
    try:
        return Plan(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "plan"
        message = first["msg"].removeprefix("Value error, ")
        line = f"{where} is {first['input']!r}: {message}.".replace("..", ".")
        raise OptionError(without_secrets(line)) from None


def method_of(name: str, plan: Plan, bits: int | None = None) -> tuple[str, dict[str, Any]]:
    """(the model of a method, what is fixed of it).

    A table of `plan.settings` may name the `model` (else it is the method's own name) and its
    `start`: a table, or the name of a model whose settings stand in `starts`. The length of codes
    or the dimensions are the plan's.
    """
    fixed = dict(plan.settings.get(name, {}))
    model = str(fixed.pop("model", name))
    fields = model_class(model).Config.model_fields
    starts: dict[str, Any] = plan.settings.get("starts", {})
    start = fixed.get("start")
    if isinstance(start, str):
        fixed["start"] = {"model": start, **starts.get(start, {})}
    if "bits" in fields:
        fixed["bits"] = bits or plan.bits[0]
    elif "dimensions" in fields:
        fixed["dimensions"] = plan.dimensions
    if plan.quick:
        _shorten(model, fixed)
    return model, fixed


def lengths_of(name: str, plan: Plan) -> tuple[int | None, ...]:
    """The lengths of codes at which a method is chosen and tested; one without codes has None."""
    return plan.bits if "bits" in method_of(name, plan)[1] else (None,)


def label_of(name: str, bits: int | None, lengths: tuple[int, ...]) -> str:
    """How a row is called: with the length where there are several."""
    return f"{name} {bits}" if bits is not None and len(lengths) > 1 else name


def _shorten(model: str, fixed: dict[str, Any]) -> None:
    """At most QUICK_EPOCHS epochs, of the start too."""
    config = model_class(model)(**fixed).config.model_dump()
    if "epochs" in config:
        fixed["epochs"] = min(config["epochs"], QUICK_EPOCHS)
    if "epochs" in config.get("start", {}):
        start = config["start"]
        fixed["start"] = {**start, "epochs": min(start["epochs"], QUICK_EPOCHS)}
