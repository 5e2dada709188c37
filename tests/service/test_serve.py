"""`xorec serve` as people run it: in a process of its own, with one worker and with several."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import xorec
from tests.support.service_process import RunningService, running_service, serve_until_it_ends
from tests.support.waiting import PATIENCE, until
from xorec.service.log.location import LogLocation
from xorec.testing.data import planted

pytestmark = pytest.mark.process

KEY = "a-secret-admin-key-0123"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "shop.xorec"
    data = planted(60, 40)
    xorec.Recommender.from_model(xorec.BPR(epochs=1).fit(data), data).save(path)
    return path


@pytest.fixture(scope="module")
def two(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("two") / "data"
    with running_service(model, folder, workers=2) as service:
        yield service


def worker_of(response: httpx.Response) -> int:
    found = re.match(r"w(\d+)-", response.headers["x-request-id"])
    assert found
    return int(found[1])


def test_the_lines_that_are_printed_work_as_they_are(model: Path, tmp_path: Path) -> None:
    with running_service(model, tmp_path / "data") as service:
        (ready,) = (line for line in service.lines if line.startswith("ready: "))
        assert "(generation 1, 60 users, 40 items; 0 events replayed)" in ready
        until(lambda: sum("curl" in line for line in service.lines) >= 3)
        curls = [line.strip() for line in service.lines if "curl" in line]
        assert len(curls) == 3
        for line in curls:
            words = [*shlex.split(line), "-s", "-o", "/dev/null", "-w", "%{http_code}"]
            assert subprocess.run(words, capture_output=True, text=True).stdout == "200"
        assert service.stop() == 0
        kept = f"Events and model versions are kept in {tmp_path / 'data'}/"
        until(lambda: len(service.lines) >= 6)
        assert [line.strip() for line in service.lines[1::4]] == [kept, f"stopped. {kept}"]
    with running_service(model, tmp_path / "data") as service:
        assert "; 1 event replayed)" in service.lines[0]
        assert service.stop(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        ("missing.xorec", "1"),
        ("missing.tar", "1"),
        ("folder", "1"),
        ("bad.tar", "1"),
        ("text.xorec", "1"),
        ("text.xorec", "2"),
    ],
)
def test_what_cannot_be_served_is_refused_and_leaves_no_folder(
    tmp_path: Path, name: str, workers: str
) -> None:
    (tmp_path / "text.xorec").write_text("user,item\n" * 9)
    (tmp_path / "folder").mkdir()
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.add(tmp_path / "text.xorec", "text.xorec")
    before = sorted(tmp_path.iterdir())
    done = serve_until_it_ends(tmp_path / name, "--workers", workers)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert name in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_keys_stay_out_of_logs_and_answers(model: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    settings = {"access_log": log, "keys": {"admin": KEY}, "log_level": "debug"}
    with running_service(model, tmp_path / "data", 1, settings) as service:
        with service.client() as client:
            for key in (KEY, "wrong-key-wrong-key"):
                headers = {"x-api-key": key}
                client.get("/v1/recommend?user=17", headers=headers)
                client.get(f"/nothing/{key}", headers=headers)
                client.post("/v1/events", json={"user": 17, "item": key}, headers=headers)
        assert service.stop() == 0
    said = "".join(service.lines) + service.errors + log.read_text()
    assert KEY not in said
    assert "wrong-key" not in said
    assert len(log.read_text().splitlines()) == 6
    assert '"path": "/v1/recommend"' in log.read_text()
    assert "17" not in re.sub(r'"(time|took_us|request_id|bytes)": [^,}]*', "", log.read_text())


def test_print_config_masks_keys_and_names_sources(model: Path) -> None:
    done = serve_until_it_ends(model, "--port", "9", "--print-config", XOREC_SERVE__KEYS__READ=KEY)
    assert done.returncode == 0
    assert KEY not in done.stdout
    assert "port = 9  # the command line" in done.stdout
    assert 'read = ["********"]  # XOREC_SERVE__KEYS__READ' in done.stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--host", "0.0.0.0"), "can be reached from outside"),
        (("--key-admin", KEY), "no option --key-admin"),
        (("--workers", "0"), "workers is 0"),
        (("--config", "no-such.toml"), "cannot read the settings in no-such.toml"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(
    model: Path, words: tuple[str, ...], line: str
) -> None:
    done = serve_until_it_ends(model, *words)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert KEY not in done.stderr


def test_a_folder_and_a_port_belong_to_one_service(two: RunningService, model: Path) -> None:
    words: Any = two.process.args
    data = words[words.index("--data") + 1]
    done = serve_until_it_ends(model, "--port", "0", "--data", data)
    assert (done.returncode, "another service uses" in done.stderr) == (2, True)
    port = two.base_url.rpartition(":")[2]
    done = serve_until_it_ends(model, "--port", port, "--data", f"{data}-2")
    assert (done.returncode, f"port {port}" in done.stderr) == (2, True)
    assert not Path(f"{data}-2").exists(), "nothing was served: nothing is left"


@pytest.fixture(scope="module")
def clients(two: RunningService) -> Iterator[list[httpx.Client]]:
    """A connection to each worker: who accepts is the system's choice, so try until both have."""
    found: dict[int, httpx.Client] = {}
    others: list[httpx.Client] = []

    def both() -> bool:
        others.append(two.client())
        found.setdefault(worker_of(others[-1].get("/livez")), others[-1])
        return len(found) == 2

    until(both)
    yield [found[0], found[1]]
    for client in others:
        client.close()


