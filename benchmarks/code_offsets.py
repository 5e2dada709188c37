"""DSIML with and without an offset by popularity: validation chooses, the test part tells once.

    python benchmarks/code_offsets.py --data debian --bits 20 32 64 --json

One fit finds epochs and offset on a tenth of the training pairs, a second learns from all of them;
its codes are then ranked with the offset that was chosen and without.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.prepare import prepare
from xorec.data.split import Split, as_split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import fit_with_validation
from xorec.models.siml.dsiml import DSIML
from xorec.representations.codes import Codes

METRICS = ("ndcg@10", "ndcg@20")


def measure(parts: Split, bits: int, options: RunOptions) -> dict[str, Any]:
    """One row of the table."""
    model = DSIML(bits=bits, offset="auto")
    fitted = fit_with_validation(model, parts.train, parts.validation, options)
    codes = fitted.representation_
    assert isinstance(codes, Codes)
    seen = parts.train
    if parts.validation is not None:
        seen = seen.union(parts.validation, options.thread_count)
    plain = Codes(codes.user_rows, codes.item_rows, bits)
    row: dict[str, Any] = {"bits": bits, "offset": fitted.config.offset}
    row["largest"] = 0 if codes.item_offsets is None else int(codes.item_offsets.max())
    for name, ranks in (("without", plain), ("with", codes)):
        found = evaluate(ranks, seen, parts.test, ks=(10, 20), options=options)
        row[name] = {metric: round(found[metric], 4) for metric in METRICS}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a file, a folder, or the name of a data set")
    parser.add_argument("--core", type=int, default=0, help="users and items of so many pairs only")
    parser.add_argument("--bits", type=int, nargs="+", default=[20, 32, 64])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    data = load_data(asked.data)
    if asked.core:
        data = prepare(data, core=asked.core)
    parts = as_split(data, seed=asked.seed)
    options = RunOptions(seed=asked.seed, threads=asked.threads)
    rows = [measure(parts, bits, options) for bits in asked.bits]
    if asked.json:
        print(json.dumps({"data": asked.data, "split": parts.describe(), "rows": rows}))
    else:
        for row in rows:
            print(row)


if __name__ == "__main__":
    main()
