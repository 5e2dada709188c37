"""The search space of a tuning run: what a model declares, less what the caller fixes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from xorec.core.errors import OptionError
from xorec.models import model_class
from xorec.training.config import Space


def space_of(model: str, fixed: Collection[str] = ()) -> Space:
    """What moves of `model` when the settings `fixed` do not; complains if nothing does."""
    whole: Space = model_class(model).space
    if not whole:
        raise OptionError(f"{model} has nothing to tune: fit it as it is.")
    stays = model_class(model).Config.with_new_names(dict.fromkeys(fixed))
    space = {name: one for name, one in whole.items() if name not in stays}
    if not space:
        raise OptionError(
            f"every setting of {model} that could move is fixed: leave one of "
            f"{', '.join(whole)} free."
        )
    return space


def as_json(space: Space) -> dict[str, Any]:
    """The space as plain lists and numbers, to tell one from another."""
    return {
        name: {"kind": type(one).__name__.lower(), **_without_tuples(asdict(one))}
        for name, one in space.items()
    }


def _without_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in fields.items()}
