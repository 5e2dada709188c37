"""Addresses of databases: parsed, and shown without secrets.

    postgresql://ann@db.example/shop?table=orders
    postgresql://ann@db.example/shop?query=SELECT user_id, item_id FROM orders WHERE paid
    clickhouse://db.example/shop      clickhouse:///folder (no host: ClickHouse in this process)
    shop.duckdb?table=orders          shop.sqlite

`query=` comes last and runs to the end, so SQL may be written as it is. A password should come
from the environment or the client's own file (~/.pgpass); one in an address is never shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from xorec.core.errors import OptionError
from xorec.core.printable import quoted

SERVERS = {"postgresql": "postgresql", "postgres": "postgresql"}
SERVERS |= {"clickhouse": "clickhouse", "clickhouses": "clickhouse"}
"""The kind of a database server by the scheme of an address."""
FILES = {".duckdb": "duckdb", ".ddb": "duckdb"}
FILES |= dict.fromkeys((".sqlite", ".sqlite3", ".db"), "sqlite")
"""The kind of a database file by its suffix."""
_SECRET_WORDS = re.compile(r"pass|secret|token|key|credential", re.IGNORECASE)
_MASK = "***"
_IN_TEXT = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://)(?P<login>[^\s/@'\"]*)@", re.IGNORECASE)
_SECRET_SETTING = re.compile(
    r"(?P<name>\b\w*(?:pass|secret|token)\w*)(?P<is>\s*[=:]\s*)(?P<value>'[^']*'|[^\s&;'\"]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Address:
    """Where a database is. path: of a database in files. settings: for its driver, as given.

    table, query: what is read, at most one of them. secure: TLS, by the scheme clickhouses.
    """

    kind: str
    host: str = ""
    port: int | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    path: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    table: str = ""
    query: str = ""
    secure: bool = False

    def __str__(self) -> str:
        """The address without secrets and without what is read from it."""
        if self.path is not None and not self.host:
            return f"{self.kind}://{self.path}" if self.kind == "clickhouse" else str(self.path)
        user = f"{quote(self.user)}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port is not None else ""
        shown = {
            name: _MASK if _SECRET_WORDS.search(name) else value
            for name, value in self.settings.items()
        }
        more = f"?{urlencode(shown, safe='/*')}" if shown else ""
        return f"{self.kind}{'s' * self.secure}://{user}{host}{port}/{self.database}{more}"

    @property
    def what(self) -> str:
        """What is read, for messages: the table, or the beginning of the query."""
        if self.table:
            return f"{self}, table {self.table}"
        return f"{self}, query {quoted(' '.join(self.query.split()))}" if self.query else str(self)

    @property
    def label(self) -> str:
        """A short name for tables and files: the table, else the database."""
        return self.table or self.database or (self.path.stem if self.path else "") or self.kind

    @property
    def has_secret(self) -> bool:
        """Whether the address itself holds a password or the like."""
        return bool(self.password) or any(map(_SECRET_WORDS.search, self.settings))

    def bare(self) -> Address:
        """Without table and query: where things are written."""
        return replace(self, table="", query="")


def parse_address(text: str | os.PathLike[str]) -> Address | None:
    """The parts of an address; None for another kind of file and for a name.

    >>> address = parse_address("postgresql://ann:s3cret@db:5433/shop?sslmode=require&table=orders")
    >>> print(address, address.table, address.password)
    postgresql://ann@db:5433/shop?sslmode=require orders s3cret
    >>> parse_address("shop.duckdb?query=SELECT a, b FROM t WHERE c = 'x&y=z'").query
    "SELECT a, b FROM t WHERE c = 'x&y=z'"
    >>> parse_address("ratings.csv") is None
    True
    """
    typed = os.fspath(text)
    scheme, has_scheme, rest = typed.partition("://")
    scheme = scheme.lower()
    if has_scheme and scheme in SERVERS:
        return _at_server(scheme, *_split(rest))
    if has_scheme and scheme in ("duckdb", "sqlite"):
        location, settings = _split(rest)
        path = Path(location.removeprefix("/"))  # as SQLAlchemy has it: four slashes are absolute
        return Address(scheme, path=path, **settings)
    location, settings = (typed, {}) if os.path.exists(typed) else _split(typed)
    kind = FILES.get(Path(location).suffix.lower()) if len(location) < 4096 else None
    return None if kind is None else Address(kind, path=Path(location), **settings)


def without_secrets(text: str) -> str:
    """A driver's message without what looks like a password.

    >>> without_secrets("could not connect to postgresql://ann:s3cret@db/shop password=s3cret x")
    'could not connect to postgresql://ann:***@db/shop password=*** x'
    """

    def login(found: re.Match[str]) -> str:
        user, colon, _ = found["login"].partition(":")
        return f"{found['before']}{user}{colon and f':{_MASK}'}@"

    return _SECRET_SETTING.sub(rf"\g<name>\g<is>{_MASK}", _IN_TEXT.sub(login, text))


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """The location before the "?", and `settings`, `table` and `query` of an Address."""
    location, _, after = text.partition("?")
    found = re.search(r"(?:^|&)query=", after)
    query = ""
    if found:
        after, query = after[: found.start()], after[found.end() :]
        if not re.search(r"\s", query):  # written for an address: SELECT%20..., SELECT+...
            query = unquote(query.replace("+", " "))
        if not query.strip():
            raise OptionError("query= is empty: give SQL behind it, as query=SELECT user, item ...")
    settings = dict(parse_qsl(after, keep_blank_values=True))
    table, _ = settings.pop("table", ""), settings.pop("query", "")
    if table and query:
        raise OptionError(f"an address has a table ({quoted(table)}) or a query, not both.")
    return location, {"settings": settings, "table": table, "query": query}


def _at_server(scheme: str, location: str, settings: dict[str, Any]) -> Address:
    authority, _, database = location.partition("/")
    login, _, where = authority.rpartition("@")
    user, _, password = login.partition(":")
    kind, database = SERVERS[scheme], unquote(database)
    settings |= {"user": unquote(user), "password": unquote(password)}
    settings["secure"] = scheme == "clickhouses"
    if kind == "clickhouse" and not authority:
        return Address(kind, path=Path("/" + database), **settings)
    if where.startswith("["):
        host, _, after = where[1:].partition("]")
        port = after.removeprefix(":")
    else:
        host, _, port = where.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise OptionError(f"port {quoted(port)} of an address: give 1 to 65535.")
    number = int(port) if port else None
    return Address(kind, host=unquote(host), port=number, database=database, **settings)
