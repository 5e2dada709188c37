"""A front with shards beside one server that has all items: the same answers, and what that costs.

    python benchmarks/service/sharded.py --json

All on this machine and on any of its cores, the sender too; they take turns. own_mb is memory that
a process has filled itself, mapped_mb pages of files: one server finds its index in the model file,
a shard has made its own. index_mb: these indexes. cpu_us_of_a_list does not hang on who else uses
the machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from xorec.lab.bench.http_sender import Load, Sender
from xorec.lab.bench.serve_requests import drawn_recommender, payload_of
from xorec.lab.bench.server_process import HOST, ServerProcess, xorec_serve
from xorec.recommender.recommender import Recommender
from xorec.search.sharded import Shard
from xorec.service.shards.share import Share

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, promise

_PATIENT = {"XOREC_SERVE__LIMITS__SHARD_SECONDS": "20"}
"""The machine may be very busy, and this is about answers."""


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    with tempfile.TemporaryDirectory(prefix="xorec-sharded-") as name, ExitStack() as stack:
        folder = Path(name)
        model = folder / "bench.xorec"
        drawn_recommender(wanted.items, wanted.users, wanted.bits).save(model)

        def serve(what: str, *options: str) -> ServerProcess:
            command = xorec_serve(model, folder / what, *options)
            log = folder / f"{what}.log"
            return stack.enter_context(ServerProcess(command, log, environment=_PATIENT))

        shards = [
            serve(f"shard-{number}", "--shard", f"{number}/{wanted.shards}")
            for number in range(1, wanted.shards + 1)
        ]
        servers = {
            "whole": serve("whole"),
            "front": serve("front", "--shards", ",".join(one.url for one in shards)),
        }
        payload = payload_of("lists", wanted.users, wanted.items)
        same = _lists(servers["whole"], payload, wanted) == _lists(
            servers["front"], payload, wanted
        )
        figures: Figures = {
            "items": wanted.items,
            "bits": wanted.bits,
            "shards": wanted.shards,
            "same": same,
        }
        every = {**servers, **{f"shard {n}": one for n, one in enumerate(shards, 1)}}
        errors = 0
        for clients in wanted.clients:
            loads: dict[str, list[Load]] = {which: [] for which in servers}
            before = {which: one.cpu_seconds() for which, one in every.items()}
            for _ in range(wanted.rounds):
                for which, server in servers.items():
                    with Sender((HOST, server.port), clients) as sender:
                        loads[which].append(sender.closed(payload, 10**9, wanted.seconds))
            errors += sum(load.errors for some in loads.values() for load in some)
            made = {
                which: sum(int(load.good.sum()) for load in some) for which, some in loads.items()
            }
            figures[f"clients_{clients}"] = {
                **{
                    which: {
                        "lists_per_second": round(median(load.rate for load in some)),
                        "p50_ms": round(median(load.percentile(50) for load in some), 2),
                        "p99_ms": round(median(load.percentile(99) for load in some), 2),
                    }
                    for which, some in loads.items()
                },
                "cpu_us_of_a_list": {
                    which: round(
                        1e6 * (one.cpu_seconds() - before[which]) / made.get(which, made["front"])
                    )
                    for which, one in every.items()
                },
            }
        for what in ("own_mb", "mapped_mb"):
            figures[what] = {which: _memory(server)[what] for which, server in every.items()}
        figures["index_mb"] = _index_mb(model, wanted.shards)
        figures["errors"] = errors
        return same and not errors, figures


def _lists(server: ServerProcess, payload: object, wanted: argparse.Namespace) -> list[bytes]:
    """The items of some answers; one connection, so they come in order. It warms up, too."""
    with Sender((HOST, server.port), 1, keep=wanted.checks) as sender:
        load = sender.closed(payload, wanted.checks, 60)  # type: ignore[arg-type]
    return [body[body.index(b'"items"') :] for body in load.bodies]


def _memory(server: ServerProcess) -> Figures:
    (found,) = [one.memory_info() for one in server.processes()]
    own, mapped = found.rss - found.shared, found.shared
    return {"own_mb": round(own / 2**20, 1), "mapped_mb": round(mapped / 2**20, 1)}


def _index_mb(model: Path, shards: int) -> Figures:
    """Of the index of all items, and of that of each shard."""
    whole = Recommender.load(model, index=False)
    sizes = {"whole": whole.index.nbytes}
    for number in range(1, shards + 1):
        rows = Share(number, shards).rows(len(whole.item_ids))
        sizes[f"shard {number}"] = Shard.of(whole.representation, whole.tie_rank, rows).nbytes
    return {which: round(size / 2**20, 3) for which, size in sizes.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=350_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--checks", type=int, default=2000, help="lists that are compared first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    short = {"items": 5000, "users": 500, "checks": 200, "rounds": 1, "seconds": 0.5}
    return promise("sharded", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
