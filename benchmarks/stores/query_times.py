"""How long one list of ten takes: ours, faiss alone, and each store. In turns, medians.

    python benchmarks/stores/query_times.py --store /tmp/x/shop.sqlite /tmp/x/shop.duckdb
    python benchmarks/stores/query_times.py --items 350000 --bits 64 --rounds 30 --json times.json

Every store gets the same model first, and every list is compared with ours. wall_ms: from asking
to the list of ids and names. cpu_ms: of this process and all its threads (of a server: only what
its driver does here). ours: `Recommender.recommend`; faiss: one search of IndexBinaryFlat for ten
and as many as the user has, which knows no ids.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shop import save_shop

K = 10


def asking(model: Any, stores: dict[str, Any]) -> dict[str, Callable[[str], Any]]:
    """By name: what gives a user's list."""
    ways: dict[str, Callable[[str], Any]] = {"ours": lambda user: model.recommend(user, K).ids()}
    try:
        import faiss

        faiss.omp_set_num_threads(1)
        index = faiss.IndexBinaryFlat(64 * model.item_codes.shape[1])
        index.add(np.ascontiguousarray(model.item_codes[np.argsort(model.tie_rank)]).view(np.uint8))
        users = model.user_codes

        def by_faiss(user: str) -> Any:
            row = model.user_row(user)
            query = users[row : row + 1].view(np.uint8)
            index.search(query, K + len(model.items_of(row)))

        ways["faiss"] = by_faiss
    except ImportError:
        print("no faiss: left out")
    for name, store in stores.items():
        ways[name] = lambda user, store=store: store.recommend(user, K).ids()  # type: ignore[misc]
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", nargs="*", default=[], help="addresses; their tables are made")
    parser.add_argument("--items", type=int, default=350_000)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()

    from xorec.recommender.recommender import Recommender
    from xorec.stores.contents import contents_of
    from xorec.stores.registry import open_store
    from xorec.stores.sqlite import SqliteStore

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.xorec"
        save_shop(path, given.items, given.users, given.bits)
        model = Recommender.load(path, threads=1).warm_up(K)
        stores = {}
        for address in given.store:
            with open_store(address) as store:
                store.write(contents_of(model, users=True))
            opened = open_store(address)
            stores[str(opened.address)] = opened
            if opened.kind == "sqlite":
                plain = SqliteStore(opened.address, with_extension=False)
                stores[f"{opened.address}, without sqlite-vec"] = plain
        ways = asking(model, stores)
        users = [
            model.user_ids[row]
            for row in np.random.default_rng(1).integers(given.users, size=given.rounds + 1)
        ]
        for name, ask in ways.items():  # warm, and right
            found = ask(users[0])
            assert found is None or found == model.recommend(users[0], K).ids(), name
        wall: dict[str, list[float]] = {name: [] for name in ways}
        cpu: dict[str, list[float]] = {name: [] for name in ways}
        for user in users[1:]:
            for name, ask in ways.items():
                began, used = time.perf_counter(), time.process_time()
                found = ask(user)
                wall[name].append(1000 * (time.perf_counter() - began))
                cpu[name].append(1000 * (time.process_time() - used))
                assert found is None or found == model.recommend(user, K).ids(), name
    rows = [
        {
            "way": name,
            "wall_ms": round(statistics.median(wall[name]), 3),
            "cpu_ms": round(statistics.median(cpu[name]), 3),
        }
        for name in ways
    ]
    for row in rows:
        print(json.dumps(row))
    if given.json:
        given.json.write_text(
            json.dumps({"items": given.items, "bits": given.bits, "k": K, "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
