"""The settings in force as TOML, with where each came from; keys and passwords are masked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from xorec.service.settings.configuring import Configured, Place

MASK = "********"


def config_text(made: Configured) -> str:
    """TOML that `--config` takes, but for keys.

    >>> from xorec.service.settings.configuring import configure
    >>> print(config_text(configure(None, {}, {"port": 9000})).splitlines()[2])
    port = 9000  # the command line
    """
    lines = [*_lines(made, made.config, ())]
    return "\n".join(lines).strip() + "\n"


def _lines(made: Configured, table: BaseModel, above: Place) -> Iterator[str]:
    tables: list[tuple[str, Any]] = []
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, (BaseModel, dict)):
            tables.append((name, value))
        elif value is not None:
            yield _line(made, (*above, name), value)
    for name, value in tables:
        yield ""
        yield f"[{'.'.join((*above, name))}]"
        if isinstance(value, BaseModel):
            yield from _lines(made, value, (*above, name))
        else:
            for key, one in value.items():
                yield _line(made, (*above, name, key), one)


def _line(made: Configured, place: Place, value: Any) -> str:
    name = place[-1] if place[-1].replace("_", "").replace("-", "").isalnum() else None
    source = made.sources.get(place, "default")
    if place == ("events",):
        value = str(made.config.events_address)  # it is of use without its password
    return f"{name or json.dumps(place[-1])} = {_toml(value)}  # {source}"


def _toml(value: Any) -> str:
    if isinstance(value, SecretStr):
        return f'"{MASK}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, (str, Path)):
        return json.dumps(str(value), ensure_ascii=False)
    return str(value)
