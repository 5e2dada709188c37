"""The SQL of an export as text: `xorec export --sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xorec.stores.base import SqlText

if TYPE_CHECKING:
    from xorec.stores.about import About
    from xorec.stores.contents import Contents
    from xorec.stores.sql import SqlStore


def sql_text(store: SqlStore, contents: Contents) -> SqlText:
    """The statements that make the tables, and the question for a list; nothing is opened."""
    about = contents.about
    made = [
        statement
        for schema in (table.schema for table in contents.tables)
        for name in [store.name(schema.name)]
        for statement in (store.create(schema, name), *store.indexes(schema, name))
    ]
    tables = "\n".join(f"{statement};" for statement in made)
    if not about.user_kind:
        return SqlText(tables, f"{similar_items(store, about)};")
    if about.ranking == "lists":
        return SqlText(tables, f"{exported_list(store, about)};")
    return SqlText(tables, f"{store.query(about)};")


def exported_list(store: SqlStore, about: About) -> str:
    """The question for a list that was exported; parameters: user (an id), k."""
    user = store.parameter("user", "integer" if about.user_kind == "int64" else "text")
    name = "i.name" if about.names else "NULL AS name"
    return (
        f"SELECT i.item_row, i.item_id, {name}, l.score\n"
        f"FROM {store.name('users')} u JOIN {store.name('lists')} l ON l.user_row = u.user_row\n"
        f"JOIN {store.name('items')} i ON i.item_row = l.item_row\n"
        f"WHERE u.user_id = {user} AND l.rank <= {store.parameter('k', 'row')}\n"
        "ORDER BY l.rank"
    )


def similar_items(store: SqlStore, about: About) -> str:
    """The question for the items whose codes are nearest to an item's; parameters: item, k."""
    item = store.parameter("item", "integer" if about.item_kind == "int64" else "text")
    name = "i.name" if about.names else "NULL AS name"
    return (
        f"SELECT i.item_row, i.item_id, {name},\n  {store.hamming(about)} AS distance\n"
        f"FROM {store.name('items')} u CROSS JOIN {store.name('items')} i\n"
        f"WHERE u.item_id = {item} AND i.item_row <> u.item_row\n"
        f"ORDER BY distance, i.tie_rank LIMIT {store.parameter('k', 'row')}"
    )
