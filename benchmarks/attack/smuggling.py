"""No request hides in another one: a hundred framings, direct and behind nginx.

    python benchmarks/attack/smuggling.py --requests 10000 --json

Each framing has a second request in what one reading takes for a body and another for the next
head. Its id must not appear in the log of the service's requests. Meanwhile other clients ask
through the same nginx, over kept connections: each must get its own answer. nginx refuses
/v1/popular, so a hidden request that is found there came past it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from xorec.lab.bench.server_process import HOST

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, Served, promise, serving

NGINX = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream xorec {{ server 127.0.0.1:{port}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{listen};
    location /v1/popular {{ return 403; }}
    location / {{
      proxy_pass http://xorec;
      proxy_http_version 1.1;
      proxy_set_header Host 127.0.0.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_request_buffering {buffering};
    }}
  }}
}}
"""
HIDDEN = b"GET /v1/popular?k=1 HTTP/1.1\r\nHost: x\r\nX-Request-ID: hidden-%d\r\n\r\n"
SIZE = len(HIDDEN % 1000)
LENGTHS = """%d, 0|0, %d|+%d|-%d|0x%x|%d.0|%d 0|00%d|%d;0|%d\t|\x0b%d|%d\r\nContent-Length: 0
|0\r\nContent-Length: %d|%d\r\n 0|18446744073709551616||%d\x00|1e2|_%d|%d,%d"""
CODINGS = """chunked|Chunked| chunked|\tchunked|chunked |chunked, identity|identity, chunked
|identity|xchunked|chunkedx|chunked\x0b|"chunked"|gzip, chunked|chunked, chunked
|, chunked|chunked;q=1|chu\r\n nked|
|identity\r\nTransfer-Encoding: chunked|chunked\r\nTransfer-Encoding: identity"""
SIZES = "0|00| 0|+0|-0|0x0|0;x\ny||g|ffffffffffffffff1"
NAMES = """Transfer-Encoding | Transfer-Encoding|Transfer_Encoding|Transfer-Encoding\x00
|X: y\nTransfer-Encoding|X: y\rTransfer-Encoding|Transfer\r\n-Encoding"""
UPGRADES = """Upgrade: websocket\r\nConnection: Upgrade|Upgrade: h2c\r\nConnection: Upgrade
|Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings
|Upgrade: x|Connection: Upgrade|Expect: 100-continue|Connection: Content-Length
|Connection: Transfer-Encoding|Expect: x|Upgrade: TLS/1.0\r\nConnection: Upgrade"""
VERSIONS = "HTTP/1.0|HTTP/1.2|HTTP/0.9|HTTP/2.0|HTTP/1.1 |http/1.1|"


def cases(text: str) -> list[str]:
    """The values of a table above; a line may begin with the bar."""
    return text.replace("\n|", "|").split("|")


def framings() -> list[bytes]:
    """Whole messages with `HIDDEN` in them, numbered."""
    post = "POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    size, ends = SIZE, f"Content-Length: {SIZE + 5}\r\n"
    heads = [
        post + f"Content-Length: {length}\r\n\r\n".replace("%d", str(size))
        for length in cases(LENGTHS)
    ]
    chunked = "0\r\n\r\n"
    for coding in cases(CODINGS):
        heads.append(post + ends + f"Transfer-Encoding: {coding}\r\n\r\n{chunked}")
        heads.append(post + f"Transfer-Encoding: {coding}\r\nContent-Length: 5\r\n\r\n{chunked}")
    heads += [post + ends + f"{name}: chunked\r\n\r\n{chunked}" for name in cases(NAMES)]
    heads += [
        post + f"Transfer-Encoding: chunked\r\n\r\n{start}\r\n\r\n" for start in cases(SIZES)[2:]
    ]
    heads += [
        post + f"Transfer-Encoding: chunked\r\n\r\n5\n{{}}   \r\n{start}\n\n"
        for start in cases(SIZES)
    ]
    heads += [post + f"{one}\r\nContent-Length: {size}\r\n\r\n" for one in cases(UPGRADES)]
    heads += [
        post.replace("HTTP/1.1", version) + f"Content-Length: {size}\r\n\r\n"
        for version in cases(VERSIONS)
    ]
    for method in ("GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
        heads.append(
            f"{method} /v1/recommend?user=1 HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
        )
    heads += [
        post.replace("\r\n", "\n") + f"Content-Length: {size}\n\n",
        post + f"Content-Length: {size}\n\n",
    ]
    return [head.encode("latin-1") + HIDDEN % (1000 + n) for n, head in enumerate(heads)]


def send(port: int, message: bytes) -> bytes:
    """All that is answered, until it is quiet."""
    found = b""
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1.0) as connection:
        connection.sendall(message)
        connection.settimeout(0.4)
        while piece := connection.recv(65536):
            found += piece
    return found


