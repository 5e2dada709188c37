"""A service inside this process: real log, real generations, no sockets."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xorec.recommender.recommender import Recommender
from xorec.service.api.health import all_routes
from xorec.service.config import Config
from xorec.service.http.app import App, WorkerHealth
from xorec.service.metrics import Metrics
from xorec.service.processes.start import Started, start_writer


@contextmanager
def service_in_process(recommender: Recommender, **config: Any) -> Iterator[App]:
    """An ASGI application that serves a recommender until the block ends. config: settings.

    >>> from xorec.client import Client
    >>> from xorec.testing.examples import shop
    >>> with service_in_process(shop()) as app, Client(app=app) as client:
    ...     best = client.recommend("cem", k=1).items[0].id
    ...     sent = client.send("cem", best)
    ...     best in [item.id for item in client.recommend("cem").items]
    False
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        started(recommender, Path(folder), **config) as (
            app,
            _,
        ),
    ):
        yield app


@contextmanager
def started(
    recommender: Recommender,
    folder: Path,
    more: Mapping[str, Recommender] | None = None,
    **config: Any,
) -> Iterator[tuple[App, Started]]:
    """Serve a recommender out of `folder`; what is there already is taken up again.

    more: further models by name. config: settings, as of `Config`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, one in {"default": recommender, **(more or {})}.items():
        files[name] = folder / f"{name}.xorec"
        if not files[name].exists():
            one.save(files[name])
    settings = Config(
        model=files.pop("default"), models=files, data=folder / "serve", port=0, **config
    )
    metrics, health = Metrics(), WorkerHealth("ready")
    started = start_writer(settings, metrics)
    app = App(settings, all_routes(health, metrics), health, metrics)
    app.service = started.service
    try:
        yield app, started
    finally:
        app.close()
        started.close()
