"""The stores. A new one is its file and a line here, and another in FILE_KINDS if it is a file.

Commands and messages follow; the help of `xorec export --to` names the endings by hand.

Those of other packages (`core.plugins`) have their name as the beginning or the ending of an
address: `lance://folder`, `codes.lance`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from xorec.core.addresses import FILES, SERVERS, Address, parse_address
from xorec.core.errors import OptionError
from xorec.core.plugins import load_plugin, plugin_names, refuse_plugin
from xorec.core.printable import quoted
from xorec.stores.base import Store

STORES = {
    "sqlite": ("xorec.stores.sqlite", "SqliteStore"),
    "postgresql": ("xorec.stores.postgresql", "PostgresqlStore"),
    "clickhouse": ("xorec.stores.clickhouse", "ClickhouseStore"),
    "duckdb": ("xorec.stores.duckdb", "DuckdbStore"),
    "parquet": ("xorec.stores.parquet_folder", "ParquetFolder"),
    "faiss": ("xorec.stores.code_files", "FaissFile"),
    "npy": ("xorec.stores.code_files", "NpyStore"),
}
"""Kind: (module, class). The kinds of databases are those of `core.addresses`."""
FILE_KINDS = {".parquet": "parquet", ".faiss": "faiss", ".npy": "npy"}
"""Kinds of stores that are files and no databases, by their ending."""


def store_address(text: str) -> Address | None:
    """The address of a store; None where the text is none.

    >>> store_address("shop.sqlite").kind
    'sqlite'
    >>> store_address("shop.xorec") is None
    True
    """
    address = parse_address(text)
    if address is not None:
        return address
    scheme, has_scheme, rest = text.partition("://")
    ending = Path(text).suffix.lower()
    if not has_scheme and ending in ("", ".xorec"):
        return None
    kind = FILE_KINDS.get(ending)
    if kind is None or has_scheme:
        wanted = scheme.lower() if has_scheme else ending[1:]
        kind = wanted if wanted in plugin_names("xorec.stores") else None
    return None if kind is None else Address(kind, path=Path(rest if has_scheme else text))


def open_store(address: str | Address) -> Store:
    """The store at an address; nothing is opened before it is asked or written.

    >>> open_store("shop.duckdb").kind
    'duckdb'
    """
    found = store_address(address) if isinstance(address, str) else address
    if found is None:
        endings = ", ".join(sorted([*FILES, *FILE_KINDS]))
        servers = ", ".join(f"{name}://" for name in SERVERS)
        raise OptionError(
            f"{quoted(address)} is no address of a store: give a path that ends in {endings}, or "
            f"an address that begins with {servers}."
        )
    if found.path is not None and "\0" in str(found.path):
        raise OptionError(f"the path {quoted(str(found.path))} has a zero byte: give another.")
    if found.table or found.query:
        raise OptionError(
            f"{found} is where tables are written to: leave table= and query= out (?prefix= names "
            "our tables)."
        )
    return _store_class(found.kind)(found)


def _store_class(kind: str) -> type[Store]:
    if kind in STORES:
        module, name = STORES[kind]
        return cast("type[Store]", getattr(import_module(module), name))
    made = load_plugin("xorec.stores", kind)
    if made is None:
        raise OptionError(f"{kind} is not among the stores: {', '.join(STORES)}.")
    if not (isinstance(made, type) and issubclass(made, Store) and made.kind == kind):
        raise refuse_plugin("xorec.stores", kind, "is no Store of this kind: its class must be one")
    return made
