"""StoreTests: what every store must do. The lists are those of the recommender, id for id.

Derive, say where the store is (`address`), and where a table cannot hold a zero byte, `holds_nul`.
"""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from xorec.core.errors import OptionError, StoreError, UnknownIdError
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import MaskedCodes
from xorec.stores import registry, tables
from xorec.stores.base import Store
from xorec.stores.contents import Contents, Table, contents_of
from xorec.stores.schema import schema_of
from xorec.stores.sql import SqlStore
from xorec.stores.tables import Batch
from xorec.testing.store_models import (
    HOSTILE,
    WITHOUT_NUL,
    codes,
    debian,
    recommender_of,
    two_stage,
)

TWO_STAGES: dict[str, dict[str, Any]] = {
    "vectors": {"weights": False, "keep": "float16"},
    "vectors of bytes": {"weights": False, "bias": True},
    "bits": {"weights": False, "of_bits": True, "keep": "float32"},
    "weights": {"vectors": False, "keep": "float32"},
    "both": {},
    "both, halves": {"keep": "float16", "bias": True},
    "counted items": {"weighted": True},
    "neighbours": {"per_item": 6, "bits": 20},
}
"""Models of two stages, by what puts in order."""


class DiedError(Exception):
    """What an export dies of."""


class StoreTests:
    """Derive, and say where the store is."""

    holds_nul: ClassVar[bool] = True
    """Whether text may have a zero byte; if not, it is refused with a line."""
    holds_lists_alone: ClassVar[bool] = True
    """Whether lists of a model without codes can be exported; if not, that is refused."""

    def address(self, folder: Path, name: str = "shop") -> str:
        """An address of the store; another name is another place."""
        raise NotImplementedError

    def open_store(self, folder: Path, name: str = "shop") -> Store:
        """The store at an address; again: the same one, opened again."""
        return registry.open_store(self.address(folder, name))

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with self.open_store(tmp_path) as store:
            yield store

    def lists_agree(
        self, store: Store, shop: Recommender, *, k: int = 10, seen: bool = False, every: int = 1
    ) -> None:
        """The store's lists are the recommender's, in ids, names, distances and scores."""
        for user in [*shop.user_ids][::every]:
            expected = shop.recommend(user, k, seen=seen)
            found = store.recommend(user, k, seen=seen)
            assert found.ids() == expected.ids(), user
            assert list(map(type, found.ids())) == list(map(type, expected.ids()))
            assert found == expected, user

    def write(self, store: Store, shop: Recommender, **options: Any) -> Contents:
        """Export, and say what was exported."""
        contents = contents_of(shop, **{"users": True, **options})
        counts = store.write(contents)
        assert list(counts) == [*schema_of(contents.about)]
        assert counts["items"] == len(shop.item_ids)
        return contents

    @pytest.mark.parametrize("bits", [20, 64, 128])
    @pytest.mark.parametrize("distinct", [0, 5])
    def test_lists_are_the_recommenders(self, store: Store, bits: int, distinct: int) -> None:
        shop = recommender_of(codes(bits, distinct=distinct))
        self.write(store, shop)
        self.lists_agree(store, shop)
        self.lists_agree(store, shop, k=3, seen=True, every=7)
        self.lists_agree(store, shop, k=1000, every=13)

    @pytest.mark.parametrize("bits", [20, 64, 128])
    @pytest.mark.parametrize("data", ["debian", "ties"])
    def test_lists_of_many_users(self, store: Store, data: str, bits: int) -> None:
        """Some, with those who have most and least."""
        many_ties = codes(bits, 1000, 2000, distinct=7)
        shop = debian(bits) if data == "debian" else recommender_of(many_ties, seen=0.01)
        self.write(store, shop)
        count = 60 if bits == 64 else 200
        rows = sorted(range(len(shop.user_ids)), key=lambda row: len(shop.items_of(row)))
        some = {*range(0, len(rows), len(rows) // count), *rows[:10], *rows[-10:]}
        users = [shop.user_ids[row] for row in sorted(some)]
        expected = shop.recommend_many(users, 10, threads=1)
        assert [store.recommend(user, 10) for user in users] == expected

    @pytest.mark.parametrize("bits", [20, 64, 128])
    def test_corrected_distances(self, store: Store, bits: int) -> None:
        """Offsets of items, then codes under the mask of the user."""
        for learned in (
            codes(bits, offsets=True, distinct=9),
            codes(bits, kind=MaskedCodes, distinct=30),
        ):
            shop = recommender_of(learned)
            self.write(store, shop)
            self.lists_agree(store, shop, k=40)

    @pytest.mark.parametrize("stage", TWO_STAGES)
    def test_two_stages(self, store: Store, stage: str) -> None:
        shop = recommender_of(two_stage(**TWO_STAGES[stage]))
        self.write(store, shop)
        assert store.about.ranking == "two-stage"
        self.lists_agree(store, shop, every=3)
        self.lists_agree(store, shop, k=60, seen=True, every=8)

    def test_lists_that_were_exported(self, store: Store) -> None:
        from xorec.testing.examples import shop as item_knn

        shop = item_knn()
        if not self.holds_lists_alone:
            with pytest.raises(OptionError, match="has no codes for"):
                self.write(store, shop, lists=2)
            return
        self.write(store, shop, lists=2)
        self.lists_agree(store, shop, k=2)
        self.lists_agree(store, shop, k=1)
        with pytest.raises(OptionError, match=r"lists of 2.*--lists 3"):
            store.recommend("ann", 3)
        with pytest.raises(OptionError, match="--seen"):
            store.recommend("ann", 2, seen=True)

    def test_hostile_ids_and_names(self, store: Store) -> None:
        texts = HOSTILE if self.holds_nul else WITHOUT_NUL
        learned = codes(20, len(texts), len(texts))
        shop = recommender_of(
            learned, users=texts, items=texts, names=texts[::-1], categories=True, seen=0.3
        )
        self.write(store, shop, lists=3)
        self.lists_agree(store, shop, k=len(texts))
        found = store.fetch("categories", ["item_row", "category"], "category", ['"; DROP TABLE'])
        assert list(found["item_row"]) == [*range(1, len(texts), 3)]

    def test_a_zero_byte_is_refused_where_it_cannot_be_held(self, store: Store) -> None:
        if self.holds_nul:
            return
        for where in ("users", "items", "names"):
            texts = [f"t{at}" for at in range(5)]
            wrong = [*texts[:-1], "a\0b"]
            ids: dict[str, Any] = {"users": texts, "items": texts, "names": texts, where: wrong}
            with pytest.raises(StoreError, match=r"a\\x00b.*zero byte"):
                self.write(store, recommender_of(codes(20, 5, 5), **ids))
            with pytest.raises(StoreError, match="no export"):
                _ = store.about

    @pytest.mark.parametrize(
        "ids",
        [
            [-(2**63), -1, 0, 1, 2**63 - 1],
            ["-1", "0", "1", "01", "1e3"],
            [uuid.UUID(int=at) for at in range(5)],
            [datetime.date(2024, 2, 25 + at) for at in range(5)],
            [-0.5, 0.0, 1.0, 1e300, 5e-324],
            [2**200, 1, 2, 3, -4],
            [b"\0", b"\xff", b"a", b"", b"b"],
        ],
        ids=["integers", "digits", "uuid", "date", "float", "large", "bytes"],
    )
    def test_ids_keep_their_type(self, store: Store, ids: list[Any]) -> None:
        if not self.holds_nul and b"\0" in ids:
            ids = [b"\x01", *ids[1:]]
        shop = recommender_of(codes(20, 5, 5), users=ids, items=ids[::-1])
        self.write(store, shop)
        self.lists_agree(store, shop)
        with pytest.raises(UnknownIdError, match="is not in"):
            store.recommend(("nobody",))

    def test_a_second_export_takes_the_place_of_the_first(
        self, store: Store, tmp_path: Path
    ) -> None:
        first = recommender_of(codes(64), categories=True, names=["x"] * 300)
        self.write(store, first, lists=5)
        for shop in (
            recommender_of(two_stage(20)),
            recommender_of(codes(128, 9, 30), users=[f"u{at}" for at in range(9)]),
        ):
            self.write(store, shop)
            self.lists_agree(store, shop)
            with self.open_store(tmp_path) as again:
                self.lists_agree(again, shop, every=3)
                assert (again.about.lists, again.about.categories) == (0, False)

    def test_small_batches(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tables, "BATCH_ROWS", 7)
        shop = recommender_of(two_stage(per_item=6, weighted=True))
        self.write(store, shop, lists=4)
        self.lists_agree(store, shop, every=3)

    @pytest.mark.parametrize("table", ["items", "users", "seen", "lists"])
    def test_an_export_that_dies_leaves_the_old_one(
        self, store: Store, tmp_path: Path, table: str
    ) -> None:
        before, after = recommender_of(codes(64)), recommender_of(codes(20, 50, 200))
        self.write(store, before, lists=3)
        contents = contents_of(after, users=True, lists=2)
        with pytest.raises(DiedError):
            store.write(dying(contents, table))
        self.lists_agree(store, before, every=5)
        with self.open_store(tmp_path) as again:
            self.lists_agree(again, before, every=5)
        store.write(contents)
        self.lists_agree(store, after, every=5)

    def test_an_export_that_is_killed_leaves_the_old_one(self, tmp_path: Path) -> None:
        before, after = recommender_of(codes(64)), recommender_of(codes(20, 50, 200))
        with self.open_store(tmp_path) as store:
            self.write(store, before)
        child = f"from xorec.testing.stores import be_killed; be_killed({self.address(tmp_path)!r})"
        done = subprocess.run([sys.executable, "-c", child], timeout=120, check=False)
        assert done.returncode == -signal.SIGKILL
        with self.open_store(tmp_path) as store:
            self.lists_agree(store, before, every=3)
            self.write(store, after)
            self.lists_agree(store, after, every=3)

    def test_who_is_not_there(self, store: Store) -> None:
        with pytest.raises(StoreError, match="no export in"):
            store.recommend(1)
        shop = recommender_of(codes(64))
        self.write(store, shop)
        for user in (4711, "1", 1.5, None):
            with pytest.raises(UnknownIdError, match="is not in"):
                store.recommend(user)
        with pytest.raises(OptionError, match="k is 0"):
            store.recommend(1, 0)
        self.write(store, shop, users=False)
        with pytest.raises(OptionError, match="--users"):
            store.recommend(1)

    def test_rows_are_fetched_by_thousands(self, store: Store) -> None:
        shop = recommender_of(codes(128, 5, 3000), names=[f"n{at}" for at in range(3000)])
        self.write(store, shop)
        wanted = [*range(2999, -1, -2), 5, 5, 99_999]
        found = store.fetch("items", ["code", "item_row", "name"], "item_row", wanted)
        rows = sorted({row for row in wanted if row < 3000})
        assert list(found["item_row"]) == rows
        assert list(found["name"]) == [f"n{row}" for row in rows]
        learned = shop.representation
        assert isinstance(learned, type(codes(8)))
        assert (found["code"] == learned.item_codes[rows]).all()

    def test_the_text_of_sql_runs(self, store: Store, tmp_path: Path) -> None:
        if not isinstance(store, SqlStore):
            return
        for shop, options in (
            (recommender_of(codes(128), names=['it\'s "x"'] * 300, categories=True), {}),
            (recommender_of(codes(20, offsets=True)), {}),
            (recommender_of(codes(64, kind=MaskedCodes)), {"lists": 3}),
        ):
            contents = self.write(store, shop, **options)
            text = store.sql(contents)
            user = shop.user_ids[7]
            rows = store.run(text.query.rstrip(";"), {"user": user, "k": 9})
            expected = shop.recommend(user, 9).items
            assert [row[1] for row in rows] == [one.id for one in expected]
            assert [int(row[3]) for row in rows] == [one.distance for one in expected]
            with self.open_store(tmp_path, f"text{contents.about.bits}") as fresh:
                assert isinstance(fresh, SqlStore)
                made = fresh.sql(contents).tables
                assert made.count("CREATE TABLE") == len(contents.tables)
                with fresh.writing():
                    for statement in made.rstrip(";").split(";\n"):
                        fresh.run(statement)
                fresh.write(contents)  # into the place of tables that a person made of the text
                self.lists_agree(fresh, shop, every=11)

    def test_tables_of_others_are_left_alone(self, store: Store) -> None:
        """One that was there before, and one that the last export did not make."""
        if not isinstance(store, SqlStore):
            return
        shop = recommender_of(codes(64))
        for table in ("items", "lists"):
            schema = replace(contents_of(shop).tables[1].schema, name=table)
            name = store.quote(f"{store.prefix}{table}")
            with store.writing():
                store.run(store.create(schema, name))
            with pytest.raises(StoreError, match=rf"{table}.* was not made by xorec"):
                self.write(store, shop)
            with store.writing():
                assert f"{store.prefix}{table}" in store.tables_there()
                store.run(f"DROP TABLE {name}")
            self.write(store, shop)


def dying(contents: Contents, name: str) -> Contents:
    """The same, but the table of that name dies when half of its batches are written."""

    def batches(table: Table) -> Iterator[Batch]:
        half = next(iter(table.batches()))
        yield {column: values[: len(values) // 2] for column, values in half.items()}
        raise DiedError

    made = tuple(
        replace(table, batches=partial(batches, table)) if table.name == name else table
        for table in contents.tables
    )
    return replace(contents, tables=made)


def be_killed(address: str) -> None:
    """In a process of its own: kill -9 in the middle of an export."""

    contents = contents_of(recommender_of(codes(20, 50, 200)), users=True)
    *others, last = contents.tables

    def batches() -> Iterator[Batch]:
        yield from last.batches()
        os.kill(os.getpid(), signal.SIGKILL)

    with registry.open_store(address) as store:
        store.write(replace(contents, tables=(*others, replace(last, batches=batches))))
