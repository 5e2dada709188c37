"""Values as JSON knows them: what the command line prints and a service answers."""

from __future__ import annotations

from typing import Any


def jsonable(value: Any) -> Any:
    """Dictionaries, lists, text, numbers, booleans and None only; NaN and infinity become None.

    Anything else (a date, a UUID) becomes its text.

    >>> import numpy as np
    >>> jsonable({"id": np.int64(3), "scores": (0.5, float("nan"))})
    {'id': 3, 'scores': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): jsonable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(one) for one in value]
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