def test_figures_are_those_of_all_workers(clients: list[httpx.Client]) -> None:
    def count() -> float:
        text = clients[0].get("/metrics").text
        wanted = 'method="GET",route="/v1/popular",status="200"'
        lines = (one for one in text.splitlines() if "seconds_count" in one and wanted in one)
        return sum(float(line.split()[-1]) for line in lines)

    before = count()
    for n in range(30):
        assert worker_of(clients[n % 2].get("/v1/popular?k=1")) == n % 2
    assert count() - before == 30
    shown = clients[1].get("/metrics").text
    assert any(line.startswith('xorec_generation{model="default"') for line in shown.splitlines())


@pytest.mark.parametrize("given", [{}, {"x-request-id": "page"}])
@pytest.mark.parametrize("asked", [0, 1])
def test_a_list_goes_on_whichever_worker_is_asked(
    clients: list[httpx.Client], given: dict[str, str], asked: int
) -> None:
    headers = {name: f"{value}-{asked}" for name, value in given.items()}
    first = clients[0].get("/v1/recommend?user=1&k=3", headers=headers)
    params = {"request_id": first.headers["x-request-id"]}
    after = clients[asked].get("/v1/next", params=params)
    assert after.status_code == 200
    ids = [one["id"] for one in (*first.json()["items"], *after.json()["items"])]
    assert len(ids) == len(set(ids)) == 6
    assert clients[asked].get("/v1/next?request_id=nobodys").status_code == 404


def test_a_worker_that_dies_starts_again(model: Path, tmp_path: Path) -> None:
    """kill -9 of the writer: lists go on, writes are 503 until it is back, nothing is lost."""
    with running_service(model, tmp_path / "data", workers=2) as service:
        url = service.base_url
        event = {"user": 1, "item": 1001, "event_id": "first"}

        def post() -> Any:
            return httpx.post(f"{url}/v1/events", json=event, timeout=PATIENCE)

        def tried() -> int:
            """The status of a write; 0: it died with our connection."""
            listed = httpx.get(f"{url}/v1/recommend?user=2&k=1", timeout=PATIENCE)
            assert listed.status_code in (200, 503)
            try:
                status: int = post().status_code
            except httpx.TransportError:
                return 0
            assert status in (200, 503)
            return status

        assert post().json()["accepted"] == 1
        pids: dict[int, int] = {}

        def is_found() -> bool:
            stats = httpx.get(f"{url}/v1/stats", timeout=PATIENCE).json()["stats"]
            pids[stats["worker"]] = stats["pid"]
            return 0 in pids

        until(is_found)
        service.process.send_signal(signal.SIGSTOP)  # it starts the writer again when we say so
        os.kill(pids[0], signal.SIGKILL)
        until(lambda: tried() == 503)
        service.process.send_signal(signal.SIGCONT)
        until(lambda: tried() == 200)
        answer = post().json()
        assert (answer["accepted"], answer["duplicates"]) == (0, 1)
        until(lambda: "starts again" in service.errors)
        assert service.stop() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_the_end_drops_nothing(model: Path, tmp_path: Path, workers: int) -> None:
    """Clients write all the time; every event that was acknowledged is there afterwards."""
    acknowledged: list[str] = []
    dropped: list[str] = []

    def write(url: str, name: int) -> None:
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            for n in range(100_000):
                event = {"user": name, "item": 1000 + n % 40, "event_id": f"{name}-{n}"}
                try:
                    status = client.post("/v1/events", json=event).status_code
                except httpx.ConnectError:
                    return  # nobody listens any more
                except httpx.TransportError as error:
                    dropped.append(f"{name}-{n}: {error!r}")
                    return
                if status == 200:
                    acknowledged.append(f"{name}-{n}")

    with running_service(model, tmp_path / "data", workers) as service:
        url = service.base_url
        threads = [threading.Thread(target=write, args=(url, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) > 20)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 0
        for thread in threads:
            thread.join()
    assert not dropped
    assert len(acknowledged) > 20
    said = service.errors
    assert "Traceback" not in said
    assert said.count("is generation 1 of default") == 1
    reader = LogLocation(tmp_path / "data").open_reader()
    assert set(acknowledged) <= {one.event_id for one in reader.newest(1_000_000)}
    reader.close()
