"""What is at a path is looked at before it is opened."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE
from xorec.core import paths
from xorec.core.errors import DataError, ModelFileError
from xorec.core.paths import MOST_NAMES, near_file, open_once, require_file, user_cache, what_is_at


def test_a_pipe_without_a_writer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "WAIT_FOR_WRITER", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="nobody writes to the pipe"):
        open_once(tmp_path / "pipe", DataError)
    with pytest.raises(ModelFileError, match="is a pipe: give a model file"):
        require_file(tmp_path / "pipe", ModelFileError, "model file")


def test_a_pipe_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "WAIT_FOR_WRITER", PATIENCE)
    os.mkfifo(tmp_path / "pipe")
    sent = os.urandom(300_000)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(sent))
    writer.start()
    file, is_pipe = open_once(tmp_path / "pipe", DataError)
    got = b"".join(iter(lambda: file.read(1 << 16), b""))
    file.close()
    writer.join()
    assert (is_pipe, got) == (True, sent)


def test_what_cannot_be_read_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("file").write_text("x")
    devices = {"/dev/zero": "a device", "/dev/null": "a device", "/": "a folder"}
    names = {"loop": "circle", "file/x": "not a folder", "a" * 999: "too long", "a\0b": "zero byte"}
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        for name, word in (devices | names | {"socket": "a socket"}).items():
            with pytest.raises(DataError, match=word):
                open_once(Path(name), DataError)
            if name in names:
                with pytest.raises(DataError, match=word):
                    what_is_at(Path(name), DataError)
    assert what_is_at(Path("file")) == "a file"
    assert what_is_at(Path("nothing")) == ""


def test_a_file_that_is_called_nearly_so_is_named(tmp_path: Path) -> None:
    for name in ("verkauf.csv", "verkauf.xorec", "zz.csv", ".verkuf.csv", "Orders.CSV"):
        (tmp_path / name).touch()
    assert near_file(tmp_path / "verkuf.csv") == tmp_path / "verkauf.csv"
    assert near_file(tmp_path / "verkuf.xorec") == tmp_path / "verkauf.xorec"
    assert near_file(tmp_path / "orders.csv") == tmp_path / "Orders.CSV"
    assert near_file(tmp_path / "order") == tmp_path / "Orders.CSV"
    for far in ("a.csv", "verkuf.parquet", "b/verkuf.csv", "x" * 5000, "verkuf.c\0v"):
        assert near_file(tmp_path / far) is None
    with pytest.raises(DataError, match=r"no file .*verkuf\.csv: check .* mean '.*verkauf\.csv'\?"):
        open_once(tmp_path / "verkuf.csv", DataError)


def test_a_folder_of_many_files_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Endless:
        def __enter__(self) -> Endless:
            return self

        def __exit__(self, *_: object) -> None: ...

        def __iter__(self) -> Iterator[Path]:
            while True:
                asked.append(1)
                yield tmp_path / f"{len(asked)}.csv"

    monkeypatch.setattr(os, "scandir", lambda folder: Endless())
    assert near_file(tmp_path / "verkauf.csv") is None
    assert len(asked) == MOST_NAMES


def test_where_the_users_caches_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path / "xorec"
    for unusable in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert user_cache() == tmp_path / "home" / ".cache" / "xorec"
    monkeypatch.setenv("HOME", "")
    assert user_cache().is_absolute()
    assert user_cache() != Path("/.cache/xorec")
