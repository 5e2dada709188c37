"""The kit on PostgreSQL of Debian and on that of the wheel, and what only a server can do: die."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support.postgresql import PASSWORD, PostgreSQL, started
from tests.support.waiting import PATIENCE, until
from xorec.core.errors import StoreError
from xorec.stores.base import Store
from xorec.stores.contents import Contents, Table, contents_of
from xorec.stores.postgresql import PostgresqlStore, bits_of_words, words_of_bits
from xorec.stores.registry import open_store
from xorec.stores.tables import Batch
from xorec.testing.store_models import codes, recommender_of
from xorec.testing.stores import StoreTests

pytestmark = pytest.mark.database


@pytest.fixture(scope="module")
def debian() -> Iterator[PostgreSQL]:
    with started("debian", fsync="off") as server:
        yield server


@pytest.fixture(scope="module")
def wheel() -> Iterator[PostgreSQL]:
    with started("wheel", fsync="off") as server:
        yield server


class PostgresqlTests(StoreTests):
    holds_nul: ClassVar[bool] = False
    server: PostgreSQL
    operator: ClassVar[str]

    def address(self, folder: Path, name: str = "shop") -> str:
        schema = f'of "{hashlib.md5(f"{folder}{name}".encode()).hexdigest()[:12]}%s'
        return f"{self.server.address}&schema={schema.replace('%', '%25')}"

    def test_how_codes_are_compared(self, store: Store) -> None:
        shop = recommender_of(codes(64))
        self.write(store, shop)
        store.recommend(shop.user_ids[0])
        assert isinstance(store, PostgresqlStore)
        assert self.operator in store.query(store.about)

    def test_keys_and_types(self, store: Store) -> None:
        self.write(store, recommender_of(codes(20), users=[f"u{at}" for at in range(40)]))
        assert isinstance(store, PostgresqlStore)
        rows = store.run(
            "SELECT table_name::text, column_name::text, data_type::text, character_maximum_length"
            " FROM information_schema.columns WHERE table_schema = current_schema()"
        )
        found = {(table, column): (kind, size) for table, column, kind, size in rows}
        assert found["items", "code"] == ("bit", 20)
        assert found["items", "item_id"] == ("bigint", None)
        assert found["users", "user_id"] == ("text", None)
        keys = store.run(
            "SELECT conrelid::regclass::text, contype::text, count(*) FROM pg_constraint"
            " WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname ="
            " current_schema()) AND contype IN ('p', 'u')"
            " GROUP BY 1, 2 ORDER BY 1, 2"
        )
        assert [one[1] for one in keys if "items" in one[0]] == ["p", "u"]
        assert not [name for name in store.tables_there() if "__new" in name]


class TestDebian(PostgresqlTests):
    """Without pgvector."""

    operator = "bit_count(i.code # u.code)"

    @pytest.fixture(autouse=True)
    def _server(self, debian: PostgreSQL) -> None:
        self.server = debian


class TestWheel(PostgresqlTests):
    """PostgreSQL 18 with pgvector."""

    operator = "i.code <~> u.code"

    @pytest.fixture(autouse=True)
    def _server(self, wheel: PostgreSQL) -> None:
        self.server = wheel
        with wheel.connect() as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")


@pytest.mark.parametrize("bits", [1, 7, 8, 20, 64, 65, 128])
def test_bit_strings_are_the_codes(bits: int) -> None:
    rng = np.random.default_rng(bits)
    ones = rng.integers(0, 2, (9, bits), dtype=np.uint8)
    padded = np.zeros((9, -(-bits // 64) * 64), dtype=np.uint8)
    padded[:, :bits] = ones
    words = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    strings = bits_of_words(words, bits)
    np.testing.assert_array_equal(np.unpackbits(strings, axis=1, count=bits), ones)
    given = [bits.to_bytes(4, "big") + row.tobytes() for row in strings]
    np.testing.assert_array_equal(words_of_bits(given, bits), words)


def killing(contents: Contents, server: PostgreSQL) -> Contents:
    """The same, but the server is killed when half of the users are there."""

    def batches(table: Table) -> Iterator[Batch]:
        (whole,) = table.batches()
        half = len(whole["user_row"]) // 2
        yield {name: values[:half] for name, values in whole.items()}
        server.kill()
        yield {name: values[half:] for name, values in whole.items()}

    made = tuple(
        replace(one, batches=partial(batches, one)) if one.name == "users" else one
        for one in contents.tables
    )
    return replace(contents, tables=made)


@pytest.mark.parametrize("kind", ["debian", "wheel"])
def test_a_server_that_is_killed_in_the_middle(kind: str) -> None:
    """The old tables are whole, one line says what happened, a second run succeeds."""
    server = started(kind)
    before, after = recommender_of(codes(64)), recommender_of(codes(20, 50, 200))
    with server, open_store(server.address) as store, open_store(server.address) as reader:
        store.write(contents_of(before, users=True))
        user = before.user_ids[0]
        assert reader.recommend(user) == before.recommend(user)
        new = contents_of(after, users=True)
        with pytest.raises(StoreError) as caught:
            store.write(killing(new, server))
        message = str(caught.value)
        assert "\n" not in message
        assert "cannot export to postgresql://" in message
        assert "What was exported before is as it was" in message
        for one in (store, reader):
            with pytest.raises(StoreError, match="check that the server runs"):
                one.recommend(user)
        server.start()
        assert reader.recommend(user) == before.recommend(user)
        for user in [*before.user_ids][::7]:
            assert store.recommend(user) == before.recommend(user)
        store.write(new)
        assert isinstance(store, PostgresqlStore)
        assert not [name for name in store.tables_there() if "__new" in name]
        for user in [*after.user_ids][::7]:
            assert store.recommend(user) == after.recommend(user)


def test_two_exports_at_once_take_turns(debian: PostgreSQL) -> None:
    address = debian.new_database("turns")
    shops = [recommender_of(codes(64)), recommender_of(codes(20, 50, 200))]
    failed: list[Exception] = []

    def export(shop: Any) -> None:
        try:
            with open_store(address) as store:
                for _ in range(3):
                    store.write(contents_of(shop, users=True))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=export, args=[shop]) for shop in shops]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
        assert not one.is_alive()
    assert not failed
    with open_store(address) as store:
        last = next(shop for shop in shops if len(shop.item_ids) == store.about.items)
        for user in [*last.user_ids][::5]:
            assert store.recommend(user) == last.recommend(user)


def test_readers_go_on_while_tables_are_swapped(debian: PostgreSQL) -> None:
    """A reader during exports gets a list of the old or of the new one, and no error."""
    address = debian.new_database("readers")
    shop = recommender_of(codes(64))
    with open_store(address) as store:
        store.write(contents_of(shop, users=True))
    stop, failed, asked = threading.Event(), [], [0]

    def ask() -> None:
        with open_store(address) as reader:
            while not stop.is_set():
                try:
                    assert reader.recommend(shop.user_ids[3]) == shop.recommend(shop.user_ids[3])
                    asked[0] += 1
                except Exception as error:
                    failed.append(error)
                    return

    thread = threading.Thread(target=ask)
    thread.start()
    with open_store(address) as store:
        for _ in range(5):
            before = asked[0]
            store.write(contents_of(shop, users=True))
            until(lambda before=before: failed or asked[0] > before)  # type: ignore[misc]
    stop.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not failed
    assert asked[0] > 0


def test_a_reader_with_another_order_is_not_broken_off(debian: PostgreSQL) -> None:
    """One who has `users` and then wants `items`, while the swap has `items` and wants `users`."""
    address = debian.new_database("order")
    shop = recommender_of(codes(64))
    contents = contents_of(shop, users=True)
    with open_store(address) as store:
        store.write(contents)
        with debian.connect("order", autocommit=False) as reader:
            reader.execute("SELECT count(*) FROM users")
            thread = threading.Thread(target=store.write, args=[contents])
            thread.start()
            with debian.connect("order") as watcher:
                waits = (
                    "SELECT count(*) FROM pg_locks "
                    "WHERE NOT granted AND relation = 'users'::regclass"
                )
                until(lambda: watcher.execute(waits).fetchone()[0] > 0)
            for _ in range(20):
                reader.execute("SELECT count(*) FROM items")
            reader.commit()
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert store.recommend(shop.user_ids[3]) == shop.recommend(shop.user_ids[3])


def test_a_user_that_may_not_write(debian: PostgreSQL) -> None:
    debian.new_database("closed")
    with debian.connect("closed") as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM public")
    contents = contents_of(recommender_of(codes(20)), users=True)
    said = r"permission denied.*Let the user create tables"
    with (
        open_store(debian.address_of("closed", user="guest")) as store,
        pytest.raises(StoreError, match=said) as e,
    ):
        store.write(contents)
    assert "\n" not in str(e.value)


class TestSecrets:
    """From PGPASSWORD, ~/.pgpass and a service file; never in a message."""

    @pytest.fixture(autouse=True)
    def _no_settings_of_others(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.startswith("PG")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path))

    def read_about(self, address: str) -> object:
        with open_store(address) as store:
            return store.read_about()

    def refusal(self, address: str) -> str:
        with pytest.raises(StoreError) as caught:
            self.read_about(address)
        assert not any(secret in str(caught.value) for secret in (PASSWORD, "wr0ng"))
        return str(caught.value)

    def test_the_environment(
        self, debian: PostgreSQL, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        address = debian.address_of(password="")
        for wrong in ("", "wr0ng"):
            monkeypatch.setenv("PGPASSWORD", wrong)
            said = self.refusal(address)
            assert said.startswith("cannot ask postgresql://xorec@127.0.0.1")
            assert "PGPASSWORD, ~/.pgpass or a service file" in said
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        assert self.read_about(address) is None

    def test_files_of_libpq(
        self, debian: PostgreSQL, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        services, passwords = tmp_path / "services.conf", tmp_path / "passwords"
        login = f"host=127.0.0.1\nport={debian.port}\nuser=xorec\ndbname=postgres\n"
        services.write_text(f"[shop]\n{login}password={PASSWORD}\n[bare]\n{login}")
        monkeypatch.setenv("PGSERVICEFILE", str(services))
        assert self.read_about("postgresql:///?service=shop") is None
        assert "no password supplied" in self.refusal("postgresql:///?service=bare")
        passwords.write_text(f"127.0.0.1:{debian.port}:*:xorec:{PASSWORD}\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        assert self.read_about("postgresql:///?service=bare") is None

    def test_in_the_address_it_is_taken_and_never_shown(self, debian: PostgreSQL) -> None:
        assert self.read_about(debian.address_of(password=PASSWORD)) is None
        said = self.refusal(debian.address_of(password="wr0ng"))
        assert "password authentication failed" in said
        said = self.refusal(debian.address_of("no-such", password=PASSWORD))
        assert "does not exist" in said
        assert "createdb" in said
