"""A file that was verified is not verified again until something happens to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_files import rewrite
from xorec.core.errors import ModelFileError
from xorec.core.source_digest import source_digest
from xorec.recommender import model_file, storage, verified_cache
from xorec.recommender.recommender import Recommender
from xorec.testing.examples import shop


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shop().save(tmp_path / "m.xorec")
    return tmp_path / "m.xorec"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where stamps go; files that changed just now get one too."""
    monkeypatch.setenv(verified_cache.FOLDER, str(tmp_path / "stamps"))
    monkeypatch.setattr(verified_cache, "_SETTLED", -(10**12))
    return tmp_path / "stamps"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was looked at: digests and values."""
    found: list[str] = []
    check_digest, checked_fields = storage.check_digest, model_file._checked_fields

    def note_digest(file: storage.OpenFile, threads: int | None = None) -> None:
        found.append("digest")
        check_digest(file, threads)

    def note_values(*of_file: Any, values: bool) -> dict[str, Any]:
        found.extend(["values"] * values)
        return checked_fields(*of_file, values=values)

    monkeypatch.setattr(storage, "check_digest", note_digest)
    monkeypatch.setattr(model_file, "_checked_fields", note_values)
    return found


def test_the_second_opening_looks_at_nothing(model: Path, folder: Path, looks: list[str]) -> None:
    first = Recommender.load(model).recommend("cem", 1)
    assert looks == ["digest", "values"]
    assert Recommender.load(model).recommend("cem", 1) == first
    assert looks == ["digest", "values"]
    Recommender.load(model, verify=True)
    assert looks == ["digest", "values"] * 2
    Recommender.load(model, verify=False)
    assert looks == [*["digest", "values"] * 2, "values"]


def test_stamps_are_private_and_empty(model: Path, folder: Path) -> None:
    Recommender.load(model)
    (stamp,) = folder.iterdir()
    assert stamp.stat().st_size == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert stamp.stat().st_mode & 0o777 == 0o600


def test_a_change_that_leaves_size_and_time_is_noticed(model: Path, folder: Path) -> None:
    Recommender.load(model)
    before = model.stat()
    with model.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = model.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )
    with pytest.raises(ModelFileError, match="is corrupt: it has the digest"):
        Recommender.load(model)


def test_a_file_that_changed_just_now_gets_no_stamp(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verified_cache, "_SETTLED", 3600 * 10**9)
    Recommender.load(model)
    assert not folder.exists()


def test_a_file_that_changed_while_it_was_verified_gets_no_stamp(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = storage.check_digest

    def touch(file: storage.OpenFile, threads: int | None = None) -> None:
        check(file, threads)
        os.utime(model)

    monkeypatch.setattr(storage, "check_digest", touch)
    Recommender.load(model)
    assert not folder.exists()


def test_what_is_not_right_gets_no_stamp(model: Path, folder: Path) -> None:
    rewrite(model, {"tie_rank": 0 * shop().tie_rank})
    for _ in range(2):
        with pytest.raises(ModelFileError, match="tie_rank is not a permutation"):
            Recommender.load(model)
    Recommender.load(shop_at(model), verify=False)
    assert not folder.exists()


def shop_at(path: Path) -> Path:
    shop().save(path)
    return path


def test_other_checks_look_anew(
    model: Path, folder: Path, looks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Recommender.load(model)
    monkeypatch.setattr(verified_cache, "source_digest", lambda parts: "another xorec")
    Recommender.load(model)
    assert looks == ["digest", "values"] * 2


def test_a_folder_that_others_may_write_to_is_not_believed(
    model: Path, folder: Path, looks: list[str]
) -> None:
    Recommender.load(model)
    folder.chmod(0o777)
    Recommender.load(model)
    assert looks == ["digest", "values"] * 2


@pytest.mark.parametrize("place", ["off", "file", "nowhere"])
def test_no_place_for_stamps_is_no_harm(
    model: Path, looks: list[str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    chosen = {"off": "off", "file": str(tmp_path / "file"), "nowhere": "/proc/none/stamps"}
    monkeypatch.setenv(verified_cache.FOLDER, chosen[place])
    monkeypatch.setattr(verified_cache, "_SETTLED", -(10**12))
    for _ in range(2):
        assert Recommender.load(model).recommend("cem", 1).ids() == ["milk"]
    assert looks == ["digest", "values"] * 2


def test_the_oldest_stamps_go(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified_cache, "MOST", 3)
    for at in range(5):
        Recommender.load(shop_at(model.with_name(f"{at}.xorec")))
        assert len(list(folder.iterdir())) == min(at + 1, 3)


def test_the_fingerprint_is_of_files_that_are_there() -> None:
    assert len(source_digest(verified_cache._CHECKS)) == 32
