"""Four workers take little more memory than one: they map the same file.

    python benchmarks/service/memory_workers.py --items 350000 --users 100000 --json

Pss (each shared page counts once, divided by those who share it) of all processes of the service,
after the same lists; the supervisor and the helpers of multiprocessing count, too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xorec.lab.bench.http_sender import Sender
from xorec.lab.bench.serve_requests import payload_of
from xorec.lab.bench.server_process import HOST

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, promise, serving


def measure(wanted: argparse.Namespace, workers: int) -> Figures:
    with serving(items=wanted.items, users=wanted.users, workers=workers) as served:
        payload = payload_of("lists", wanted.users, wanted.items)
        with Sender((HOST, served.port), 16 * workers) as sender:
            sender.closed(payload, wanted.requests * workers, 60)
        found = [one.memory_full_info() for one in served.process.processes()]
        return {
            "processes": len(found),
            "pss_mb": round(sum(one.pss for one in found) / 2**20, 1),
            "rss_mb": round(sum(one.rss for one in found) / 2**20, 1),
            "private_mb": round(sum(one.uss for one in found) / 2**20, 1),
            "model_mb": round(served.model.stat().st_size / 2**20, 1),
        }


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    one, several = measure(wanted, 1), measure(wanted, wanted.workers)
    more = several["pss_mb"] - one["pss_mb"]
    each = more / (wanted.workers - 1)
    return each <= wanted.most, {
        "workers": wanted.workers,
        "one": one,
        "several": several,
        "more_mb": round(more, 1),
        "more_mb_each": round(each, 1),
        "times_one": round(several["pss_mb"] / one["pss_mb"], 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--items", type=int, default=350_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=2000, help="lists for each worker first")
    parser.add_argument("--most", type=float, default=60, help="MB that one more worker may take")
    short = {"workers": 2, "items": 20_000, "users": 2000, "requests": 200}
    return promise("memory-of-workers", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
