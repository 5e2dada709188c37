"""What each setting of SIML and DSIML does, on one data set: a table and a plot.

    python benchmarks/tuning.py --data debian --out docs/images/tuning

Validation NDCG@20 (a tenth of the training pairs; the test part is not touched), one setting moved
at a time, the rest as by default. SIML has 64 dimensions; DSIML starts from the default SIML.
Needs matplotlib (`pip install 'xorec[plots]'`). Writes OUT.svg, OUT.png and OUT.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.split import Split, split
from xorec.evaluation.protocol import evaluate
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import DEFAULTS, SIML
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors

GRID: dict[str, dict[str, list[Any]]] = {
    "siml": {
        "temperature": [1.0, 2.0, 3.0, 4.0, 6.0, 10.0],
        "gamma": [0.2, 0.5, 0.8, 1.0, 1.3, 1.7],
        "lambda_": [0.01, 0.1, 0.3, 1.0, 3.0, 10.0],
        "negatives": [1, 5, 10, 20, 50],
    },
    "dsiml": {
        "bits": [20, 32, 64, 128, 256],
        "temperature": [1.0, 2.0, 4.0, 8.0, 16.0],
        "softness": [0.0, 0.25, 0.5, 1.0, 2.0],
        "extra_positives": [0, 2, 5, 10, 20],
    },
}


class Tuning:
    """Fits on the training part, and measures on validation."""

    def __init__(self, parts: Split, epochs: int, options: RunOptions) -> None:
        self.parts, self.epochs, self.options = parts, epochs, options
        vectors = SIML(**DEFAULTS, epochs=epochs).fit(parts.train, None, options).representation_
        assert isinstance(vectors, Vectors)
        self.start = vectors
        self.reference = self.value(vectors)

    def value(self, representation: Representation) -> float:
        assert self.parts.validation is not None
        result = evaluate(representation, self.parts.train, self.parts.validation, ks=(20,))
        return float(result["ndcg@20"])

    def measure(self, model: str, **settings: Any) -> float:
        start = (self.start.user_vectors, self.start.item_vectors)
        one: SIML | DSIML = (
            SIML(epochs=self.epochs, **{**DEFAULTS, **settings})
            if model == "siml"
            else DSIML.from_vectors(*start, **settings)
        )
        return self.value(one.fit(self.parts.train, None, self.options).representation_)


def plot(rows: list[dict[str, Any]], reference: float, title: str, out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "xorec"
    from matplotlib import pyplot as plt

    kinds = [(model, name) for model, grid in GRID.items() for name in grid]
    figure, axes = plt.subplots(2, 4, figsize=(12, 5.6), sharey=True, layout="constrained")
    for axis, (model, name) in zip(axes.flat, kinds, strict=True):
        points = [row for row in rows if (row["model"], row["setting"]) == (model, name)]
        values = [row["ndcg@20"] for row in points]
        axis.plot(range(len(points)), values, marker="o", color="#1f6feb")
        axis.axhline(reference, color="#999999", linewidth=1, linestyle="--")
        axis.set_xticks(range(len(points)), [f"{row['value']:g}" for row in points])
        axis.set_title(f"{model}: {name.rstrip('_')}", fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
    for row in axes:
        row[0].set_ylabel("validation NDCG@20")
    figure.suptitle(f"{title} (dashed: SIML by default)")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{out}.svg", metadata={"Date": None})
    figure.savefig(f"{out}.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=30, help="of SIML")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    data = load_data(arguments.data)
    method: Any = "random" if data.parts is None else "given"
    parts = split(data, method=method, test=0.2, validation=0.1, seed=arguments.seed)
    tuning = Tuning(
        parts, arguments.epochs, RunOptions(seed=arguments.seed, threads=arguments.threads)
    )
    rows: list[dict[str, Any]] = []
    say = sys.stderr if arguments.json else sys.stdout
    print(f"siml by default: {tuning.reference:.4f}", file=say, flush=True)
    for model, grid in GRID.items():
        for name, values in grid.items():
            for value in values:
                found = tuning.measure(model, **{name: value})
                rows.append({"model": model, "setting": name, "value": value, "ndcg@20": found})
            line = "  ".join(
                f"{row['value']:g}: {row['ndcg@20']:.4f}" for row in rows[-len(values) :]
            )
            print(f"{model:5} {name:11} {line}", file=say, flush=True)
    plot(rows, tuning.reference, Path(arguments.data).name, arguments.out)
    result = {"data": arguments.data, "siml": tuning.reference, "rows": rows}
    Path(f"{arguments.out}.json").write_text(json.dumps(result, indent=1) + "\n")
    if arguments.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
