"""xorec models, and the settings of models: from a file, from options, from the names of models."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table
from xorec.core.errors import OptionError
from xorec.core.paths import require_file
from xorec.core.printable import did_you_mean

if TYPE_CHECKING:
    from xorec.selection.model_specs import ModelSpec

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Of click, which typer brings along under a name of its own."""


def usage_line(error: Any) -> str:
    """The error in one line; raises it again where it only stands for the help text."""
    if type(error).__name__ == "NoArgsIsHelpError":
        raise error
    message, command = " ".join(error.format_message().split()), "xorec"
    if error.ctx is not None:
        command = error.ctx.command_path
        if hasattr(error, "possibilities") and hasattr(error, "option_name"):
            hint = did_you_mean(error.option_name, long_options(error.ctx), sign="--")
            message = f"no option {error.option_name}.{hint}"
        extra = re.search(r"unexpected extra argument\S* \((.+)\)", message)
        if extra is not None and "user" in long_options(error.ctx):
            message += f": for the user {extra[1]}, give --user {extra[1]}"
    message = message[:1].lower() + message[1:]
    full_stop = "" if message.endswith((".", "?")) else "."
    return f"{command}: {message}{full_stop} `{command} --help` tells more."


def long_options(context: Any) -> list[str]:
    """The names of a command's options, without the dashes."""
    names = [name for one in context.command.params for name in one.opts]
    return [name[2:] for name in names if name.startswith("--")]


def settings_of(context: typer.Context, model: str, config: Path | None) -> dict[str, Any]:
    """The settings of the one model of a command: those of the file, then `--epochs 20`."""
    from xorec.selection.model_specs import merged, setting_of

    settings = read_config(config).get(model, {})
    for name, value in _given(context.args):
        _check_setting(context, model, name)
        settings = merged(settings, setting_of(name, value))
    return settings


def settings_by_model(
    context: typer.Context, specs: Sequence[ModelSpec], config: Path | None
) -> dict[str, dict[str, Any]]:
    """The settings of several models: those of the file, then `--dsiml.shortlist 200`."""
    from xorec.selection.model_specs import merged, setting_of

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
        settings[model] = merged(settings.get(model, {}), setting_of(name, value))
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


@args.bundled
def models(
    *,
    name: str | None = args.argument(None, "The model whose settings to list."),
    json: args.Json = False,
) -> None:
    """List the models, or the settings of one."""
    from xorec.models import model_class, model_names
    from xorec.training.config import describe_settings

    if name is not None:
        rows = describe_settings(model_class(name).Config)
        weights = model_class(name).weighting
        if json:
            print_json({"model": name, "weights": weights, "rows": rows})
        else:
            heads = ("setting", "default", "range", "what it is")
            print_table(heads, [[*row.values()] for row in rows])
            print_line(f"\nWeights of pairs: {weights or 'not used'}.")
        return
    modules = ((one, sys.modules[model_class(one).__module__]) for one in model_names())
    listed = [
        {"model": one, "about": (module.__doc__ or "").strip().splitlines()[0]}
        for one, module in modules
    ]
    if json:
        print_json({"rows": listed})
    else:
        print_table(("model", "what it is"), [[*row.values()] for row in listed])
