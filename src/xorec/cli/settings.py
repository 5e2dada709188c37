"""The settings of models: from a file, from options, and from the names of models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.cli.usage import long_options
from xorec.core.errors import OptionError
from xorec.core.paths import require_file
from xorec.core.printable import did_you_mean

if TYPE_CHECKING:
    import typer

    from xorec.selection.model_specs import ModelSpec


def settings_of(context: typer.Context, model: str, config: Path | None) -> dict[str, Any]:
    """The settings of the one model of a command: those of the file, then `--epochs 20`."""
    from xorec.selection.model_specs import merged

    settings: dict[str, Any] = {}
    for name, value in _given(context.args):
        _check_setting(context, model, name)
        settings = merged(settings, _setting(name, value))
    return merged(read_config(config).get(model, {}), settings)


def settings_by_model(
    context: typer.Context, specs: Sequence[ModelSpec], config: Path | None
) -> dict[str, dict[str, Any]]:
    """The settings of several models: those of the file, then `--dsiml.shortlist 200`."""
    from xorec.selection.model_specs import merged

    settings = read_config(config)
    names = list(dict.fromkeys(spec.name for spec in specs))
    for option, value in _given(context.args):
        model, dot, name = option.partition(".")
        if not dot:
            raise OptionError(_which_model(context, names, option, value))
        if model not in names:
            hint = did_you_mean(model, names, sign="--")
            raise OptionError(
                f"--{option}: {model} is not among the models compared, {', '.join(names)}.{hint}"
            )
        _check_setting(context, model, name)
        settings = {**settings, model: merged(settings.get(model, {}), _setting(name, value))}
    return settings


def read_config(path: Path | None) -> dict[str, dict[str, Any]]:
    """Settings by model name from a TOML or JSON file."""
    if path is None:
        return {}
    import tomllib

    require_file(path, OptionError, "file of settings")
    try:
        text = path.read_text(encoding="utf-8")
        tables = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise OptionError(f"cannot read the settings {path}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise OptionError(f"the settings {path} cannot be understood: {error}.") from None
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise OptionError(f"the settings {path} need a table for each model, for example [bpr].")
    return tables


def _given(extra: Sequence[str]) -> list[tuple[str, str]]:
    """The options that a command does not have itself: `--learning-rate 0.1 --epochs=20`."""
    options: list[tuple[str, str]] = []
    words = list(extra)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if not name.startswith("--") or len(name) < 3:
            raise OptionError(f"{word!r} is not expected here: settings look like --epochs 20.")
        if not equals:
            if not words:
                raise OptionError(f"{name} needs a value: settings look like --epochs 20.")
            value = words.pop(0)
        options.append((name[2:], value))
    return options


def _setting(name: str, value: str) -> dict[str, Any]:
    from xorec.selection.model_specs import setting_of

    return setting_of(name, value)


def _check_setting(context: typer.Context, model: str, option: str) -> None:
    """Refuse an option that is neither the command's nor a setting of the model."""
    from xorec.models import model_class

    config = model_class(model).Config
    known, name = list(config.model_fields), option.partition(".")[0].replace("-", "_")
    if name not in known and name not in config.renamed:
        options = [*(setting.replace("_", "-") for setting in known), *long_options(context)]
        hint = did_you_mean(option, options, sign="--")
        raise OptionError(
            f"{model} has no setting {name!r} and {context.info_name} no option --{option}: "
            f"the settings are {', '.join(known) or 'none'}.{hint}"
        )


def _which_model(context: typer.Context, names: Sequence[str], option: str, value: str) -> str:
    """What to write instead of an option that says no model."""
    from xorec.models import model_class

    setting = option.replace("-", "_")
    having = [name for name in names if setting in model_class(name).Config.model_fields]
    if having:
        return (
            f"--{option} does not say for which model: give --{having[0]}.{option} {value}, or "
            f"--models {having[0]}:{setting}={value} for a row of its own."
        )
    settings = (f"{name}.{one}" for name in names for one in model_class(name).Config.model_fields)
    hint = did_you_mean(option, [*long_options(context), *settings], sign="--")
    return (
        f"{context.info_name} has no option --{option}, and none of {', '.join(names)} has such a "
        f"setting.{hint}"
    )
