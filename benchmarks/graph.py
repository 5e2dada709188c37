"""LightGCN's epoch beside RecBole's and PyTorch Geometric's, and what one sparse product costs.

    python benchmarks/graph.py --data path/to/amazon-cds --batch 2048

One step is the same for all: propagate 64-dimensional vectors over 3 layers, BPR on a batch of
triplets, the way back, Adam over the table. Steps of all sides are interleaved; the epoch is the
median step times the number of batches. Ours draws its negatives inside; the others get theirs
ready made. RecBole and torch_geometric are left out where they are not installed (RecBole's matrix
is built by us: its own way does not run on today's SciPy). The product is set beside a plain copy
of the rows that it reads: that is the bandwidth limit of this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from xorec.core.threads import ThreadPool
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.data.split import split
from xorec.models.graph.lightgcn import Encoder, LightGCN, start_arrays
from xorec.training.blocks import blocks_of
from xorec.training.passes import Pass, Triplets
from xorec.training.propagation import Propagation

DIMENSIONS, RATE, REG = 64, 1e-3, 1e-4


def scaled(train: Interactions) -> Any:
    """The graph as SciPy has it: symmetric, scaled, users before items."""
    from scipy.sparse import csr_array

    graph = Propagation.of(train, 1)
    counts = np.diff(graph.indptr)
    values = graph.scales[graph.indices] * np.repeat(graph.scales, counts)
    return csr_array((values, graph.indices, graph.indptr), shape=2 * (len(counts),))


def products(train: Interactions, threads: int, rounds: int) -> dict[str, float]:
    """Median milliseconds of one product A X, and of reading as many rows in order."""
    import torch

    matrix, rng = scaled(train), np.random.default_rng(0)
    rows = rng.standard_normal((matrix.shape[0], DIMENSIONS), dtype=np.float32)
    out, spare = np.empty_like(rows), (np.empty_like(rows), np.empty_like(rows))
    graph = Propagation.of(train, 1)
    csr = torch.sparse_csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int64)),
        torch.from_numpy(matrix.indices.astype(np.int64)),
        torch.from_numpy(matrix.data),
        size=matrix.shape,
    )
    coo, dense = csr.to_sparse_coo().coalesce(), torch.from_numpy(rows)
    stream, total = np.ones((matrix.nnz, DIMENSIONS), np.float32), np.empty(1, np.float32)
    with ThreadPool(threads) as pool, torch.no_grad():

        def read(begin: int, end: int) -> None:
            total[0] = stream[begin:end].max(initial=0)

        sides: dict[str, Callable[[], object]] = {
            "xorec (with the sums of a layer)": lambda: graph.apply(rows, out, spare, pool),
            "scipy, one thread": lambda: matrix @ rows,
            "torch csr": lambda: csr @ dense,
            "torch coo": lambda: torch.sparse.mm(coo, dense),
            "reading as many rows in order": lambda: pool.map_ranges(len(stream), read),
        }
        return {name: 1e3 * seconds for name, seconds in timed(sides, rounds).items()}


def timed(sides: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each, interleaved, after one call that does not count."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for round_ in range(rounds + 1):
        for name, run in sides.items():
            began = time.perf_counter()
            run()
            if round_:
                times[name].append(time.perf_counter() - began)
    return {name: float(np.median(values)) for name, values in times.items()}


def our_step(
    train: Interactions, batch: int, layers: int, pool: ThreadPool
) -> Callable[[], object]:
    encoder = Encoder(
        Propagation.of(train, layers), start_arrays(train, DIMENSIONS, 0.1, 0), train.n_users, pool
    )
    run = Pass(train, Negatives.of(train), 1, batch, 0, 0, pool, 1)
    blocks, model = blocks_of(train, batch, 0, 0), LightGCN(negatives=1)

    def step() -> None:
        block = next(blocks)
        run.run_block(block, 0, model._step(encoder, len(block)))
        encoder.learn(RATE, REG / batch)

    return step


def ready_made(train: Interactions, batch: int) -> Triplets:
    """A batch of random pairs for the others."""
    rng = np.random.default_rng(0)
    pairs = rng.choice(train.n_pairs, batch)
    negatives = rng.integers(train.n_items, size=(batch, 1)).astype(np.int32)
    return Triplets(train.user_rows[pairs], train.indices[pairs], negatives)


def recbole_step(train: Interactions, one: Triplets, layers: int) -> Callable[[], object]:
    import torch

    for old, new in {"bool8": np.bool_, "float_": np.float64, "complex_": complex}.items():
        if not hasattr(np, old):  # names that RecBole 1.2 asks for and NumPy 2 has no more
            setattr(np, old, new)
    from recbole.model.general_recommender import LightGCN

    class Data:
        def num(self, field: str) -> int:
            return train.n_users if field == "user" else train.n_items

        def inter_matrix(self, form: str) -> Any:
            return train.matrix().tocoo()

    class Ours(LightGCN):  # type: ignore[misc]
        def get_norm_adj_mat(self) -> Any:
            coo = scaled(train).tocoo()
            places = torch.from_numpy(np.array([coo.row, coo.col], dtype=np.int64))
            return torch.sparse_coo_tensor(places, torch.from_numpy(coo.data), coo.shape)

    config = {
        "USER_ID_FIELD": "user", "ITEM_ID_FIELD": "item", "NEG_PREFIX": "neg_",
        "device": "cpu", "embedding_size": DIMENSIONS, "n_layers": layers, "reg_weight": REG,
        "require_pow": True,
    }  # fmt: skip
    model = Ours(config, Data())
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)

    def step() -> None:
        rows = (one.users, one.positives, one.negatives[:, 0])
        ids = dict(zip(("user", "item", "neg_item"), map(torch.from_numpy, rows), strict=True))
        optimizer.zero_grad()
        model.calculate_loss({name: rows.long() for name, rows in ids.items()}).backward()
        optimizer.step()

    return step


def geometric_step(train: Interactions, one: Triplets, layers: int) -> Callable[[], object]:
    import torch
    from torch_geometric.nn.models import LightGCN

    coo = scaled(train).tocoo()
    places = torch.from_numpy(np.array([coo.row, coo.col], dtype=np.int64))
    model = LightGCN(train.n_users + train.n_items, DIMENSIONS, layers, normalize=False)
    weights = torch.from_numpy(coo.data)
    graph = torch.sparse_coo_tensor(places, weights, coo.shape).to_sparse_csr()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)

    def step() -> None:
        users, near, far = (
            torch.from_numpy(rows).long()
            for rows in (one.users, one.positives, one.negatives[:, 0])
        )
        optimizer.zero_grad()
        vectors = model.get_embedding(graph)
        u, i, j = vectors[users], vectors[train.n_users + near], vectors[train.n_users + far]
        met = torch.cat([users, train.n_users + near, train.n_users + far])
        ranks = ((u * i).sum(-1), (u * j).sum(-1))
        model.recommendation_loss(*ranks, node_id=met, lambda_reg=REG).backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    data = load_data(arguments.data)
    train = split(data, method="random" if data.parts is None else "given", test=0.2, seed=0).train
    found = {"product, ms": products(train, arguments.threads, arguments.rounds)}
    ready = ready_made(train, arguments.batch)
    others: dict[str, Callable[..., Callable[[], object]]] = {
        "recbole": partial(recbole_step, train, ready),
        "torch_geometric": partial(geometric_step, train, ready),
    }
    with ThreadPool(arguments.threads) as pool:
        sides = {"xorec": our_step(train, arguments.batch, arguments.layers, pool)}
        for name, make in others.items():
            try:
                sides[name] = make(arguments.layers)
            except ImportError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
        steps = timed(sides, arguments.rounds)
    count = train.n_pairs // arguments.batch
    found["epoch, s"] = {name: seconds * count for name, seconds in steps.items()}
    print(json.dumps(found) if arguments.json else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
