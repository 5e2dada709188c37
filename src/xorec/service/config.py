"""Config: every setting of the service, with its range. `settings` puts them together."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from xorec.core.addresses import Address, parse_address
from xorec.core.errors import OptionError

Durability = Literal["disk", "process"]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
_SHORTEST_KEY = 16


class _Table(BaseModel):
    """A table of settings: frozen, and a name that it does not have is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Keys(_Table):
    """Who may do what: read < write < admin. Two of each, so that one can be replaced in use."""

    admin: tuple[SecretStr, ...] = Field(default=(), max_length=2)  # may do everything
    write: tuple[SecretStr, ...] = Field(default=(), max_length=2)  # events and items, lists
    read: tuple[SecretStr, ...] = Field(default=(), max_length=2)  # lists only

    @field_validator("admin", "write", "read", mode="before")
    @classmethod
    def _one_or_two(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("admin", "write", "read")
    @classmethod
    def _usable(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for key in keys:
            text = key.get_secret_value()
            if len(text) < _SHORTEST_KEY or not text.isascii() or not text.isprintable():
                raise ValueError(
                    f"a key has {_SHORTEST_KEY} printable characters at least: "
                    "`openssl rand -hex 24` makes one"
                )
        return keys

    @property
    def given(self) -> bool:
        """Whether there are any: without keys everything is open."""
        return bool(self.admin or self.write or self.read)


class Limits(_Table):
    """What one request, or all together, may ask for."""

    k: int = Field(default=1000, ge=1)  # items of a list
    body_bytes: int = Field(default=5_000_000, ge=1024)  # bytes of a body
    batch: int = Field(default=1000, ge=1)  # queries of a batch
    concurrent: int = Field(default=64, ge=1)  # requests under way in a worker; above: 503
    writes: int = Field(default=1024, ge=1)  # requests of a worker that wait for the disk
    id_chars: int = Field(default=1024, ge=1)  # characters of an id
    events_per_call: int = Field(default=10_000, ge=1)  # events of one request
    wait_seconds: float = Field(default=1.0, ge=0, le=60)  # wait for a `seq` to be visible
    body_seconds: float = Field(default=30.0, gt=0)  # for a body to arrive
    idle_seconds: float = Field(default=30.0, gt=0)  # that a connection may be silent


class Update(_Table):
    """When the events of the log become a new generation of the model file."""

    events: int = Field(default=10_000, ge=1)  # events after which a generation is written
    minutes: float = Field(default=10.0, gt=0)  # after which it is, if there are any events
    keep_generations: int = Field(default=5, ge=1)  # generations that stay on the disk


class Refit(_Table):
    """The gate that a newly learned model has to pass. gate_drop: the share of NDCG that it may be
    worse and still be activated."""

    gate_drop: float = Field(default=0.02, ge=0, le=1)
    gate_events: int = Field(default=2000, ge=1)  # newest events that the gate is measured on
    every_hours: float | None = Field(default=None, gt=0)  # refit this often; none: by hand


class Config(_Table):
    """All settings of a service. model: the file that is served as "default"."""

    model: Path | None = None
    models: dict[ModelName, Path] = {}  # further models: name = file
    data: Path | None = None  # folder of log and generations; MODEL.serve
    host: str = Field(default="127.0.0.1", min_length=1)  # address to listen on
    hosts: tuple[str, ...] = ()  # further names of it, where there are no keys
    port: int = Field(default=8080, ge=0, le=65535)  # 0: any that is free
    workers: int = Field(default=1, ge=1, le=64)  # processes that answer
    threads: int = Field(default=4, ge=1, le=64)  # of a worker, for what takes longer
    events: SecretStr | None = None  # where events are kept, if not in the folder: postgresql://...
    durability: Durability = "disk"  # what 200 means for an event
    access_log: str = Field(default="off", min_length=1)  # a file, - for standard output, off
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    keys: Keys = Keys()
    limits: Limits = Limits()
    update: Update = Update()
    refit: Refit = Refit()

    @field_validator("models")
    @classmethod
    def _default_is_the_first(cls, models: dict[str, Path]) -> dict[str, Path]:
        if "default" in models:
            raise ValueError("`default` is the model on the command line: choose another name")
        return models

    @field_validator("events")
    @classmethod
    def _in_a_database_that_can_be_shared(cls, events: SecretStr | None) -> SecretStr | None:
        if events is None:
            return None
        try:
            address = parse_address(events.get_secret_value())
        except OptionError as error:
            raise ValueError(str(error)) from None
        if address is None or address.kind != "postgresql":
            raise ValueError("events are kept in the folder, or in postgresql://USER@HOST/DATABASE")
        if address.table or address.query:
            raise ValueError("events have tables of their own: leave out table= and query=")
        return events

    @model_validator(mode="after")
    def _public_needs_keys(self) -> Self:
        if not self.is_loopback and not self.keys.given:
            raise ValueError(
                f"{self.host} can be reached from outside: set keys (XOREC_SERVE__KEYS__ADMIN), "
                "or listen on 127.0.0.1"
            )
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def files(self) -> dict[str, Path]:
        return {**({} if self.model is None else {"default": self.model}), **self.models}

    @property
    def events_secret(self) -> str | None:
        """The address of the events with its password, never to be shown."""
        return None if self.events is None else self.events.get_secret_value()

    @property
    def events_address(self) -> Address | None:
        """Where the events are, if not in the folder; shown without its secrets."""
        return None if self.events is None else parse_address(self.events.get_secret_value())

    @property
    def folder(self) -> Path:
        """Where the log and the generations are."""
        if self.data is not None:
            return self.data
        name = "xorec" if self.model is None else str(self.model)
        return Path(f"{name}.serve")


def revealed(config: Config) -> dict[str, Any]:
    """As JSON has it, keys and all: for a worker's standard input, nowhere else."""
    values = config.model_dump(mode="json", exclude={"keys", "events"})
    values["events"] = config.events_secret
    keys = {name: getattr(config.keys, name) for name in type(config.keys).model_fields}
    values["keys"] = {name: [one.get_secret_value() for one in some] for name, some in keys.items()}
    return values
