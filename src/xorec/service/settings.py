"""Where settings come from: flags beat the environment, that beats the file, that the defaults."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean, quoted
from xorec.service.config import Config

PREFIX = "XOREC_SERVE__"
KeyPath = tuple[str, ...]
_OPEN = ("models",)
"""Tables whose names are the operator's own."""


@dataclass(frozen=True)
class Configured:
    """The settings in force, and where each value that is no default came from."""

    config: Config
    sources: Mapping[KeyPath, str]


def configure(
    file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> Configured:
    """The settings of a TOML file, of the environment and of flags put together.

    flags: by name; None where it was not given. Names that do not exist are refused.

    >>> made = configure(None, {"XOREC_SERVE__LIMITS__K": "50"}, {"port": 9000})
    >>> made.config.limits.k, made.config.port, made.sources["limits", "k"]
    (50, 9000, 'XOREC_SERVE__LIMITS__K')
    """
    values: dict[str, Any] = {}
    sources: dict[KeyPath, str] = {}
    for key, value, source in (
        *(() if file is None else _from_file(file)),
        *_from_environment(environment),
        *(((name,), value, "the command line") for name, value in flags.items()),
    ):
        if value is None:
            continue
        table = values
        for name in key[:-1]:
            table = table.setdefault(name, {})
        table[key[-1]] = value
        sources[key] = source
    try:
        return Configured(Config.model_validate(values), sources)
    except ValidationError as error:
        raise OptionError(_line(error, sources)) from None


def _from_file(path: Path) -> Iterator[tuple[KeyPath, Any, str]]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise OptionError(f"cannot read the settings in {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"the settings in {path} are no TOML: {error}.") from None
    for key, value in _leaves(content):
        _check_name(key, f"{path}", ".".join)
        if key[0] in ("model", "data", *_OPEN) and isinstance(value, str):
            value = str(path.parent / value)
        yield key, value, str(path)


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[KeyPath, Any, str]]:
    for name, text in environment.items():
        if name.upper().startswith(PREFIX):
            parts = name[len(PREFIX) :].split("__")
            key = tuple(
                part if at and parts[0].upper() == "MODELS" else part.lower()
                for at, part in enumerate(parts)
            )
            _check_name(key, "the environment", _variable)
            if key[0] in ("keys", "hosts"):  # may be several, with commas
                yield key, [part.strip() for part in text.split(",") if part.strip()], name
            else:
                yield key, text, name


def _leaves(table: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _check_name(key: KeyPath, source: str, spelled: Any) -> None:
    """Refuse an unknown name, with the one that may have been meant."""
    known = _all_names()
    if key in known or (key[0] in _OPEN and len(key) == 2):
        return
    if any(part.startswith("shard") for part in key):
        raise OptionError(
            f"{source} has {quoted(spelled(key))}: shards are gone. One machine searches a "
            "billion 64-bit codes (8 GB); beyond that docs/scale.md says what to take."
        )
    names = {spelled(one): one for one in known}
    hint = did_you_mean(spelled(key), names)
    raise OptionError(f"{source}: unknown setting {quoted(spelled(key))}.{hint}")


def _variable(key: KeyPath) -> str:
    """The variable of a setting.

    >>> _variable(("limits", "k"))
    'XOREC_SERVE__LIMITS__K'
    """
    return PREFIX + "__".join(key).upper()


def _all_names(model: type[BaseModel] = Config, above: KeyPath = ()) -> list[KeyPath]:
    names: list[KeyPath] = []
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names += _all_names(kind, (*above, name))
        elif name not in _OPEN:
            names.append((*above, name))
    return names


def _line(error: ValidationError, sources: Mapping[KeyPath, str]) -> str:
    """One line for the first setting that was refused; never the value of a key or an address."""
    first = error.errors(include_url=False)[0]
    key = tuple(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    if not key:
        return f"{message}."
    source = next((sources[key[:n]] for n in (3, 2, 1) if key[:n] in sources), "the defaults")
    shown = "set" if key[0] in ("keys", "events") else quoted(first["input"])
    message = message[:1].lower() + message[1:]
    return f"{'.'.join(key)} is {shown} ({source}): {message}."


MASK = "********"


def config_text(made: Configured) -> str:
    """TOML that `--config` takes, but for keys.

    >>> from xorec.service.settings import configure
    >>> print(config_text(configure(None, {}, {"port": 9000})).splitlines()[2])
    port = 9000  # the command line
    """
    lines = [*_lines(made, made.config, ())]
    return "\n".join(lines).strip() + "\n"


def _lines(made: Configured, table: BaseModel, above: KeyPath) -> Iterator[str]:
    tables: list[tuple[str, Any]] = []
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, (BaseModel, dict)):
            tables.append((name, value))
        elif value is not None:
            yield _toml_line(made, (*above, name), value)
    for name, value in tables:
        yield ""
        yield f"[{'.'.join((*above, name))}]"
        if isinstance(value, BaseModel):
            yield from _lines(made, value, (*above, name))
        else:
            for key, one in value.items():
                yield _toml_line(made, (*above, name, key), one)


def _toml_line(made: Configured, key: KeyPath, value: Any) -> str:
    name = key[-1] if key[-1].replace("_", "").replace("-", "").isalnum() else None
    source = made.sources.get(key, "default")
    if key == ("events",):
        value = str(made.config.events_address)  # it is useful without its password
    return f"{name or json.dumps(key[-1])} = {_toml(value)}  # {source}"


def _toml(value: Any) -> str:
    """Of numbers, texts and lists JSON is TOML."""

    def shown(one: object) -> str:
        return MASK if isinstance(one, SecretStr) else str(one)

    return json.dumps(value, ensure_ascii=False, default=shown)
