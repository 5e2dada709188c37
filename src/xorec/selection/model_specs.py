"""A model and its settings in one word: `dsiml:shortlist=200:start.epochs=20`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xorec.core.errors import OptionError

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class ModelSpec:
    """The name of a model, and settings that only this row of a comparison has."""

    name: str
    settings: Settings = field(default_factory=dict)


def parse_spec(text: str) -> ModelSpec:
    """The spec that a person wrote: a name, then `:setting=value` any number of times.

    >>> parse_spec("dsiml:shortlist=200:start.epochs=20")
    ModelSpec(name='dsiml', settings={'shortlist': 200, 'start': {'epochs': 20}})
    """
    name, *pairs = (part.strip() for part in text.split(":"))
    settings: Settings = {}
    for pair in pairs:
        setting, equals, value = pair.partition("=")
        if not setting or not equals or not value:
            raise OptionError(
                f"the model {text!r} cannot be understood: settings look like "
                f"{name or 'dsiml'}:setting=value, for example dsiml:shortlist=200."
            )
        settings = merged(settings, setting_of(setting, value))
    return ModelSpec(name, settings)


def setting_of(name: str, value: str) -> dict[str, Any]:
    """`start.learning-rate` and `0.1` as {"start": {"learning_rate": 0.1}}."""
    first, *inner = name.replace("-", "_").split(".")
    return {first: setting_of(".".join(inner), value) if inner else _parse(value)}


def merged(first: Settings, then: Settings) -> dict[str, Any]:
    """Both; where both have a setting `then` wins, and a table goes into the table before it.

    >>> merged({"bits": 32, "start": {"epochs": 5}}, {"start": {"reg": 0.1}})
    {'bits': 32, 'start': {'epochs': 5, 'reg': 0.1}}
    """
    both = {**first, **then}
    for name in first.keys() & then.keys():
        if isinstance(first[name], Mapping) and isinstance(then[name], Mapping):
            both[name] = merged(first[name], then[name])
    return both


def shown(settings: Settings, before: str = "") -> list[str]:
    """The settings as words: ["shortlist=200", "start.epochs=20"]."""
    words: list[str] = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            words += shown(value, f"{before}{name}.")
        else:
            words.append(f"{before}{name}={value if isinstance(value, str) else json.dumps(value)}")
    return words


def _parse(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
