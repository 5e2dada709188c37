"""Health: whether the process lives, whether it is ready, and which version it is."""

from __future__ import annotations

import platform
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

import xorec
from xorec.service.http.problems import busy
from xorec.service.http.routes import Call, Route

if TYPE_CHECKING:
    from xorec.service.service import Service

State = Literal["starting", "ready", "stopping"]


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """Models are loaded, the log is replayed, kernels are warm."""

    status: Literal["ready"] = "ready"


class Version(BaseModel):
    """What runs."""

    version: str
    python: str


def _ready_with_shards(service: Service) -> Ready:
    """A front is as ready as all its shards."""
    live, front = service.models.default, service.front
    assert front is not None
    front.check(live.about.digest, len(live.items))
    return Ready()


class Health:
    """Says where the service is in its life; the same object for all parts of a worker."""

    def __init__(self) -> None:
        self.state: State = "starting"

    def livez(self, service: Service, call: Call) -> Alive:
        return Alive()

    def readyz(self, service: Service, call: Call) -> Ready | Awaitable[Ready]:
        if self.state != "ready":
            raise busy(f"the service is {self.state}.")
        front = getattr(service, "front", None)
        return Ready() if front is None else front.run(_ready_with_shards, service)

    def version(self, service: Service, call: Call) -> Version:
        return Version(version=xorec.__version__, python=platform.python_version())

    def routes(self) -> tuple[Route, ...]:
        """Those that need no model."""
        return (
            Route(
                method="GET",
                path="/livez",
                handler=self.livez,
                answer=Alive,
                role="open",
                limited=False,
                tag="health",
                summary="Whether the process answers.",
            ),
            Route(
                method="GET",
                path="/readyz",
                handler=self.readyz,
                answer=Ready,
                role="open",
                limited=False,
                tag="health",
                summary="Whether requests will be answered: 503 before and after that.",
            ),
            Route(
                method="GET",
                path="/version",
                handler=self.version,
                answer=Version,
                limited=False,
                tag="health",
                summary="Which version runs.",
            ),
        )
