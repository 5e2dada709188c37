"""Settings that may be left to the data: a value, or `auto`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

AUTO: Any = "auto"
"""As a default it stands where a number is expected."""


def or_auto(kind: Any, **limits: float) -> Any:
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
