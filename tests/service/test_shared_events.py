"""Services whose events are in PostgreSQL: alone, several on one log, and while it is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import xorec
from tests.support.postgresql import PASSWORD, PostgreSQL
from tests.support.service_in_process import Served, served
from tests.support.service_process import serve_until_it_ends
from tests.support.waiting import PATIENCE, until
from xorec.core.errors import OptionError, XorecError
from xorec.recommender.recommender import Recommender
from xorec.service.api.health import all_routes
from xorec.service.config import Config, revealed
from xorec.service.http.app import App, WorkerHealth
from xorec.service.jobs.schedule import Schedule, spec_for
from xorec.service.metrics import Metrics
from xorec.service.processes import start
from xorec.service.processes.start import start_follower, start_writer
from xorec.service.settings import config_text, configure
from xorec.testing.data import planted

pytestmark = pytest.mark.process

DATA = planted(40, 50, per_user=8)


@cache
def _shop() -> Recommender:
    return Recommender.from_model(xorec.ItemKNN().fit(DATA), DATA)


USER: int = DATA.users[0]
OTHER: int = DATA.users[1]


WAITS: dict[str, Any] = {"wait_seconds": 60}
"""For a `seq` to be visible: a machine that runs tests may be very busy."""
Two = tuple[Served, Served]


@pytest.fixture
def events(one_postgresql: PostgreSQL, tmp_path: Path) -> str:
    """The address of an empty database."""
    return one_postgresql.new_database("shared")


@pytest.fixture
def two(events: str, tmp_path: Path) -> Iterator[Two]:
    """Services of two machines that share their events."""
    with (
        served(_shop(), tmp_path / "a", events=events, limits=WAITS) as a,
        served(_shop(), tmp_path / "b", events=events, limits=WAITS) as b,
    ):
        yield a, b


def test_what_one_machine_takes_the_other_knows(two: Two, events: str, tmp_path: Path) -> None:
    a, b = two
    for turn in range(20):  # by turns, at once: `seq` makes it wait
        to, of = (a, b) if turn % 2 else (b, a)
        item = of.ids(USER, 5)[0]
        answer = to.post("events", {"user": USER, "item": item, "event_id": f"e{turn}"})
        taken = answer["accepted"], answer["seq"], answer["durability"]
        assert taken == (1, turn + 1, "disk")
        assert item not in of.ids(USER, 5, seq=answer["seq"])
        assert of.status == 200
        assert item not in to.ids(USER, 5)
        again = of.post("events", {"user": USER, "item": item, "event_id": f"e{turn}"})
        assert (again["accepted"], again["duplicates"]) == (0, 1)
    a.put("items", {"id": DATA.items[3], "name": "milk"})
    a.put("experiments", {"name": "ab", "arms": {"default": 1}})
    until(lambda: b.get("items", item=DATA.items[3])["items"][0]["name"] == "milk")
    until(lambda: "ab" in b.service.models.experiments)
    shown = b.get("recommend", user=OTHER, experiment="ab")
    a.post("events", {"user": OTHER, "item": 1, "request_id": shown["request_id"]})
    until(lambda: b.service.reader.outcomes("ab"))
    until(lambda: a.get("experiments", name="ab")["experiments"][0]["arms"])
    last = a.service.sequence.value
    until(lambda: b.service.sequence.value == last)
    assert a.get("events")["events"] == b.get("events")["events"]
    b.get("recommend", user=USER, seq=last + 1)
    assert b.status == 422  # the log has no such place
    with served(_shop(), tmp_path / "c", events=events) as c:  # a new machine replays everything
        assert c.started.replayed == last
        assert c.get("items", item=DATA.items[3])["items"][0]["name"] == "milk"


def test_generations_are_each_machines_own(two: Two) -> None:
    a, b = two
    b.post("events", {"user": USER, "item": DATA.items[3]})
    for ask in (a, b):
        ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
        assert ask.service.models.default.about.number == 2
    a.post("models/activate", {"generation": 1})
    assert a.service.models.default.about.number == 1
    seq = a.service.models.applied_seq
    until(lambda: b.service.models.applied_seq >= seq)
    assert b.service.models.default.about.number == 2
    assert b.ids(USER, 5) == a.ids(USER, 5)


def test_an_erasure_goes_through_the_files_of_every_machine(two: Two, tmp_path: Path) -> None:
    a, b = two
    a.post("events", {"user": USER, "item": 3})
    gone = b.delete("events", user=USER)
    assert gone["events"] == 1
    assert a.get("recommend", user=USER, seq=gone["seq"])["fallback"] == "popular"
    b.finish(gone["task"])

    def has_user(folder: str) -> bool:
        files = (tmp_path / folder / "serve" / "models" / "default").glob("*.xorec")
        return any(Recommender.load(path).user_ids.find(USER) >= 0 for path in files)

    assert not has_user("b")
    until(lambda: not has_user("a"))
    until(lambda: a.service.reader.changes("erase") == [])  # nobody needs the name now


def test_an_erasure_that_a_kill_left_is_carried_out(tmp_path: Path) -> None:
    """Also with the log in the folder: the record says whom, and the files say they have them."""
    with served(_shop(), tmp_path) as ask:
        ask.service.require_writer().erase(USER).result()
        ask.service.require_tasks().add = lambda order: None  # type: ignore[method-assign,assignment,return-value]
    with served(_shop(), tmp_path) as ask:
        until(lambda: ask.service.require_tasks().tasks())
        ask.finish(ask.service.require_tasks().tasks()[0].id)
        until(lambda: ask.service.models.default.recommender.user_ids.find(USER) < 0)
        assert ask.service.reader.changes("erase") == []


def test_a_machine_says_that_it_is_there(events: str, tmp_path: Path) -> None:
    with served(_shop(), tmp_path, events=events) as ask:
        log: Any = ask.service.require_writer()._log
        log._connected().execute("UPDATE machines SET seen = now() - interval '2 days'")
        schedule = Schedule(ask.service)
        schedule.close()
        schedule.look(time.monotonic() + 4000)
        found = log._connected().execute("SELECT now() - seen < interval '1 hour' FROM machines")
        assert found.fetchall() == [(True,)]


def test_while_the_database_is_away(
    one_postgresql: PostgreSQL, events: str, tmp_path: Path
) -> None:
    with served(_shop(), tmp_path, events=events) as ask:
        before = ask.post("events", {"user": USER, "item": DATA.items[3]})
        known = ask.ids(USER, 5)
        one_postgresql.kill()
        try:
            for _ in range(3):
                problem = ask.post("events", {"user": USER, "item": DATA.items[4]})
                assert ask.status == 503, problem
                assert "the event log postgresql://" in problem["detail"]
                assert ask.ids(USER, 5) == known  # lists go on
                assert ask.ids(USER, 5, seq=before["seq"]) == known
            ask.get("recommend", user=USER, seq=before["seq"] + 1)
            assert ask.status == 503
            ask.get("events", user=USER)
            assert ask.status == 503
        finally:
            one_postgresql.start()
        after = ask.post("events", {"user": USER, "item": DATA.items[4]})
        assert (ask.status, after["seq"]) == (200, before["seq"] + 1)
        assert len(ask.get("events", user=USER)["events"]) == 2
        until(lambda: not ask.service.follower.is_failing)  # type: ignore[union-attr]


def test_a_worker_that_starts_waits_for_a_database_that_is_away(
    one_postgresql: PostgreSQL,
    events: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Else a second worker that starts at a bad moment would end the whole service."""
    monkeypatch.setattr(start, "_PATIENCE", 10 * PATIENCE)
    with served(_shop(), tmp_path, events=events, limits=WAITS) as ask:
        ask.post("events", {"user": USER, "item": DATA.items[3]})
        config, known = ask.service.config, ask.ids(USER, 5)
        one_postgresql.kill()
        with ThreadPoolExecutor(1) as threads:
            starting = threads.submit(start_follower, config, Metrics(), 1, lambda exposure: None)
            try:
                until(lambda: starting.done() or caplog.text.count("the worker waits") >= 2)
                assert not starting.done()
            finally:
                one_postgresql.start()
            follower = starting.result(PATIENCE)
        try:
            assert follower.replayed == 1
            after = ask.post("events", {"user": USER, "item": known[0]})
            assert asyncio.run(follower.service.reach(after["seq"]))
            waits = follower.service.follow()
            assert waits is None
            live = follower.service.models.default
            assert known[0] not in live.item_ids(
                live.search(live.query_user(USER), 5, None, None).items[0].tolist()
            )
        finally:
            follower.close()


