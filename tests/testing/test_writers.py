"""Whatever writes files, with the disk failing at every place and in every way."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.support.faults import OLD, check_sizes, check_writer, contents, failing
from xorec.core import files
from xorec.core.errors import XorecError
from xorec.data.datasets import catalog
from xorec.data.datasets.transfer import Transfer
from xorec.lab.reproduce.cache import Cache, Result
from xorec.lab.reproduce.outputs import write_run_file
from xorec.lab.reproduce.plan import make_plan
from xorec.lab.reproduce.report import Report, write_report
from xorec.recommender import batch
from xorec.selection.tuning.study_file import open_study
from xorec.testing.examples import shop
from xorec.training.epochs import Checkpoint, TrainingState


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is such a place: hundreds of renames wait for a busy disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


CHECKPOINT = TrainingState({"a": np.arange(400.0)})
WRITERS: dict[str, Callable[[Path], object]] = {
    "model": lambda folder: shop().save(folder / "m.xorec", index=True),
    "checkpoint": lambda folder: Checkpoint(folder / "m.checkpoint", "run").save(
        CHECKPOINT, now=True
    ),
    "lists.csv": lambda folder: write_lists(folder / "lists.csv"),
    "lists.parquet": lambda folder: write_lists(folder / "lists.parquet"),
    "report": lambda folder: write_report(folder, Report("A run", ())),
    "run.json": lambda folder: write_run_file(folder / "run.json", make_plan(), ()),
    "settings": lambda folder: files.write_text(folder / "settings.toml", "[bpr]\n" * 999),
}


def write_lists(path: Path) -> object:
    return batch.write(batch.for_all_users(shop(), k=2), path)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_fault_leaves_the_old_file_and_no_rubbish(writer: str, tmp_path: Path) -> None:
    assert check_writer(lambda: WRITERS[writer](tmp_path), tmp_path) >= 25


@pytest.mark.parametrize("writer", WRITERS)
def test_a_real_write_error_leaves_the_old_file(writer: str, tmp_path: Path) -> None:
    check_sizes(lambda: WRITERS[writer](tmp_path), tmp_path)


def test_a_step_of_an_experiment(tmp_path: Path) -> None:
    def write() -> object:
        result = Result({"a": 1}, {"b": np.arange(300)})
        return Cache(tmp_path).get("step", {"seed": 0}, lambda: result)

    assert check_writer(write, tmp_path, anew=True) >= 50
    check_sizes(write, tmp_path, anew=True)


def test_an_unpacked_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XOREC_DATA", str(tmp_path))
    entry = catalog.DataSet(
        name="ml", title="", users=1, items=1, pairs=1, terms="", citation="",
        url="http://127.0.0.1/ml.zip", members=("ml/ratings.csv", "ml/movies.csv"),
    )  # fmt: skip
    packed = tmp_path / "packed"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ml/ratings.csv", "userId,movieId,rating,timestamp\n" + "1,2,3,4\n" * 999)
        archive.writestr("ml/movies.csv", "movieId,title,genres\n2,Two,Drama\n")

    def write() -> None:
        (tmp_path / "ml.zip").unlink(missing_ok=True)
        os.link(packed, tmp_path / "ml.zip")
        catalog.unpack(tmp_path / "ml.zip", entry)

    check_sizes(write, entry.folder)


@pytest.mark.parametrize("call", ["fsync", "replace", "unlink"])
def test_a_download_that_cannot_be_put_in_place_is_kept(tmp_path: Path, call: str) -> None:
    transfer = Transfer("http://127.0.0.1/x", tmp_path / "x", None, None, 1.0)
    transfer.part.write_bytes(b"all of it")
    transfer.tag.write_text("tag")
    with failing(call, 1, OSError(5, "Input/output error")), pytest.raises(OSError, match="output"):
        transfer.finish()
    whole = [name for name in ("x", "x.part") if (tmp_path / name).exists()]
    assert [(tmp_path / name).read_bytes() for name in whole] == [b"all of it"]


def test_a_study_keeps_what_it_has(tmp_path: Path) -> None:
    """It grows by lines: one that was cut off goes, those before it stay."""
    optuna = pytest.importorskip("optuna")
    path = tmp_path / "study"

    def add(value: float) -> None:
        with open_study(path, {"model": "m"}) as study:
            study.add(optuna.trial.create_trial(value=value))

    add(0.0)
    for call in ("write", "fsync"):
        for at in range(1, 9):
            before = _values(path)
            with (
                failing(call, at, OSError(28, "No space left on device")) as watch,
                suppress(XorecError),  # nothing else may come out
            ):
                add(1.0)
            assert _values(path)[: len(before)] == before
            if not watch.fired:
                break
        assert at > 1
    with path.open("ab") as file:
        file.write(b'{"op_code": 4, "wor')
    before = _values(path)
    add(2.0)
    assert _values(path) == [*before, 2.0]


def _values(path: Path) -> list[float]:
    with open_study(path, {"model": "m"}) as study:
        return [trial.value for trial in study.trials]


@pytest.mark.parametrize("writer", WRITERS)
def test_bytes_reach_the_disk_before_the_name_and_the_name_before_the_end(
    writer: str, tmp_path: Path
) -> None:
    """No power cut to be had here: so the order of the calls. And never in place: who has the old
    file open keeps it."""
    out = tmp_path / "out"
    WRITERS[writer](out)
    path = out / sorted(contents(out))[0]
    path.write_bytes(OLD)
    os.link(path, tmp_path / "kept")
    with failing() as watch:
        WRITERS[writer](out)
    assert (tmp_path / "kept").read_bytes() == OLD
    inode, folder = path.stat().st_ino, out.stat().st_ino
    order = [call for call in watch.calls if call[0] in ("fsync", "replace")]
    at = order.index(("replace", inode))
    assert order[at - 1] == ("fsync", inode)
    assert order[at + 1] == ("fsync", folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["lists.csv", "lists.parquet", "m.xorec"])
def test_a_full_disk(small_disk: Path, name: str) -> None:
    path = small_disk / name
    path.write_bytes(OLD)
    (small_disk / "rest").write_bytes(bytes(64 * 1024 - 4096 * 2))
    write = WRITERS["model" if name == "m.xorec" else name]
    (small_disk / "more").write_bytes(b"x")
    with pytest.raises(XorecError, match=f"no space left on the disk of .*{name}"):
        write(small_disk)
    assert path.read_bytes() == OLD
    (small_disk / "rest").unlink()
    write(small_disk)
    assert path.read_bytes() != OLD
    assert sorted(os.listdir(small_disk)) == sorted([name, "more"])
