"""Bundles: options that belong together are one dataclass, and one parameter of a command.

    @bundled
    def fit(source: DataSource, run: Annotated[Run, without("seed")]) -> None: ...

has the options of both dataclasses, in the order of their fields, without --seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


class _LeftOut(frozenset[str]):
    pass


def without(*names: str) -> _LeftOut:
    """Fields of a bundle that a command does not have: they keep their default."""
    return _LeftOut(names)


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it: each field of its dataclasses is a parameter."""
    hints = get_type_hints(command, include_extras=True)
    bundles: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        bundle = getattr(hint, "__origin__", hint)
        if not is_dataclass(bundle):
            parameters.append(
                parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
            )
            continue
        made = list(_parameters(bundle, getattr(hint, "__metadata__", ())))
        bundles[parameter.name] = (bundle, [one.name for one in made])
        parameters += made

    @wraps(command)
    def call(**values: Any) -> None:
        for name, (bundle, names) in bundles.items():
            values[name] = bundle(**{one: values.pop(one) for one in names})
        command(**values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _parameters(bundle: Any, extras: tuple[Any, ...]) -> Iterator[inspect.Parameter]:
    """The fields as parameters, without those that the annotation leaves out."""
    left_out = {name for extra in extras if isinstance(extra, _LeftOut) for name in extra}
    hints = get_type_hints(bundle, include_extras=True)
    for field in fields(bundle):
        if field.name not in left_out:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=hints[field.name],
            )
