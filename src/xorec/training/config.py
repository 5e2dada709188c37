"""The settings of models: frozen, with legal ranges as data, to and from JSON; search spaces.

A model's `space` has the settings that tuning changes, and their ranges. `dimensions`, `bits` and
`epochs` stay out: more of them always costs more.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from xorec.core.printable import did_you_mean


@dataclass(frozen=True)
class Float:
    """A number from `low` to `high`; `log`: each factor is as likely as the next."""

    low: float
    high: float
    log: bool = False

    def at(self, share: float) -> float:
        """The value at this share of the way, 0 <= share < 1."""
        if self.log:
            return self.rounded(float(self.low * (self.high / self.low) ** share))
        return self.rounded(self.low + (self.high - self.low) * share)

    def rounded(self, value: float) -> float:
        """Four digits, so that a trial is what its row of the table says."""
        return min(self.high, max(self.low, float(f"{value:.4g}")))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


@dataclass(frozen=True)
class Int:
    """A whole number from `low` to `high`."""

    low: int
    high: int
    log: bool = False

    def at(self, share: float) -> int:
        """The value at this share of the way, 0 <= share < 1."""
        if self.log:
            return min(self.high, int(self.low * ((self.high + 1) / self.low) ** share))
        return self.low + int((self.high + 1 - self.low) * share)

    def rounded(self, value: int) -> int:
        return int(value)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        """The value at this share of the way, 0 <= share < 1."""
        return self.values[int(len(self.values) * share)]

    def rounded(self, value: Any) -> Any:
        return value

    def __contains__(self, value: object) -> bool:
        return value in self.values


Range = Float | Int | Choice
Space = dict[str, Range]

POPULARITY = Choice((0.0, 0.5))
"""Of `alpha`: uniform negatives, or by the root of their popularity."""


AUTO: Any = "auto"
"""As a default it stands where a number is expected."""


def or_auto(kind: Any, **limits: Any) -> Any:
    """The type of a setting that is a `kind` within limits, as of pydantic's Field, or "auto".

    >>> TypeAdapter(or_auto(int, ge=1)).validate_python("auto")
    'auto'
    """
    plain: TypeAdapter[Any] = TypeAdapter(Annotated[kind, Field(**limits)] if limits else kind)

    def check(value: Any) -> Any:
        if value == AUTO:
            return value
        try:
            return plain.validate_python(value)
        except ValidationError as error:
            text = error.errors()[0]["msg"]
            raise PydanticCustomError("value_or_auto", "{text}, or auto", {"text": text}) from None

    return Annotated[kind | Literal["auto"], PlainValidator(check)]


class ModelConfig(BaseModel):
    """The settings of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    renamed: ClassVar[dict[str, str]] = {}
    """Old name of a setting: its name now. Files, `--config` and keywords may have either."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        return cls.with_new_names(given) if isinstance(given, dict) else given

    @classmethod
    def with_new_names(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Settings under the names that they have now; an old name gives a DeprecationWarning."""
        found = dict(given)
        old = [name for name in cls.renamed if name in given and name not in cls.model_fields]
        for name in old:
            if cls.renamed[name] in given:
                raise PydanticCustomError(
                    "renamed", f"{name} is the old name of {cls.renamed[name]}"
                )
            found[cls.renamed[name]] = found.pop(name)
        if old:
            said = ", ".join(f"{name} (now {cls.renamed[name]})" for name in old)
            text = f"old names of settings: {said}. They go in 0.4."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        return found

    def resolved(self) -> Self:
        """The settings with a value for each `auto`."""
        return self


class EpochConfig(ModelConfig):
    """Settings of every model that learns by epochs."""

    epochs: int = Field(100, ge=1, description="passes over the training pairs, at most")
    patience: int = Field(4, ge=1, description="validations without gain before it stops")
    validate_every: int = Field(5, ge=1, description="epochs between two validations")


class TripletConfig(EpochConfig):
    """Settings of every model that learns by passes over triplets."""

    negatives: int = Field(20, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    block_size: int = Field(
        32_768, ge=1, description="pairs per block: updates inside a block see the same snapshot"
    )


def describe_settings(config: type[ModelConfig]) -> list[dict[str, str]]:
    """A row for each setting: name, default, range, description.

    >>> describe_settings(EpochConfig)[1]["range"]
    '>= 1'
    """
    rows = []
    for name, field in config.model_fields.items():
        limits = {type(limit).__name__: limit for limit in field.metadata}
        words = [
            f"{sign} {getattr(limits[kind], kind.lower())}"
            for kind, sign in (("Ge", ">="), ("Gt", ">"), ("Le", "<="), ("Lt", "<"))
            if kind in limits
        ]
        value = field.get_default(call_default_factory=True)
        default = "its own" if value == {} else str(value)  # a start's settings
        about = field.description or ""
        rows.append({"name": name, "default": default, "range": ", ".join(words), "about": about})
    return rows


def settings_text(config: type[ModelConfig]) -> str:
    """The settings as lines of a docstring: name, default, range, and what each is.

    >>> print(settings_text(EpochConfig).splitlines()[0])
    epochs = 100 (>= 1): passes over the training pairs, at most
    """
    lines = []
    for row in describe_settings(config):
        limits = f" ({row['range']})" if row["range"] else ""
        about = f": {row['about']}" if row["about"] else ""
        lines.append(f"{row['name']} = {row['default']}{limits}{about}")
    return "\n".join(lines)


def format_error(name: str, config: type[ModelConfig], error: ValidationError) -> str:
    """One line for the first setting that pydantic refused."""
    first = error.errors()[0]
    setting = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(config.model_fields) or "none"
        hint = did_you_mean(setting, config.model_fields)
        return f"{name} has no setting {setting!r}: its settings are {known}.{hint}"
    if first["type"] == "renamed":
        return f"{name}: {first['msg']}."
    if first["type"] == "start":
        return f"{name}: {setting}: {first['msg'].removesuffix('.')}."
    return f"{name}: {setting} is {first['input']!r}: {first['msg'].lower()}."
