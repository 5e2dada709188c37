from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import postgresql as servers


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small file system cannot be mounted here (root can)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture(scope="session", params=servers.KINDS)
def postgresql(request: pytest.FixtureRequest) -> Iterator[servers.PostgreSQL]:
    """A server of each kind that this machine has; it may be killed, and is started again."""
    server, reason = servers.start(request.param)
    if server is None:
        pytest.skip(reason)
    with server:
        yield server


@pytest.fixture(scope="session")
def one_postgresql() -> Iterator[servers.PostgreSQL]:
    """A server, of the first kind that this machine has."""
    reasons = []
    for kind in servers.KINDS:
        server, reason = servers.start(kind)
        if server is not None:
            with server:
                yield server
            return
        reasons.append(reason)
    pytest.skip("; ".join(reasons))


@pytest.fixture(params=["folder", "postgresql"])
def kept(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of a service: where it keeps its events."""
    if request.param == "folder":
        return {}
    server: servers.PostgreSQL = request.getfixturevalue("one_postgresql")
    return {"events": server.new_database("kept")}
