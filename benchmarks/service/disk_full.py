"""The disk is full: writes answer 507, reads go on, and it heals.

    sudo python benchmarks/service/disk_full.py --json

The service's folder and its temporary files are on a tmpfs of a few megabytes (so this needs root).
Events are sent until it is full; lists must still come; then room is made, and events are taken
again. No acknowledged event may be missing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, Served, compare_with_log, promise

SEVERAL = 200
"""Events of one request: fewer than a page of the log each would take long to fill it."""


def fill(served: Served, sent: set[str], acknowledged: dict[str, Any], tries: int) -> Counter[int]:
    """Send events until they are refused, and a few times more; the statuses."""
    statuses: Counter[int] = Counter()
    with served.caller() as caller:
        for _ in range(tries):
            names = [f"{len(sent) + n}-{'x' * 80}" for n in range(SEVERAL)]
            events = [
                {"user": n % served.users, "item": n * 31 % served.items, "event_id": name}
                for n, name in enumerate(names)
            ]
            sent.update(names)
            status, _ = caller.post("/v1/events", {"events": events})
            statuses[status] += 1
            if status == 200:
                acknowledged |= dict.fromkeys(names)
            elif statuses.total() - statuses[200] >= 5:
                break
    return statuses


def reads(served: Served, count: int) -> Counter[int]:
    """Statuses of lists."""
    with served.caller() as caller:
        return Counter(
            caller.get(f"/v1/recommend?user={n % served.users}&k=10")[0] for n in range(count)
        )


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    sent: set[str] = set()
    acknowledged: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="xorec-full-") as name:
        place = Path(name) / "disk"
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={wanted.megabytes}m", "xorec", str(place)]
        subprocess.run(mount, check=True)
        try:
            ballast = place / "ballast"
            ballast.write_bytes(bytes(wanted.megabytes * 2**19))
            (place / "tmp").mkdir()
            os.environ["TMPDIR"] = str(place / "tmp")  # of the service
            size = {"items": 1000, "users": 200, "workers": wanted.workers}
            with Served(Path(name), data=place / "data", **size) as served:
                before = fill(served, sent, acknowledged, 5)
                full = fill(served, sent, acknowledged, 10_000)
                reading = reads(served, 200)
                ballast.unlink()
                began = time.perf_counter()
                healed = Counter[int]()
                while not healed[200] and time.perf_counter() < began + 10:
                    healed += fill(served, sent, acknowledged, 1)
                seconds = time.perf_counter() - began
                after = fill(served, sent, acknowledged, 5)
                with served.caller() as caller:
                    found = compare_with_log(acknowledged, sent, caller.export())
                restarted = served.restart()
                with served.caller() as caller:
                    again = compare_with_log(acknowledged, sent, caller.export())
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True)
    refused = {status: n for status, n in full.items() if status != 200}
    held = (
        set(before) == set(after) == {200}
        and set(refused) == {507}
        and set(reading) == {200}
        and bool(healed[200])
        and found["lost"] == found["doubled"] == again["lost"] == again["doubled"] == 0
    )
    return held, {
        "full": dict(full),
        "reads_while_full": dict(reading),
        "healed_after_seconds": round(seconds, 3),
        "after": dict(after),
        **found,
        "lost_after_restart": again["lost"],
        "restart_seconds": round(restarted, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    return promise("disk-full", run, parser, {"megabytes": 16})


if __name__ == "__main__":
    sys.exit(main())
