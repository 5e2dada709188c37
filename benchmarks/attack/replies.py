"""Each answer fits its request: pipelines, slow readers and aborted bodies on kept connections.

    python benchmarks/attack/replies.py --requests 50000 --connections 64 --json

Every request has an id, a user and a k of its own; its answer must name all three. Between them
some connections end in the middle of a head or a body.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from xorec.lab.bench.server_process import HOST

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, Served, promise, serving

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Expected = tuple[str, int, int]
"""Request id, user, k."""


def request_bytes(expected: Expected, method: str) -> bytes:
    """One request, as GET or POST."""
    name, user, k = expected
    if method == "GET":
        head = f"GET /v1/recommend?user={user}&k={k} HTTP/1.1"
        return f"{head}\r\nHost: {HOST}\r\nX-Request-ID: {name}\r\n\r\n".encode()
    body = json.dumps({"user": user, "k": k})
    head = f"POST /v1/recommend HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json"
    return f"{head}\r\nX-Request-ID: {name}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


async def read_answer(reader: Reader) -> tuple[int, Any]:
    """Status and JSON of the next answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
    body = await reader.readexactly(int(fields["content-length"]))
    return int(head.split()[1]), json.loads(body)


def fits(expected: Expected, status: int, answer: Any) -> bool:
    name, user, k = expected
    if status == 503:  # overload names the request, not the user
        return bool(answer.get("request_id") == name)
    found = status, answer.get("request_id"), answer.get("user"), len(answer.get("items", ()))
    return bool(found == (200, name, user, k))


class Client:
    """One connection after the other, until `left` requests were answered."""

    def __init__(self, served: Served, number: int, left: int, counts: Counter[str]) -> None:
        self._served, self._number, self._left, self.counts = served, number, left, counts
        self._random = random.Random(number)
        self._slow = number % 8 == 0
        self._made = 0

    async def run(self) -> None:
        while self._left > 0:
            reader, writer = await asyncio.open_connection(HOST, self._served.port, limit=2**22)
            try:
                for _ in range(self._random.randint(1, 40)):
                    await self._burst(reader, writer)
                    if self._left <= 0:
                        break
                if self._random.random() < 0.5:
                    await self._abort(writer)
            finally:
                writer.close()

    async def _burst(self, reader: Reader, writer: Writer) -> None:
        expected = [self._next() for _ in range(min(self._random.randint(1, 8), self._left))]
        sent = b"".join(
            request_bytes(one, self._random.choice(("GET", "POST"))) for one in expected
        )
        cut = self._random.randrange(len(sent)) if self._random.random() < 0.3 else 0
        writer.write(sent[:cut])
        if cut:
            await asyncio.sleep(0.002)
        writer.write(sent[cut:])
        for one in expected:
            if self._slow:
                await asyncio.sleep(0.01)
            status, answer = await asyncio.wait_for(read_answer(reader), 60)
            self.counts[str(status)] += 1
            self.counts["wrong"] += not fits(one, status, answer)
            self._left -= 1

    async def _abort(self, writer: Writer) -> None:
        """End in the middle of a head or of a body."""
        whole = request_bytes(self._next(), "POST")
        writer.write(whole[: self._random.randrange(1, len(whole) - 1)])
        await writer.drain()
        self.counts["aborted"] += 1

    def _next(self) -> Expected:
        self._made += 1
        name = f"c{self._number}-{self._made}"
        return name, self._random.randrange(self._served.users), self._random.randint(1, 50)


async def ask_all(served: Served, requests: int, connections: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    share = -(-requests // connections)
    await asyncio.gather(*(Client(served, n, share, counts).run() for n in range(connections)))
    return counts


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    with serving(workers=wanted.workers) as served:
        counts = asyncio.run(ask_all(served, wanted.requests, wanted.connections))
        with served.caller() as caller:
            alive = caller.get("/livez")[0] == 200
    held = counts["wrong"] == 0 and counts["200"] > 0.5 * wanted.requests and alive
    return held, {"requests": wanted.requests, **counts, "wrong": counts["wrong"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    return promise("replies", run, parser, {"requests": 1500, "connections": 16})


if __name__ == "__main__":
    sys.exit(main())
