"""`fetch` against a local HTTP server that behaves well, badly and worse."""

from __future__ import annotations

import hashlib
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.waiting import PATIENCE, until
from xorec.core.errors import DataError
from xorec.core.progress import Progress, Task
from xorec.data.datasets.transfer import fetch

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
WRONG = "sha256:" + "0" * 64


class Server(http.server.ThreadingHTTPServer):
    """Serves `content`; the fields say how it misbehaves, `asked` what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content, self.etag, self.statuses = CONTENT, '"one"', list[int]()
        self.ranges, self.lengths = True, True
        self.drop_after: int | None = None
        self.drops = 10**9
        self.answers = True
        self.hold_after: int | None = None
        self.go_on = threading.Event()
        """Until then nothing is answered, and nothing is sent after so many bytes."""
        self.asked: list[str | None] = []

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is part of the plan."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/set.bin"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers["Range"]
        server.asked.append(wanted)
        if not server.answers:
            server.go_on.wait(PATIENCE)
        if server.statuses:
            self.send_error(server.statuses.pop(0))
            return
        start = self._start(wanted)
        if start > 0 and start >= len(server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            whole = len(server.content)
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        if server.lengths:
            self.send_header("Content-Length", str(len(body)))
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        self._send(body)

    def _start(self, wanted: str | None) -> int:
        match = re.match(r"bytes=(\d+)-", wanted or "")
        same = self.headers["If-Range"] == self.server.etag
        return int(match[1]) if match and same and self.server.ranges else 0

    def _send(self, body: bytes) -> None:
        server = self.server
        if server.drop_after is not None and server.drops > 0:
            server.drops -= 1
            body = body[: server.drop_after]
        for at in range(0, len(body), 1 << 16):
            if server.hold_after is not None and at >= server.hold_after:
                server.go_on.wait(PATIENCE)
            self.wfile.write(body[at : at + (1 << 16)])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.go_on.set()
        running.shutdown()
        thread.join()


def quick(server: Server, target: Path, **options: Any) -> str:
    return fetch(server.url, target, **{"pause": 0.01, "timeout": PATIENCE, **options})


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("checksum", [SHA, None])
def test_a_good_file_arrives_whole_and_alone(
    server: Server, tmp_path: Path, checksum: str | None
) -> None:
    target = tmp_path / "new" / "set.bin"
    assert quick(server, target, checksum=checksum, size=len(CONTENT)) == SHA.partition(":")[2]
    assert target.read_bytes() == CONTENT
    assert files(tmp_path / "new") == ["set.bin"]


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({"drop_after": 400_000}, [None, "bytes=400000-", "bytes=800000-"]),
        ({"drop_after": 300_000, "drops": 1, "ranges": False}, [None, "bytes=300000-"]),
        # without a validator a file is never patched together
        ({"drop_after": 300_000, "drops": 1, "etag": ""}, [None, None]),
    ],
)
def test_a_dropped_connection_goes_on_where_it_stopped_or_starts_again(
    server: Server, tmp_path: Path, changes: dict[str, Any], asked: list[str | None]
) -> None:
    vars(server).update(changes)
    quick(server, tmp_path / "set.bin", checksum=SHA)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert server.asked == asked


@pytest.mark.parametrize(
    ("content", "etag"), [(CONTENT, '"one"'), (CONTENT[::-1], '"two"')], ids=["same", "changed"]
)
def test_a_second_run_goes_on_unless_the_file_has_changed(
    server: Server, tmp_path: Path, content: bytes, etag: str
) -> None:
    server.drop_after, server.drops = 300_000, 1
    with pytest.raises(DataError, match="goes on from byte 300,000"):
        quick(server, tmp_path / "set.bin", attempts=1)
    assert files(tmp_path) == ["set.bin.part", "set.bin.part.tag"]
    server.content, server.etag = content, etag
    checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
    quick(server, tmp_path / "set.bin", checksum=checksum)
    assert (tmp_path / "set.bin").read_bytes() == content
    assert server.asked == [None, "bytes=300000-"]


@pytest.mark.parametrize(
    ("part", "asked"),
    [
        (CONTENT, [f"bytes={len(CONTENT)}-"]),  # whole already: only verified
        (CONTENT + b"more", [f"bytes={len(CONTENT) + 4}-", None]),
        (b"x" * 1000, ["bytes=1000-", None]),  # spoilt: one fresh start
    ],
    ids=["whole", "too long", "spoilt"],
)
def test_a_part_that_is_there_already(
    server: Server, tmp_path: Path, part: bytes, asked: list[str | None]
) -> None:
    (tmp_path / "set.bin.part").write_bytes(part)
    (tmp_path / "set.bin.part.tag").write_text('"one"')
    quick(server, tmp_path / "set.bin", checksum=SHA)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert server.asked == asked


@pytest.mark.parametrize(
    ("changes", "options", "said", "asked"),
    [
        (
            {},
            {"checksum": WRONG},
            f"{WRONG}, found {SHA} in 1,048.*bad file was".replace(":", " "),
            1,
        ),
        ({}, {"size": 5}, "1,048,576 bytes and not 5", 1),  # announced in advance
        ({"lengths": False}, {"size": 5}, "expected 5 bytes, found .* in 1,048,576 bytes", 1),
        ({"statuses": [404]}, {}, "answered 404", 1),
        ({"statuses": [503] * 9}, {"attempts": 3}, r"answered 503.*run it again", 3),
        ({"answers": False}, {"attempts": 1, "timeout": 0.05}, "did not answer in time", 1),
    ],
    ids=["checksum", "size", "size at the end", "not found", "nothing gained", "no answer"],
)
def test_what_fails_is_told_and_leaves_the_old_file_alone(
    server: Server,
    tmp_path: Path,
    changes: dict[str, Any],
    options: dict[str, Any],
    said: str,
    asked: int,
) -> None:
    vars(server).update(changes)
    (tmp_path / "set.bin").write_bytes(b"old")
    with pytest.raises(DataError, match=said):
        quick(server, tmp_path / "set.bin", **options)
    assert (tmp_path / "set.bin").read_bytes() == b"old"
    assert files(tmp_path) == ["set.bin"]
    assert len(server.asked) == asked


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 500, 429]
    quick(server, tmp_path / "set.bin", checksum=SHA)
    assert len(server.asked) == 4


def test_no_server_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/set.bin"
    with pytest.raises(DataError, match="Check the network"):
        fetch(url, tmp_path / "set.bin", attempts=2, pause=0.01)


@pytest.mark.parametrize(("code", "asked"), [(socket.EAI_NONAME, 1), (socket.EAI_AGAIN, 3)])
def test_no_network_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, asked: int
) -> None:
    calls: list[object] = []

    def unknown(*name: object, **_: object) -> None:
        calls.append(name)
        raise socket.gaierror(code, "Name or service not known")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(DataError, match=r"data\.invalid cannot be found.*network"):
        fetch("http://data.invalid/set.bin", tmp_path / "set.bin", attempts=3, pause=0.01)
    assert len(calls) == asked


def test_too_little_room_is_told_before_anything_arrives(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match="1 MB are needed and 0 MB are free"):
        quick(server, tmp_path / "set.bin")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "set.bin.part").symlink_to("/dev/full")
    monkeypatch.setattr("xorec.data.datasets.transfer.Transfer.discard", lambda self: None)
    with pytest.raises(DataError, match="disk is full"):
        quick(server, tmp_path / "set.bin")


def test_a_folder_that_cannot_be_made_is_one_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        quick(server, tmp_path / "file" / "set.bin")


def test_progress_counts_every_byte_once(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[float | None, float]] = []

    class Counting(Progress):
        @contextmanager
        def task(self, name: str, total: float | None = None) -> Iterator[Task]:
            moved: list[float] = []
            bar = Task()
            bar.advance = lambda steps=1, **_: moved.append(steps)  # type: ignore[method-assign]
            yield bar
            seen.append((total, sum(moved)))

    quick(server, tmp_path / "set.bin", progress=Counting())
    assert seen == [(len(CONTENT), len(CONTENT))]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_process_leaves_its_part_for_the_next(
    server: Server, tmp_path: Path, number: int
) -> None:
    server.hold_after = len(CONTENT) // 2
    target = tmp_path / "set.bin"
    code = f"import pathlib; from xorec.data.datasets.transfer import fetch; fetch({server.url!r}, "
    child = subprocess.Popen(
        [sys.executable, "-c", f"{code}pathlib.Path({str(target)!r}), timeout={PATIENCE})"],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "no_proxy": "127.0.0.1"},
    )
    part = tmp_path / "set.bin.part"
    until(lambda: part.exists() and part.stat().st_size > 0)
    child.send_signal(number)
    child.wait(PATIENCE)
    held = part.stat().st_size
    assert 0 < held < len(CONTENT)
    assert not target.exists()
    server.hold_after = None
    quick(server, target, checksum=SHA)
    assert target.read_bytes() == CONTENT
    assert server.asked[-1] == f"bytes={held}-"


@pytest.mark.skipif(sys.platform == "win32", reason="flock of POSIX")
def test_two_at_once_do_not_mix(server: Server, tmp_path: Path) -> None:
    import fcntl

    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(DataError, match="another xorec"):
        quick(server, tmp_path / "set.bin")
    os.close(handle)
    quick(server, tmp_path / "set.bin")
