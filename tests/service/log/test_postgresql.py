"""The log in PostgreSQL: the kit, several machines on one log, and what only a server can do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_logs import EventLogTests, Opened, an_event, exposures
from tests.support.postgresql import PASSWORD, PostgreSQL
from tests.support.waiting import until
from xorec.core.addresses import Address, parse_address
from xorec.core.errors import MissingExtraError, OptionError
from xorec.databases.postgresql import driver
from xorec.service.log import postgresql as connecting
from xorec.service.log import postgresql_log as log_module
from xorec.service.log.base import LogReader, StorageFailed, StorageFull
from xorec.service.log.location import Machine
from xorec.service.log.postgresql import PostgresqlDialect
from xorec.service.log.postgresql_log import PostgresqlLog
from xorec.service.log.records import Batch, Change, Exposure, new_change
from xorec.service.log.sqlite import SqliteDialect, SqliteLog

pytestmark = pytest.mark.database


def the_address(text: str) -> Address:
    """The address that a text is."""
    found = parse_address(text)
    assert found is not None
    return found


def an_address(server: PostgreSQL, folder: Path, schema: str = "") -> Address:
    """A log of its own for each folder: a schema."""
    found = the_address(server.address)
    name = schema or f"log {abs(hash(str(folder))):x}"
    return Address(**{**vars(found), "settings": {**found.settings, "schema": name}})


class TestPostgresqlLog(EventLogTests):
    server: PostgreSQL

    @pytest.fixture(autouse=True)
    def _server(self, postgresql: PostgreSQL) -> None:
        self.server = postgresql

    def open_log(self, folder: Path, floor: int = 0) -> PostgresqlLog:
        copy, address = folder / "events.db", an_address(self.server, folder)
        return PostgresqlLog(
            address, Machine(folder), floor=floor, copy=copy if copy.exists() else None
        )

    def open_reader(self, folder: Path) -> LogReader:
        return LogReader(PostgresqlDialect(an_address(self.server, folder)))

    def test_disk_means_a_flush_at_each_commit(self, tmp_path: Path) -> None:
        for durability, commit in (("disk", "on"), ("process", "off")):
            folder = tmp_path / durability
            address = an_address(self.server, folder)
            log = PostgresqlLog(address, Machine(folder), durability)  # type: ignore[arg-type]
            assert _setting(log, "synchronous_commit") == commit
            log.close()

    def test_a_server_that_does_not_flush_by_itself_is_told_to(self, tmp_path: Path) -> None:
        with self.server.connect() as connection:
            connection.execute("ALTER ROLE xorec SET synchronous_commit = off")
        try:
            log = self.open_log(tmp_path)
            assert _setting(log, "synchronous_commit") == "on"
            log.close()
        finally:
            with self.server.connect() as connection:
                connection.execute("ALTER ROLE xorec RESET synchronous_commit")

    def test_texts_with_nul_and_backslashes(self, service: Opened) -> None:
        strange = ("a\0b", "a\\0b", "\\", "\\\\0", "\0\0", "it's \"; DROP TABLE events --", "🍵")
        service.append(
            *(
                an_event(at, kind=text, event_id=text, request_id=text)
                for at, text in enumerate(strange)
            )
        )
        for text in strange:
            service.writer.expose(Exposure(text, text, text, "ann", [text], 1))
        retry = service.append(*(an_event(1, event_id=text) for text in strange))
        assert (retry.accepted, retry.duplicates) == (0, len(strange))
        kept = [(one.kind, one.event_id, one.request_id) for one in service.events()]
        assert kept == [(text, text, text) for text in strange]
        original = service.reader.dialect.original
        shown = [(*map(original, row[:3]), json.loads(row[4])) for row in exposures(service.reader)]
        assert shown == [(text, text, text, [text]) for text in strange]
        for text in strange:
            (outcome,) = service.reader.outcomes(text, kind=text)
            assert (outcome.arm, outcome.successes) == (text, 1)

    def test_hostile_schemas_are_names(self, tmp_path: Path) -> None:
        for name in ('x"; DROP SCHEMA public CASCADE; --', "sel ect", "Ünïcode 🍵"):
            log = PostgresqlLog(an_address(self.server, tmp_path, name), Machine(tmp_path / "m"))
            log.write(Batch([log.rows([an_event(1)])]))
            log.close()
            (tmp_path / "m" / "machine.json").unlink()
            with self.server.connect() as connection:
                found = connection.execute(
                    "SELECT count(*) FROM pg_namespace WHERE nspname IN (%s, 'public')", (name,)
                ).fetchone()
            assert found == (2,)

    def test_a_session_that_breaks_between_calls_is_replaced_unseen(self, service: Opened) -> None:
        service.append(an_event(1))
        assert service.reader.count() == 1
        for number in (2, 3):
            assert _end_sessions(self.server) >= 2
            if number == 2:
                assert service.reader.count() == 1
            assert service.append(an_event(number)).accepted == 1
        assert service.reader.count() == 3

    def test_a_server_that_is_killed_and_comes_back(self, service: Opened) -> None:
        service.append(an_event(1))
        self.server.kill()
        for _ in range(2):
            with pytest.raises(StorageFailed, match="the event log postgresql://xorec@/postgres"):
                service.append(an_event(2))
            with pytest.raises(StorageFailed):
                service.reader.count()
        self.server.start()
        assert service.append(an_event(2), an_event(1)).accepted == 1
        assert [one.seq for one in service.reader.after(0)] == [1, 2]
        assert service.sequence.value == service.reader.last_seq() == 2

    def test_by_indexes_whatever_the_server_has_planned(self, tmp_path: Path) -> None:
        """Statements are prepared while the log is small: 30,000 events later they must not read
        all of it at each group."""
        log = self.open_log(tmp_path)
        reads = (
            "SELECT sum(seq_tup_read)::bigint, sum(n_tup_ins)::bigint FROM pg_stat_all_tables "
            "WHERE relname = 'events' AND schemaname = %s"
        )
        name = connecting.schema_of(log.address)
        for at in range(20):  # now its plan is kept
            log.write(Batch([log.rows([an_event(at, at)])]))
        for at in range(0, 30_000, 1_000):
            log.write(Batch([log.rows([an_event(at + n, at + n) for n in range(1_000)])]))
        for at in range(10):
            log.write(Batch([log.rows([an_event(at, at)])]))
        log.close()
        with self.server.connect() as connection:

            def told() -> Any:
                return connection.execute(reads, (name,)).fetchone()

            until(lambda: (told()[1] or 0) >= 30_000)  # the session told it when it ended
            assert told()[0] < 30_000

    # -- several machines

    @pytest.fixture
    def two(self, tmp_path: Path) -> Iterator[list[PostgresqlLog]]:
        """Two machines on one log."""
        address = an_address(self.server, tmp_path)
        with ExitStack() as stack:
            logs = []
            for number in range(2):
                log = PostgresqlLog(address, Machine(tmp_path / f"machine-{number}"))
                stack.callback(log.close)
                logs.append(log)
            yield logs

    def test_two_machines_write_one_sequence(self, two: list[PostgresqlLog]) -> None:
        first, second = two
        assert first.write(Batch([first.rows([an_event(1)])])).appended[0].seq == 1
        taken = second.write(Batch([second.rows([an_event(1), an_event(2)])]))
        assert (taken.appended[0].accepted, taken.appended[0].duplicates) == (1, 1)
        assert [one.seq for one in taken.records] == [2]
        gone = first.write(Batch(erase="ann")).erased
        assert gone is not None
        assert (gone.events, gone.seq) == (2, 3)
        again = second.write(Batch([second.rows([an_event(1)])])).appended[0]
        assert (again.accepted, again.duplicates, again.seq) == (0, 1, 3)

    def test_places_become_visible_in_their_order(
        self, two: list[PostgresqlLog], tmp_path: Path
    ) -> None:
        """Who follows by the last place that it has seen misses nothing, whoever writes when."""
        calls, reader, done = 60, self.open_reader(tmp_path), threading.Event()

        def write(number: int) -> None:
            log = two[number]
            for call in range(calls):
                events = [an_event(1_000 * number + 3 * call + n) for n in range(3)]
                changes = [[new_change("item", {"id": call})]] if call % 5 == 0 else []
                log.write(Batch([log.rows(events)], changes))

        def follow() -> list[int]:
            seq, seen = 0, list[int]()
            while not done.is_set() or seq < reader.last_seq():
                news = reader.news(seq, 7)
                if news.last_seq:
                    seen += sorted([*news.events.seqs, *(one.seq for one in news.changes)])
                    seq = news.last_seq
            return seen

        with ThreadPoolExecutor(3) as threads:
            following = threads.submit(follow)
            writing = [threads.submit(write, number) for number in range(2)]
            wait(writing)
            done.set()
            assert [one.exception() for one in writing] == [None, None]
            assert following.result() == [*range(1, 2 * (3 * calls + calls // 5) + 1)]
        reader.close()

    def test_the_record_of_an_erasure_waits_for_every_machine(
        self, two: list[PostgresqlLog], tmp_path: Path
    ) -> None:
        reader = self.open_reader(tmp_path)
        first, second = two
        first.write(Batch([first.rows([an_event(1)])]))
        erased = first.write(Batch(erase="ann")).erased
        assert erased is not None
        first.write(Batch(forget=erased.seq))
        assert reader.changes("erase") == [Change(erased.seq, "erase", {"user": "ann"})]
        second.write(Batch(forget=erased.seq))
        assert reader.changes("erase") == []
        assert reader.last_seq() == erased.seq
        reader.close()

    def test_a_machine_that_was_away_for_a_month(
        self, two: list[PostgresqlLog], tmp_path: Path
    ) -> None:
        first, second = two
        reader = self.open_reader(tmp_path)
        erased = first.write(Batch(erase="ann")).erased
        assert erased is not None
        second.close()
        with self.server.connect() as connection:
            connection.execute(f'SET search_path = "{connecting.schema_of(first.address)}"')
            connection.execute(
                "UPDATE machines SET seen = now() - interval '31 days' WHERE machine = %s",
                (second._machine.name,),
            )
        first.write(Batch(forget=erased.seq))
        assert reader.changes("erase") == []  # nobody waits for it any longer
        with pytest.raises(StorageFailed, match="more than 30 days"):
            PostgresqlLog(first.address, Machine(tmp_path / "machine-1"))
        PostgresqlLog(first.address, Machine(tmp_path / "another")).close()
        reader.close()

    def test_one_service_a_machine(
        self, service: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_module, "_PATIENCE", 0.3)
        with pytest.raises(StorageFailed, match="written by another service of the name"):
            self.open_log(tmp_path)
        assert service.append(an_event(1)).accepted == 1

    def test_a_session_that_the_server_has_not_missed_yet(self, tmp_path: Path) -> None:
        """The network broke: to the server the old session is alive, and holds our place."""
        log = self.open_log(tmp_path)
        lost, log._connection = log._connection, None
        assert log.write(Batch([log.rows([an_event(1)])])).appended[0].accepted == 1
        assert lost is not None
        assert log._connection is not lost
        lost.close()
        log.close()

    def test_a_folder_follows_one_log(self, tmp_path: Path) -> None:
        self.open_log(tmp_path).close()
        other = an_address(self.server, tmp_path, "another")
        with pytest.raises(OptionError, match="follow another event log"):
            PostgresqlLog(other, Machine(tmp_path))

    def test_machines_that_begin_at_once_make_the_tables_once(self, tmp_path: Path) -> None:
        address = an_address(self.server, tmp_path)
        machines = [Machine(tmp_path / str(number)) for number in range(4)]
        with ThreadPoolExecutor(4) as threads:
            logs = [*threads.map(partial(PostgresqlLog, address), machines)]
        assert len({log._salt for log in logs}) == 1
        for log in logs:
            log.close()

    # -- copies

    def test_a_log_of_sqlite_goes_on_in_postgresql(self, tmp_path: Path) -> None:
        own = tmp_path / "events.db"
        log = SqliteLog(own)
        strange = an_event(1, "a\0b", event_id="x\0\\y", kind="\\0")
        log.write(Batch([log.rows([strange, an_event(2)])], [[new_change("item", {"id": "\0"})]]))
        log.write(Batch(exposures=[log.exposure_row(Exposure("r", "x", "a", 1, ["\0"], 5))]))
        log.write(Batch([log.rows([an_event(3, "gone")])], erase="gone"))
        log.close()
        before = LogReader(SqliteDialect(own))
        with self.opened(tmp_path) as service:
            assert service.reader.after(0) == before.after(0)
            (shown,) = exposures(before)
            assert shown == ("r", "x", "a", "1", '["\\u0000"]')
            assert exposures(service.reader) == [shown]
            assert service.reader.last_seq() == before.last_seq()
            answer = service.append(strange, an_event(3), an_event(4))
            assert (answer.accepted, answer.duplicates) == (1, 2)
            kept = service.reader.after(0)
        before.close()
        with self.opened(tmp_path) as service:  # killed before the file was put aside
            assert service.reader.after(0) == kept

    def test_a_log_that_is_in_use_takes_no_copy(self, tmp_path: Path) -> None:
        self.open_log(tmp_path).close()
        SqliteLog(tmp_path / "other.db").close()
        for machine in (Machine(tmp_path), Machine(tmp_path / "another")):
            with pytest.raises(StorageFailed, match="is another that is in use"):
                PostgresqlLog(
                    an_address(self.server, tmp_path), machine, copy=tmp_path / "other.db"
                )

    # -- what cannot be used

    @pytest.mark.parametrize(
        ("user", "password", "database", "line"),
        [
            ("xorec", "not-" + PASSWORD, "postgres", "the password is wrong: give the right one"),
            ("nobody-" + PASSWORD[:1], PASSWORD, "postgres", "the password is wrong"),
            ("xorec", PASSWORD, "nowhere", 'database "nowhere" does not exist|no such database'),
        ],
    )
    def test_one_line_without_the_password(
        self, tmp_path: Path, user: str, password: str, database: str, line: str
    ) -> None:
        address = the_address(self.server.address_of(database, user, password))
        for opens in (lambda: PostgresqlLog(address, Machine(tmp_path)), lambda: _read(address)):
            with pytest.raises(StorageFailed, match=line) as raised:
                opens()
            assert PASSWORD not in str(raised.value)
            assert "\n" not in str(raised.value)
            assert raised.value.__cause__ is None

    def test_a_user_without_rights(self, tmp_path: Path) -> None:
        with self.server.connect() as connection:
            connection.execute("DROP ROLE IF EXISTS guest")
            connection.execute("CREATE ROLE guest LOGIN")
        address = the_address(self.server.address_of(user="guest"))
        with pytest.raises(StorageFailed, match="the user lacks a right"):
            PostgresqlLog(address, Machine(tmp_path))

    def test_schemas_that_are_no_log(self, tmp_path: Path) -> None:
        with self.server.connect() as connection:
            connection.execute("CREATE SCHEMA IF NOT EXISTS shop")
            connection.execute("CREATE TABLE IF NOT EXISTS shop.orders (id int)")
        address = an_address(self.server, tmp_path, "shop")
        for opens in (lambda: PostgresqlLog(address, Machine(tmp_path)), lambda: _read(address)):
            with pytest.raises(StorageFailed, match=r"'shop' .* no event log of xorec"):
                opens()
        with pytest.raises(StorageFailed, match="has no tables yet"):
            _read(an_address(self.server, tmp_path, "nothing"))

    def test_a_log_of_a_newer_xorec_is_refused(self, tmp_path: Path) -> None:
        log = self.open_log(tmp_path)
        log._connected().execute("UPDATE state SET version = 2")
        log.close()
        with pytest.raises(StorageFailed, match="is of version 2, this xorec knows 1: use a newer"):
            self.open_log(tmp_path)
        with pytest.raises(StorageFailed, match="is of version 2"):
            self.open_reader(tmp_path)


@pytest.mark.parametrize(
    ("settings", "error", "line"),
    [("", StorageFailed, r"127\.0\.0\.1.*refused"), ("?sslmod=require", OptionError, "sslmod")],
)
def test_what_libpq_refuses_is_said_without_secrets(
    tmp_path: Path, settings: str, error: type[Exception], line: str
) -> None:
    address = the_address(f"postgresql://ann:s3cret@127.0.0.1:1/shop{settings}")
    with pytest.raises(error, match=line) as raised:
        PostgresqlLog(address, Machine(tmp_path))
    assert "s3cret" not in str(raised.value)


def test_what_a_driver_says_is_shown_without_secrets() -> None:
    address = the_address("postgresql://ann:s3cret@db/shop?sslpassword=s3cret")
    said = "no route to postgresql://ann:s3cret@db/shop\nhint: password=s3cret"
    error = connecting.storage_error(address, OSError(said))
    assert "no route to postgresql://ann:***@db/shop" in str(error)
    assert "s3cret" not in str(error)
    assert "\n" not in str(error)


def test_a_full_disk_is_said_to_be_full() -> None:
    from psycopg.errors import DiskFull

    address = the_address("postgresql://db/shop")
    error = connecting.storage_error(address, DiskFull("could not extend file"))
    assert isinstance(error, StorageFull)
    assert str(error).startswith("no space left for the event log postgresql://db/shop")


def test_a_server_that_does_not_flush_is_refused(tmp_path: Path) -> None:
    from tests.support import postgresql as servers

    server, reason = servers.start("debian", {"fsync": "off"})
    if server is None:
        pytest.skip(reason)
    with server:
        address = an_address(server, tmp_path)
        with pytest.raises(StorageFailed, match="fsync = off"):
            PostgresqlLog(address, Machine(tmp_path))
        PostgresqlLog(address, Machine(tmp_path), "process").close()


def test_the_extra_is_named_where_the_driver_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'xorec\[postgresql\]'"):
        driver()


def test_a_machine_file_that_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text("[]")
    with pytest.raises(OptionError, match="does not say which machine"):
        Machine(tmp_path)


def _read(address: Address) -> None:
    LogReader(PostgresqlDialect(address)).close()


def _setting(log: PostgresqlLog, name: str) -> Any:
    ((value,),) = log._connected().execute(f"SHOW {name}").fetchall()
    return value


def _end_sessions(server: PostgreSQL) -> int:
    """End all sessions of services, as a restart of the server does."""
    with server.connect() as connection:
        ended = connection.execute(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'xorec serve'"
        ).fetchall()
        left = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)"
        pids = [pid for pid, _ in ended]
        until(lambda: connection.execute(left, (pids,)).fetchone() == (0,))
    return len(ended)