def test_snapshots_go_both_ways(one_postgresql: PostgreSQL, events: str, tmp_path: Path) -> None:
    with served(_shop(), tmp_path / "a", events=events) as ask:
        ask.post("events", {"user": USER, "item": DATA.items[3], "kind": "a\0b"})
        ask.put("items", {"id": DATA.items[5], "hidden": True})
        ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
        ask.post("events", {"user": USER, "item": DATA.items[4]})
        snapshot = Path(ask.post("snapshots")["snapshot"]["path"])
        expected, log = ask.ids(USER, 10), ask.get("events")["events"]
    other = one_postgresql.new_database("restored")
    for name, where in (("folder", None), ("database", other)):
        config = Config.model_validate(
            {"model": snapshot, "data": tmp_path / name, "port": 0, "events": where}
        )
        for _ in range(2):  # the second time it is there already
            with _served(config) as ask:
                assert ask.ids(USER, 10) == expected
                assert ask.get("events")["events"][-len(log) :] == log
                assert ask.service.models.default.about.number == 2
                again = ask.post("events", {"user": USER, "item": DATA.items[4]})
                assert again["duplicates"] == 1
    assert (tmp_path / "database" / "events.db.moved").exists()


@contextmanager
def _served(config: Config) -> Iterator[Served]:
    started = start_writer(config, metrics := Metrics())
    health = WorkerHealth("ready")
    app = App(config, all_routes(health, metrics), health, metrics)
    app.service = started.service
    yield Served(app, started)
    app.close()
    started.close()


