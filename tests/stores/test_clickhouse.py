"""The kit on ClickHouse in this process, and what is its own: the step that counts, and names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.clickhouse import PASSWORD, ClickHouseServer
from xorec.core.errors import MissingExtraError, OptionError, StoreError
from xorec.stores.base import Store
from xorec.stores.clickhouse import ClickhouseStore
from xorec.stores.contents import Contents, Table, contents_of
from xorec.stores.registry import open_store
from xorec.stores.tables import Batch
from xorec.testing.store_models import HOSTILE, codes, recommender_of, two_stage
from xorec.testing.stores import DiedError, StoreTests

pytestmark = pytest.mark.database

pytest.importorskip("chdb", reason="no ClickHouse in this process: pip install chdb")
pytest.importorskip("clickhouse_connect", reason="pip install 'xorec[clickhouse]'")


class TestClickhouse(StoreTests):
    def address(self, folder: Path, name: str = "shop") -> str:
        """A process has one folder open, so other places are other prefixes."""
        return f"clickhouse://{folder}/clickhouse?prefix={name}_"

    def test_people_find_plain_names(self, store: Store, tmp_path: Path) -> None:
        """Views that follow the export, and nothing is left of an older one."""
        assert isinstance(store, ClickhouseStore)
        self.write(store, recommender_of(codes(64), categories=True), lists=3)
        shop = recommender_of(codes(128, distinct=5))
        self.write(store, shop)
        there = store.tables_there()
        plain = {f"shop_{name}" for name in ("about", "items", "users", "seen")}
        assert plain <= there
        assert len(there) == len(plain) + 3  # the tables behind three views
        ((rows, words),) = store.run("SELECT count(), any(w1) > 0 FROM shop_items")
        assert (rows, words) == (len(shop.item_ids), True)

    def test_an_export_counts_from_one_step_on(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever dies before or after `about` is exchanged, lists are those of one export."""
        assert isinstance(store, ClickhouseStore)
        shops = [recommender_of(codes(bits, distinct=5)) for bits in (64, 20, 128)]
        self.write(store, shops[0])
        run = store.run
        for shop, dies_at, answers in (
            (shops[1], "EXCHANGE TABLES", shops[0]),
            (shops[1], "CREATE OR REPLACE VIEW", shops[1]),
            (shops[2], "DROP VIEW", shops[2]),
        ):

            def dying(statement: str, parameters: Any = None, at: str = dies_at) -> list[Any]:
                if statement.startswith(at):
                    raise DiedError
                return run(statement, parameters)

            with monkeypatch.context() as broken:
                broken.setattr(store, "run", dying)
                with pytest.raises(DiedError):
                    store.write(contents_of(shop, users=True))
            with self.open_store(tmp_path) as again:
                self.lists_agree(again, answers, every=9)
        self.write(store, shops[0])
        self.lists_agree(store, shops[0], every=9)
        assert len(store.tables_there()) == 7

    def test_who_asks_while_another_exports(self, store: Store, tmp_path: Path) -> None:
        shop = recommender_of(codes(64))
        self.write(store, shop)
        with self.open_store(tmp_path) as other:
            self.lists_agree(other, shop, every=20)
            after = recommender_of(codes(20, distinct=5))
            self.write(store, after)
            with pytest.raises(StoreError, match="exported to again just now: ask again"):
                other.recommend(after.user_ids[0])
            self.lists_agree(other, after, every=20)

    def test_a_folder_that_nobody_made_is_not_made_by_asking(self, tmp_path: Path) -> None:
        with (
            self.open_store(tmp_path / "nothing") as store,
            pytest.raises(StoreError, match="no export in"),
        ):
            store.recommend(1)
        assert not (tmp_path / "nothing").exists()


def test_nobody_listens_and_no_password_is_shown() -> None:
    store = open_store("clickhouse://ann:s3cret@127.0.0.1:1/shop")
    for ask in (lambda: store.about, lambda: store.write(contents_of(recommender_of(codes(8))))):
        with pytest.raises(StoreError, match="check that the server runs") as raised:
            ask()
        assert "s3cret" not in str(raised.value)
        assert "\n" not in str(raised.value)


def test_strange_settings_are_refused() -> None:
    store = open_store("clickhouse://ann@127.0.0.1:1/shop?prefiks=a")
    with pytest.raises(OptionError, match=r"'prefiks' .* prefix, connect_timeout"):
        _ = store.about


def test_extras_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.joinpath("ch").mkdir()
    monkeypatch.setitem(sys.modules, "chdb", None)
    with pytest.raises(MissingExtraError, match="pip install chdb"):
        _ = open_store(f"clickhouse://{tmp_path}/ch").about
    monkeypatch.setitem(sys.modules, "clickhouse_connect", None)
    with pytest.raises(MissingExtraError, match=r"xorec\[clickhouse\]"):
        _ = open_store("clickhouse://127.0.0.1/shop").about


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of ClickHouse's engine behind HTTP."""
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse") / "data") as server:
        yield server.address()


def test_lists_over_http(server: str) -> None:
    texts = HOSTILE
    for number, shop in enumerate(
        (
            recommender_of(codes(128, 40, 300, distinct=5)),
            recommender_of(codes(20, 40, 300, offsets=True), names=["n"] * 300),
            recommender_of(
                codes(20, len(texts), len(texts)), users=texts, items=texts, names=texts[::-1]
            ),
            recommender_of(two_stage()),
        )
    ):
        with open_store(f"{server}?prefix=a{number % 2}_") as store:
            store.write(contents_of(shop, users=True))
            for user in [*shop.user_ids][::2]:
                assert store.recommend(user) == shop.recommend(user), user


def test_a_wrong_password_over_http(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (server.replace(PASSWORD, "wr0ng"), server.replace(f":{PASSWORD}", "")):
        with open_store(address) as store:
            with pytest.raises(StoreError, match="CLICKHOUSE_PASSWORD") as raised:
                _ = store.about
            assert "wr0ng" not in str(raised.value)
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", PASSWORD)
    with open_store(server.replace(f":{PASSWORD}", "") + "?prefix=none_") as store:
        assert store.read_about() is None


def test_a_server_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    before, after = recommender_of(codes(64, 30, 200)), recommender_of(codes(20, 30, 200))

    def killing(contents: Contents, server: ClickHouseServer) -> Contents:
        def batches(table: Table) -> Iterator[Batch]:
            yield from table.batches()
            server.kill()

        last = contents.tables[-1]
        made = replace(last, batches=partial(batches, last))
        return replace(contents, tables=(*contents.tables[:-1], made))

    with (
        ClickHouseServer(tmp_path / "data") as server,
        open_store(server.address()) as store,
    ):
        store.write(contents_of(before, users=True))
        with pytest.raises(StoreError, match="What was exported before is as it was") as raised:
            store.write(killing(contents_of(after, users=True), server))
        assert PASSWORD not in str(raised.value)
    with (
        ClickHouseServer(tmp_path / "data") as server,
        open_store(server.address()) as store,
    ):
        for shop in (before, after):
            for user in shop.user_ids:
                assert store.recommend(user) == shop.recommend(user)
            store.write(contents_of(after, users=True))
