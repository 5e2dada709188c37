"""ClickHouse's HTTP interface in front of chdb, for tests of what talks to a server.

Debian's ClickHouse is of 2018, and no wheel has a server: a process of its own takes queries as a
server does (basic authentication, settings and database in the URL, parameters, inserts, errors
with their code) and hands them to chdb. Queries, formats and errors are the engine's own; one
request at a time.
"""

from __future__ import annotations

import base64
import contextlib
import email
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support import ROOT

HOST = "127.0.0.1"
USER, PASSWORD = "ann", "s3cret-of-clickhouse"
_SETTINGS = ("max_block_size", "output_format_arrow_string_as_string")
_WRITES = re.compile(r"\s*(INSERT|CREATE|DROP|ALTER|TRUNCATE|RENAME)\b", re.IGNORECASE)


class ClickHouseServer:
    """A server on 127.0.0.1 with a folder of its own; a context manager that ends it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def unavailable() -> str:
        """Why there is none here; "" where there is."""
        for module, package in (("chdb", "chdb"), ("clickhouse_connect", "clickhouse-connect")):
            if importlib.util.find_spec(module) is None:
                return f"{package} is not installed: pip install 'xorec[stores-test]'"
        return ""

    def __enter__(self) -> ClickHouseServer:
        command = [sys.executable, "-m", "tests.support.clickhouse", str(self.folder)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def kill(self) -> None:
        """With -9, as a machine dies."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def address(self, database: str = "default", password: str = PASSWORD) -> str:
        """Of a database of it."""
        return f"clickhouse://{USER}:{password}@{HOST}:{self.port}/{database}"


class _Handler(BaseHTTPRequestHandler):
    """One query of a client."""

    protocol_version = "HTTP/1.1"
    engine: Any = None

    def do_GET(self) -> None:
        self._take(b"")

    def do_POST(self) -> None:
        self._take(self._body())

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _take(self, body: bytes) -> None:
        where = urlsplit(self.path)
        if where.path == "/ping":
            self._send(200, b"Ok.\n")
            return
        expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {expected}":
            self._send(403, f"Code: 516. DB::Exception: {USER}: Authentication failed.".encode())
            return
        given = dict(parse_qsl(where.query, keep_blank_values=True))
        if self.headers.get_content_type() == "multipart/form-data":  # where parameters are long
            given |= _fields(self.headers["Content-Type"], body)
            body = b""
        try:
            self._send(200, self._run(given, body))
        except Exception as error:
            self.engine.query("SELECT 1")  # else the next answer begins with what is left
            self._send(500, str(error).encode())

    def _run(self, given: dict[str, str], body: bytes) -> bytes:
        """A query in the address, the body, or both: then the body is what it inserts."""
        if database := given.get("database"):
            self.engine.query(f"USE `{database}`")
        for name in _SETTINGS:
            if name in given:
                self.engine.query(f"SET {name} = {given[name]}")
        query = given.get("query", "")
        inserts = re.match(rb"(?s)(INSERT INTO .*? FORMAT \w+)\n", body)
        if inserts:  # the statement, and behind it what is to be inserted
            query, body = inserts[1].decode(), body[inserts.end() :]
        elif not query:
            query, body = body.decode(), b""
        if given.get("readonly", "0") != "0" and _WRITES.match(query):
            raise RuntimeError(
                f"Code: 164. DB::Exception: {USER}: Cannot execute query in readonly"
            )
        if body:
            return self._insert(query, body)
        parameters = {name[6:]: given[name] for name in given if name.startswith("param_")}
        found = re.search(r"FORMAT\s+(\w+)\s*$", query)
        form = found[1] if found else given.get("default_format", "TabSeparated")
        answer: bytes = self.engine.query(query, form, params=parameters).bytes()
        return answer

    def _insert(self, query: str, body: bytes) -> bytes:
        found = re.fullmatch(r"(?s)(.*?)\s*FORMAT\s+(\w+)\s*", query)
        assert found is not None, query
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            self.engine.query(f"{found[1]} FROM INFILE '{file.name}' FORMAT {found[2]}")
        return b""

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status != 200:
            code = re.search(rb"Code: (\d+)", body)
            self.send_header("X-ClickHouse-Exception-Code", code[1].decode() if code else "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Silent."""


def _fields(content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a form."""
    message = email.message_from_bytes(f"Content-Type: {content_type}\n\n".encode() + body)
    parts: Any = message.get_payload()
    return {
        part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True).decode()
        for part in parts
    }


def main(folder: str) -> None:
    """Serve a folder until standard input is closed."""
    import chdb

    _Handler.engine = chdb.connect(folder)
    server = HTTPServer((HOST, 0), _Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()

    def until_closed() -> None:
        sys.stdin.read()
        server.shutdown()

    threading.Thread(target=until_closed, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    os._exit(0)  # chdb's threads would hold it


if __name__ == "__main__":
    main(sys.argv[1])
