"""Lists a second of the service beside a plain FastAPI + faiss app, on the same codes in one run.

    python benchmarks/service/beside_faiss.py --peer-python OTHER/bin/python --json

OTHER is an environment with xorec, faiss-cpu, fastapi and uvicorn: FastAPI is no extra of ours.

Each has one core, the sender another; the two take turns, so that a busy machine is busy for both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from xorec.lab.bench.http_sender import Sender
from xorec.lab.bench.serve import pinned, server_cores
from xorec.lab.bench.serve_requests import drawn_recommender, payload_of
from xorec.lab.bench.server_process import HOST, ServerProcess, xorec_serve

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, promise

PEER = Path(__file__).with_name("peer_faiss.py")


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    ours, others = server_cores()
    rates: dict[str, list[float]] = {"xorec": [], "fastapi-faiss": []}
    latency: dict[str, list[float]] = {name: [] for name in rates}
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="xorec-beside-") as name:
        folder = Path(name)
        model = folder / "bench.xorec"
        drawn_recommender(wanted.items, wanted.users, wanted.bits).save(model)
        commands = {
            "xorec": xorec_serve(model, folder / "data"),
            "fastapi-faiss": [wanted.peer_python, str(PEER), str(model), "--port", "{port}"],
        }
        payload = payload_of("lists", wanted.users, wanted.items)
        servers = {
            n: ServerProcess(c, folder / f"{n}.log", cores=ours) for n, c in commands.items()
        }
        with servers["xorec"], servers["fastapi-faiss"], pinned(others):
            for turn in range(wanted.rounds + 1):
                for which, server in servers.items():
                    with Sender((HOST, server.port), wanted.clients) as sender:
                        load = sender.closed(payload, 10**9, wanted.seconds if turn else 2.0)
                    if turn:  # the first warms up
                        rates[which].append(load.rate)
                        latency[which].append(load.percentile(99))
                        memory[which] = round(server.memory_mb(), 1)
                        assert load.errors == 0, (which, load.by_status)
    middle = {which: median(found) for which, found in rates.items()}
    times = middle["xorec"] / middle["fastapi-faiss"]
    return times > 1, {
        "items": wanted.items,
        "bits": wanted.bits,
        "clients": wanted.clients,
        "requests_per_second": {which: round(value) for which, value in middle.items()},
        "rounds": {which: [round(one) for one in found] for which, found in rates.items()},
        "p99_ms": {which: round(median(found), 2) for which, found in latency.items()},
        "rss_mb": memory,
        "times": round(times, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=350_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--peer-python", default=sys.executable, help="that has fastapi and faiss")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    short = {"items": 5000, "users": 500, "rounds": 1, "seconds": 0.5}
    return promise("beside-faiss", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
