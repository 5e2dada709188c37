"""Snapshots: a tar file with the log and the generation of every model, restorable."""

from __future__ import annotations

import io
import shutil
import tarfile
import time
from pathlib import Path, PurePosixPath

from pydantic import BaseModel

from xorec.core.errors import DataError
from xorec.core.files import replacing, temporary_folder
from xorec.core.progress import logger
from xorec.service.live.state import iso
from xorec.service.log.location import LogLocation
from xorec.service.service import Service


class About(BaseModel):
    """What a snapshot says of itself. models: the generation of each."""

    format: int
    id: str
    seq: int
    made: str
    generation: int
    models: dict[str, int]


class SnapshotOut(BaseModel):
    """Model and events in one file."""

    id: str
    path: str
    nbytes: int
    seq: int
    made: str
    generation: int


SUFFIX = ".snapshot.tar"
_ABOUT = "about.json"
_FORMAT = 1


def make_snapshot(service: Service) -> SnapshotOut:
    """Write one: a consistent copy of the log, and the generations that are served."""
    folder, now = service.models.folder, time.time_ns() // 1000
    ident = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{now % 1_000_000:06}"
    path = folder / "snapshots" / f"{ident}{SUFFIX}"
    path.parent.mkdir(parents=True, exist_ok=True)
    served = {name: service.models[name].about for name in service.models.names()}
    with temporary_folder() as place:
        copy = place / "events.db"
        service.require_writer().backup(copy).result()
        about = About(
            format=_FORMAT,
            id=ident,
            made=str(iso(now)),
            seq=service.models.applied_seq,
            generation=service.models.default.about.number,
            models={name: one.number for name, one in served.items()},
        )
        with replacing(path) as temporary, tarfile.open(temporary, "w") as archive:
            _add(archive, _ABOUT, about.model_dump_json().encode())
            archive.add(copy, "events.db")
            for name, one in served.items():
                archive.add(one.path, f"models/{name}/{one.path.name}")
                _add(archive, f"models/{name}/CURRENT", f"{one.number}\n".encode())
    return _out(path, about)


def list_snapshots(folder: Path) -> list[SnapshotOut]:
    """Those of a service, newest first; a damaged one is passed over, with a line in the log."""
    found = []
    for path in sorted((folder / "snapshots").glob(f"*{SUFFIX}"), reverse=True):
        try:
            found.append(_out(path, read_about(path)))
        except (DataError, OSError) as error:
            logger.warning("%s", error, extra={"event": "snapshot"})
    return found


def read_about(path: Path) -> About:
    """What a snapshot says of itself; a DataError where it is none."""
    try:
        with tarfile.open(path, "r:") as archive:
            member = archive.extractfile(_ABOUT)
            assert member is not None
            about = About.model_validate_json(member.read())
    except (OSError, tarfile.TarError, KeyError, ValueError, AssertionError) as error:
        raise DataError(f"{path} is no snapshot of xorec: {str(error).splitlines()[0]}.") from None
    if about.format != _FORMAT:
        raise DataError(f"{path} is a snapshot of format {about.format}: update xorec.")
    return about


def is_snapshot(path: Path) -> bool:
    """Whether a file is a snapshot rather than a model."""
    return path.name.endswith(".tar") and path.is_file() and tarfile.is_tarfile(path)


def restore(path: Path, folder: Path) -> None:
    """Unpack a snapshot into a folder that has no log yet."""
    if LogLocation(folder).has_begun:
        raise DataError(
            f"{folder} has a log already: give another folder (--data) to restore {path} to."
        )
    read_about(path)
    with tarfile.open(path, "r:") as archive:
        members = [member for member in archive if member.name != _ABOUT]
        for member in members:
            _check(path, member)
        folder.parent.mkdir(parents=True, exist_ok=True)
        for member in members:
            target = folder / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            source = archive.extractfile(member)
            assert source is not None
            with replacing(target) as temporary, temporary.open("wb") as out:
                shutil.copyfileobj(source, out)


def _check(path: Path, member: tarfile.TarInfo) -> None:
    """Only plain files with the names that a snapshot has."""
    parts = PurePosixPath(member.name).parts
    fits = member.name == "events.db" or (
        len(parts) == 3
        and "/".join(parts) == member.name
        and parts[0] == "models"
        and ".." not in parts
    )
    if not member.isfile() or not fits:
        raise DataError(f"{path} has {member.name!r}, which no snapshot has: it was tampered with.")


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def _out(path: Path, about: About) -> SnapshotOut:
    said = about.model_dump(exclude={"format", "models"})
    return SnapshotOut(**said, path=str(path), nbytes=path.stat().st_size)
