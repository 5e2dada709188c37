"""Twice the load that it can take: 503 at once, most of the goodput stays, memory is flat.

    python benchmarks/service/overload.py --items 350000 --users 100000 --seconds 20 --json

The maximum is measured by a closed loop; then an open loop sends twice as much. Latency counts
from the planned time of a request.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xorec.lab.bench.http_sender import Sender
from xorec.lab.bench.serve import pinned, server_cores
from xorec.lab.bench.serve_requests import payload_of
from xorec.lab.bench.server_process import HOST

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, promise, serving

GOODPUT = 0.9
REFUSED_MS = 10.0
MEMORY = 1.05


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    ours, others = server_cores()
    with serving(items=wanted.items, users=wanted.users, cores=ours) as served:
        payload = payload_of("lists", wanted.users, wanted.items)
        with pinned(others):
            with Sender((HOST, served.port), 32) as sender:
                sender.closed(payload, 1000, 30)
                most = sender.closed(payload, 10**9, wanted.seconds)
            before = served.process.memory_mb()
            with Sender((HOST, served.port), wanted.connections) as sender:
                load = sender.open(payload, wanted.times * most.rate, wanted.seconds)
            after = served.process.memory_mb()
            with Sender((HOST, served.port), 32) as sender:
                again = sender.closed(payload, 2000, 30)
    refused = load.percentile(99, 503)
    held = (
        load.rate >= GOODPUT * most.rate
        and set(load.by_status) <= {200, 503}
        and load.unanswered == 0
        and (503 not in load.by_status or refused <= REFUSED_MS)
        and after <= MEMORY * before
        and again.errors == 0
    )
    return held, {
        "maximum_per_second": round(most.rate),
        "sent_per_second": round((len(load.latencies) + load.unanswered) / load.seconds),
        "goodput_per_second": round(load.rate),
        "goodput_share": round(load.rate / most.rate, 3),
        "statuses": load.by_status,
        "unanswered": load.unanswered,
        "p50_ms_200": round(load.percentile(50, 200), 2),
        "p99_ms_200": round(load.percentile(99, 200), 2),
        "p50_ms_503": round(load.percentile(50, 503), 2),
        "p99_ms_503": round(refused, 2),
        "memory_mb_before": round(before, 1),
        "memory_mb_after": round(after, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=350_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--times", type=float, default=2.0, help="the maximum")
    parser.add_argument("--connections", type=int, default=512)
    short = {"items": 2000, "users": 500, "seconds": 1.5}
    return promise("overload", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
