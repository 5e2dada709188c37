"""Models are swapped under load: no error, and every list is right for the generation it names.

    python benchmarks/service/swaps.py --swaps 1000 --seconds 60 --json

Three different models of the same users are generations 1, 2 and 3; an admin activates one after
the other while threads ask for lists. Each answer is held against the model file of the
generation that it names.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from xorec.recommender.recommender import Recommender

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, Served, percentile, promise, serving

GENERATIONS = 3


class Askers:
    """Threads that ask, and keep (user, generation, list)."""

    def __init__(self, served: Served, threads: int, pause: float) -> None:
        self.found: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
        self.errors: list[str] = []
        self._served, self._stop, self._pause = served, threading.Event(), pause
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(threads)]

    def __enter__(self) -> Askers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number: int) -> None:
        rng = random.Random(number)
        with self._served.caller() as caller:
            while not self._stop.is_set():
                user = rng.randrange(self._served.users)
                try:
                    status, answer = caller.get(f"/v1/recommend?user={user}&k=10")
                    if status != 200:
                        raise ValueError(f"{status}: {answer}")
                    ids = tuple(item["id"] for item in answer["items"])
                    key = (user, answer["model"]["generation"], ids)
                except Exception as error:
                    self.errors.append(repr(error))
                    continue
                with self._lock:
                    self.found[key] += 1
                time.sleep(self._pause)


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    took: list[float] = []
    refused: list[str] = []
    with serving(workers=wanted.workers, items=wanted.items) as served:
        for seed in range(1, GENERATIONS):
            served.process.stop()
            served.draw_model(seed)
            served.start_again()
        assert served.data is not None
        folder = served.data / "models" / "default"
        models = {n: Recommender.load(folder / f"{n:08}.xorec") for n in range(1, GENERATIONS + 1)}
        with served.caller() as admin, Askers(served, wanted.threads, wanted.pause) as askers:
            began = time.perf_counter()
            for swap in range(wanted.swaps):
                planned = began + swap * wanted.seconds / wanted.swaps
                time.sleep(max(0.0, planned - time.perf_counter()))
                before = time.perf_counter()
                body = {"name": "default", "generation": swap % GENERATIONS + 1}
                status, answer = admin.post("/v1/models/activate", body)
                took.append((time.perf_counter() - before) * 1e3)
                if status != 200:
                    refused.append(f"{status}: {answer}")
            seconds = time.perf_counter() - began
    wrong = sum(
        times
        for (user, generation, ids), times in askers.found.items()
        if list(ids) != models[generation].recommend(user, k=10).ids()
    )
    by_generation: Counter[int] = Counter()
    for (_, generation, _), times in askers.found.items():
        by_generation[generation] += times
    held = not (wrong or refused or askers.errors) and len(by_generation) == GENERATIONS
    return held, {
        "swaps": len(took),
        "swap_seconds": round(seconds, 2),
        "workers": wanted.workers,
        "lists": sum(by_generation.values()),
        "lists_by_generation": dict(sorted(by_generation.items())),
        "wrong": wrong,
        "errors": len(askers.errors) + len(refused),
        "first_error": (askers.errors + refused)[:1],
        "swap_ms_p50": percentile(took, 50),
        "swap_ms_max": percentile(took, 100),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--pause", type=float, default=0.001, help="of an asker, in seconds")
    short = {"swaps": 30, "seconds": 1.5, "items": 1000, "threads": 2}
    return promise("swaps", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
