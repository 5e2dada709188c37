"""Addresses as PostgreSQL's own library takes them.

What an address leaves open comes from where libpq looks by itself: PGHOST, PGUSER, PGPASSWORD, ...,
~/.pgpass (PGPASSFILE), and the service file (PGSERVICEFILE) for `?service=shop`.
"""

from __future__ import annotations

import os

from xorec.core.addresses import Address

PATIENCE = "10"
"""Seconds to wait for a connection, unless somebody says otherwise."""
OURS = ("schema", "prefix")
"""Settings of an address that are not libpq's."""


def conninfo(address: Address) -> str:
    """The connection string, its password included: never to be shown.

    >>> from xorec.core.addresses import parse_address
    >>> conninfo(parse_address("postgresql:///shop?service=a b&connect_timeout=3"))
    "dbname='shop' service='a b' connect_timeout='3' application_name='xorec'"
    """
    parts = {
        "host": address.host,
        "port": "" if address.port is None else str(address.port),
        "user": address.user,
        "password": address.password,
        "dbname": address.database,
    }
    given = {name: value for name, value in parts.items() if value}
    given |= {name: value for name, value in address.settings.items() if name not in OURS}
    if "PGCONNECT_TIMEOUT" not in os.environ:
        given.setdefault("connect_timeout", PATIENCE)
    if "PGAPPNAME" not in os.environ:
        given.setdefault("application_name", "xorec")
    return " ".join(f"{name}={_quoted(value)}" for name, value in given.items())


def password_way_out(said: str) -> str:
    """What to do where a server says this of who knocks; "" where it is about something else."""
    lower = said.lower()
    if any(word in lower for word in ("password", "authentication", "pg_hba.conf")):
        return "give the password by PGPASSWORD, ~/.pgpass or a service file"
    return ""


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
