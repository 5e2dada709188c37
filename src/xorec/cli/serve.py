"""xorec serve: a model over HTTP, with events that the very next list knows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xorec.cli import arguments as args
from xorec.cli.output import print_line
from xorec.core.errors import MissingExtraError


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The settings of the service that have an option."""

    model: Path | None = args.argument(None, "A model file made by `xorec fit`, or a snapshot.")
    host: str | None = args.option(None, "Address to listen on; 127.0.0.1 by default.")
    port: int | None = args.option(None, "Port; 8080 by default; 0 chooses a free one.")
    data: Path | None = args.option(
        None, "Folder for events and model versions; MODEL.serve by default."
    )
    events: str | None = args.option(
        None, "Keep events in PostgreSQL, for several machines: postgresql://..."
    )
    workers: int | None = args.option(None, "Number of worker processes; 1 by default.")
    durability: str | None = args.option(
        None, "Confirm events after they are on disk (disk), or before (process)."
    )
    access_log: str | None = args.option(
        None, "Access log as JSON lines: a file, - for standard output, or off."
    )
    log_level: str | None = args.option(None, "debug, info, warning or error.")


@args.bundled
def serve(
    *,
    flags: Flags,
    config: Path | None = args.option(None, "A TOML file with all settings."),
    print_config: bool = args.option(
        False, "Print the effective settings and exit.", "--print-config"
    ),
) -> None:
    """Serve MODEL over HTTP: lists, similar items, events, experiments.

    Settings can be given in a TOML file (--config), in the environment (XOREC_SERVE__PORT,
    XOREC_SERVE__LIMITS__K) or as options, which win. Keys are read only from the first two, because
    other users of the machine can see a command line: XOREC_SERVE__KEYS__ADMIN, __WRITE, __READ;
    separate two keys by a comma. The password of a database comes from PGPASSWORD, ~/.pgpass or
    a service file.
    """
    require_extra()
    from xorec.service.settings import config_text, configure

    made = configure(config, os.environ, vars(flags))
    if print_config:
        print_line(config_text(made).rstrip("\n"))
    else:
        run(made.config)


def require_extra() -> None:
    """Refuse where the libraries of the extra are not installed."""
    try:
        import granian  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvloop  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"xorec serve needs {error.name}: pip install 'xorec[serve]'."
        ) from None


def run(config: Any) -> None:
    """Serve until it is stopped."""
    from xorec.service.processes.serve import serve

    serve(config, lambda address, facts: _say_ready(config, address, facts))
    print_line(f"stopped. {_kept_in(config)}")


def _say_ready(config: Any, address: str, facts: dict[str, Any]) -> None:
    """One line, and what to type next."""
    import sys

    generation = facts["generations"]["default"]
    served = config.model or config.folder
    size = f"{facts['users']:,} users, {facts['items']:,} items"
    replayed = "1 event" if facts["replayed"] == 1 else f"{facts['replayed']:,} events"
    print_line(
        f"ready: {address} serves {served} (generation {generation}, {size}; {replayed} replayed)"
    )
    print_line(f"  {_kept_in(config)}")
    for line in curl_lines(address, facts, keys=config.keys.given):
        print_line(f"  {line}")
    sys.stdout.flush()


def _kept_in(config: Any) -> str:
    """Where events and model versions are: what to delete for a new start."""
    if config.events is None:
        return f"Events and model versions are kept in {config.folder}{os.sep}"
    return f"Events are kept in the database, model versions in {config.folder}{os.sep}"


def curl_lines(address: str, facts: dict[str, Any], *, keys: bool) -> list[str]:
    """Three requests with ids of the model, for a shell."""
    import shlex
    from urllib.parse import quote

    if facts["user"] is None or facts["item"] is None:
        return []
    key = " -H 'Authorization: Bearer KEY'" if keys else ""
    user, item = quote(facts["user"], safe=""), quote(facts["item"], safe="")
    event = f'{{"user": {facts["user_json"]}, "item": {facts["item_json"]}}}'
    return [
        f"curl{key} '{address}/v1/recommend?user={user}&k=5'",
        f"curl{key} '{address}/v1/similar?item={item}&k=5'",
        f"curl{key} {address}/v1/events -H 'Content-Type: application/json' "
        f"-d {shlex.quote(event)}",
    ]
