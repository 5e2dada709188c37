from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import XorecError
from xorec.core.files import replacing, save_tensors


def test_the_target_appears_only_when_all_is_written(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
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


def test_who_reads_the_old_file_reads_it_to_its_end(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with target.open() as reader:
        with replacing(target) as temporary:
            temporary.write_text("new")
        assert reader.read() == "old"
    assert target.read_text() == "new"


def test_the_file_may_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "file"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_no_space_is_said_in_words(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with pytest.raises(XorecError, match=r"no space left on the disk of .*file"), replacing(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(XorecError, match=r"cannot write .*below"),
        replacing(tmp_path / "file" / "below"),
    ):
        pass


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