@contextmanager
def nginx(port: int, buffering: str) -> Iterator[int]:
    """nginx in front of the service, with kept connections and the usual websocket lines."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind((HOST, 0))
        listen = probe.getsockname()[1]
        probe.close()
        path = Path(folder) / "nginx.conf"
        path.write_text(NGINX.format(folder=folder, port=port, listen=listen, buffering=buffering))
        process = subprocess.Popen(
            ["nginx", "-p", folder, "-c", str(path), "-g", "daemon off; user root;"],
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(200):
                with suppress(OSError), socket.create_connection((HOST, listen), timeout=1):
                    break
                time.sleep(0.05)
            yield listen
        finally:
            process.terminate()
            process.wait(30)


def ask(port: int, number: int, requests: int, counts: Counter[str]) -> None:
    """Another client: its own user, k and id in each answer."""
    connection = HTTPConnection(HOST, port, timeout=30)
    for n in range(requests):
        name, user = f"own-{number}-{n}", (number * 7919 + n) % 500
        try:
            connection.request(
                "GET", f"/v1/recommend?user={user}&k=3", headers={"X-Request-ID": name}
            )
            reply = connection.getresponse()
            answer = json.loads(reply.read())
        except (OSError, HTTPException, ValueError):
            counts["broken"] += 1
            connection.close()
            continue
        own = answer.get("request_id") == name and answer.get("user") == user
        counts["own" if own else "refused" if reply.status >= 500 else "foreign"] += 1


def attack(port: int, messages: list[bytes], rounds: int) -> int:
    """Send all framings several times; how many got more than one answer."""
    return sum(send(port, one).count(b"HTTP/1.1 ") > 1 for _ in range(rounds) for one in messages)


def hidden_in(log: Path) -> list[int]:
    """Numbers of the hidden requests that the service has answered."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return [n for n in range(1000, 2000) if f'"hidden-{n}"' in text]


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    messages = framings()
    figures: Figures = {"framings": len(messages)}
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "access.log"
        with serving(settings={"ACCESS_LOG": log}) as served:
            attack(served.port, messages, 1)
            _see_plain_one(served, log)
            figures["hidden_direct"] = [_name(messages, n) for n in hidden_in(log)]
            log.write_text("")
            if shutil.which("nginx"):
                for buffering in ("on", "off"):
                    with nginx(served.port, buffering) as front:
                        others = [
                            threading.Thread(
                                target=ask, args=(front, n, wanted.requests // 16, counts)
                            )
                            for n in range(8)
                        ]
                        for thread in others:
                            thread.start()
                        attack(front, messages, wanted.rounds)
                        for thread in others:
                            thread.join()
                _see_plain_one(served, log)
                figures["hidden_behind_nginx"] = [_name(messages, n) for n in hidden_in(log)]
    hidden = figures["hidden_direct"] or figures.get("hidden_behind_nginx")
    tried = "hidden_behind_nginx" not in figures or counts["own"] > wanted.requests // 2
    held = not hidden and tried and not counts["foreign"]
    return held, {**figures, **counts, "foreign": counts["foreign"]}


def _see_plain_one(served: Served, log: Path) -> None:
    """A request that is not hidden is answered, and found in the log: so would the others be."""
    send(served.port, HIDDEN % 2000)
    for _ in range(100):
        if '"hidden-2000"' in log.read_text(errors="replace"):
            return
        time.sleep(0.1)
    raise AssertionError("the log has no plain request: nothing would be found in it")


def _name(messages: list[bytes], number: int) -> str:
    """The framing of a hidden request, without it."""
    (found,) = (one for one in messages if one.endswith(HIDDEN % number))
    return found[: -len(HIDDEN % number)].decode("latin-1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000, help="of other clients")
    parser.add_argument("--rounds", type=int, default=1, help="through nginx")
    return promise("smuggling", run, parser, {"requests": 400})


if __name__ == "__main__":
    sys.exit(main())