def test_a_folder_goes_on_in_a_database_and_not_back(events: str, tmp_path: Path) -> None:
    with served(_shop(), tmp_path) as ask:
        ask.post("events", {"user": USER, "item": DATA.items[3]})
        expected = ask.ids(USER, 5)
    with served(_shop(), tmp_path, events=events) as ask:
        assert ask.ids(USER, 5) == expected
        assert ask.post("events", {"user": USER, "item": DATA.items[3]})["duplicates"] == 1
    with pytest.raises(OptionError, match="are in a database that machines share"):
        served(_shop(), tmp_path).__enter__()
    with served(_shop(), tmp_path / "b") as ask:  # a second machine with events of its own
        ask.post("events", {"user": USER, "item": DATA.items[3]})
    with pytest.raises(XorecError, match="is another that is in use"):
        served(_shop(), tmp_path / "b", events=events).__enter__()


# -- secrets and settings


SECRET = "postgresql://ann:s3cret@db.example/shop?sslpassword=hush"


def test_the_address_is_shown_without_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(f'events = "{SECRET}"\n')
    for made in (
        configure(file, {}, {}),
        configure(None, {"XOREC_SERVE__EVENTS": SECRET}, {}),
        configure(None, {}, {"events": SECRET}),
    ):
        text = config_text(made)
        assert 'events = "postgresql://ann@db.example/shop?sslpassword=***"' in text
        said = f"{text}{made.config!r}{made.config.model_dump()}{made.config.model_dump_json()}"
        assert "s3cret" not in said
        assert "hush" not in said
        again = Config.model_validate(revealed(made.config))
        assert again == made.config
        assert again.events is not None
        assert again.events.get_secret_value() == SECRET


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("mysql://ann:s3cret@db/shop", "events are kept in the folder, or in postgresql://"),
        ("s3cret.sqlite", "events are kept in the folder, or in postgresql://"),
        ("postgresql://ann:s3cret@db/shop?table=x", "leave out table= and query="),
        ("postgresql://ann:s3cret@db:99999/shop", "give 1 to 65535"),
    ],
)
def test_what_is_no_address_is_refused_without_showing_it(address: str, line: str) -> None:
    with pytest.raises(OptionError, match=line) as raised:
        configure(None, {"XOREC_SERVE__EVENTS": address}, {})
    assert "s3cret" not in str(raised.value)
    assert "XOREC_SERVE__EVENTS" in str(raised.value)


def test_orders_do_not_show_it(events: str, tmp_path: Path) -> None:
    with served(_shop(), tmp_path, events=events) as ask:
        order = spec_for(ask.service, "update", "default")
        assert order.events == events
        assert events not in repr(order)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_start_without_the_database_is_one_line(
    one_postgresql: PostgreSQL, tmp_path: Path, workers: str
) -> None:
    _shop().save(tmp_path / "shop.xorec")
    wrong = one_postgresql.address_of(password=f"not-{PASSWORD}")
    words = (tmp_path / "shop.xorec", "--data", tmp_path / "data", "--port", 0)
    for address, line in (
        (wrong, "the password is wrong"),
        (f"postgresql://ann:{PASSWORD}@127.0.0.1:1/shop", "refused"),
    ):
        environment = {"XOREC_SERVE__EVENTS": address, "XOREC_SERVE__LOG_LEVEL": "debug"}
        done = serve_until_it_ends(*words, "--workers", workers, **environment)
        assert done.returncode == 2, done.stderr
        (error,) = (one for one in done.stderr.splitlines() if one.startswith("error: "))
        assert line in error
        assert PASSWORD not in done.stderr + done.stdout
        assert "Traceback" not in done.stderr


def test_the_password_comes_from_the_environment(
    one_postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = one_postgresql.address_of(password="")
    one_postgresql.new_database("postgres_env")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = address.replace("/postgres", "/postgres_env")
    with served(_shop(), tmp_path, events=address) as ask:
        assert ask.post("events", {"user": USER, "item": 1})["accepted"] == 1
        ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in kept
