from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import XorecError
from xorec.core.files import (
    replacing,
    replacing_folder,
    save_tensors,
    temporary_folder,
    write_text,
)


def test_the_target_appears_only_when_all_is_written(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    for text in ("first", "second"):
        with replacing(target) as temporary:
            temporary.write_text(text)
            assert target.exists() == (text == "second")
        assert target.read_text() == text
        assert os.listdir(target.parent) == ["file"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def write_half() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise failure

    with pytest.raises(failure):
        write_half()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_the_bytes_are_on_the_disk_before_the_file_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut may leave the name without the bytes."""
    calls: list[tuple[str, int, int]] = []
    fsync, rename = os.fsync, os.replace

    def note(call: str, stat: os.stat_result) -> None:
        calls.append((call, stat.st_ino, stat.st_size))

    def noted_fsync(handle: int) -> None:
        note("fsync", os.fstat(handle))
        fsync(handle)

    def noted_rename(source: Path, target: Path) -> None:
        note("rename", os.stat(source))
        assert Path(source).parent == Path(target).parent  # a rename does not leave a disk
        rename(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_rename)
    with replacing(tmp_path / "file") as temporary:
        temporary.write_bytes(b"12345")
    written = (tmp_path / "file").stat()
    assert (written.st_size, calls.count(("rename", written.st_ino, 5))) == (5, 1)
    assert calls.index(("fsync", written.st_ino, 5)) < calls.index(("rename", written.st_ino, 5))


def test_no_space_is_said_in_words(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with pytest.raises(XorecError, match=r"no space left on the disk of .*file"), replacing(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_a_real_write_error_inside_safetensors_is_translated(tmp_path: Path) -> None:
    """A file-size limit stands for a full disk: the library's own error type never gets out."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(XorecError, match=r"cannot write .*big: File too large"):
            save_tensors(tmp_path / "big", {"a": np.zeros(1000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    real.parent.mkdir()
    link.symlink_to(real)
    for text in ("made", "made again"):
        write_text(link, text)
        assert (link.is_symlink(), real.read_text()) == (True, text)
    assert os.listdir(real.parent) == ["real"]


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    reasons = {"folder": "Is a directory", "file/below": "Not a directory", "loop": "Too many"}
    reasons |= {"pipe": "it is a pipe", "null": "it is a device"}
    for name, reason in reasons.items():
        with (
            pytest.raises(XorecError, match=f"cannot write .*{name}.*{reason}"),
            replacing(tmp_path / name),
        ):
            pytest.fail("it was opened")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "loop", "null", "pipe"]
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "null").is_symlink()


def test_what_a_killed_writer_left_goes_with_the_next_and_a_living_one_keeps_its_own(
    tmp_path: Path,
) -> None:
    target = tmp_path / "a[1].txt"
    stale, other = tmp_path / ".a[1].txt.00c0ffee.tmp", tmp_path / ".a1.txt.00c0ffee.tmp"
    stale.write_text("half")
    other.write_text("of another file")
    with replacing(target) as living:
        living.write_text("first")
        assert not stale.exists()
        write_text(target, "second")
        assert living.exists()
    assert target.read_text() == "first"
    assert sorted(os.listdir(tmp_path)) == [other.name, target.name]


def test_a_temporary_folder_is_private_and_goes() -> None:
    with temporary_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("")
    assert not folder.exists()


def test_a_file_keeps_its_rights_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    """safetensors puts a private file in the place of the one that it was given."""
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "text", "")
        save_tensors(tmp_path / "new", {"a": np.zeros(2)}, {})
        save_tensors(tmp_path / "old", {"a": np.zeros(2)}, {})
        (tmp_path / "old").chmod(0o604)
        save_tensors(tmp_path / "old", {"a": np.ones(2)}, {})
    finally:
        os.umask(before)
    rights = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert rights == {"text": 0o640, "new": 0o640, "old": 0o604}


@pytest.mark.parametrize("platform", [sys.platform, "elsewhere"])
def test_a_folder_is_replaced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr("xorec.core.files.sys.platform", platform)
    folder, left = tmp_path / "new" / "a", tmp_path / "new" / ".a.0123abcd.tmp"
    left.mkdir(parents=True)  # of a killed writer
    (left / "half").touch()
    for text in ("first", "second"):
        with replacing_folder(folder) as temporary:
            (temporary / text).write_text(text)
            assert not (folder / text).exists()
        assert [file.name for file in folder.iterdir()] == [text]
    with pytest.raises(ZeroDivisionError), replacing_folder(folder) as temporary:
        (temporary / "third").write_text(str(1 / 0))
    assert [file.read_text() for file in folder.iterdir()] == ["second"]
    assert [file.name for file in folder.parent.iterdir()] == ["a"]
