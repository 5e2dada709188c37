"""A small model file of every representation and of every index that a file can keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xorec.data.interactions import Interactions
from xorec.data.text import Text
from xorec.models import model_class
from xorec.recommender import model_file, storage
from xorec.recommender.item_map import with_map
from xorec.recommender.recommender import Recommender
from xorec.search.hamming.index import HammingIndex
from xorec.testing.data import planted
from xorec.testing.examples import categories_of

_RAW = {"optimizer": "none", "start": {"epochs": 1}}
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "shared-scores": ("popularity", {}),
    "neighbours": ("item-knn", {}),
    "item-weights": ("ease", {}),
    "vectors": ("als", {"dimensions": 4, "epochs": 1}),
    "distances": ("cml", {"dimensions": 4, "epochs": 1}),
    "codes": ("signs", {"bits": 20, "start": {"epochs": 1}}),
    "asymmetric": ("dsiml", {**_RAW, "bits": 16, "asymmetric": True}),
    "masked-codes": ("phd", {"bits": 12, "epochs": 1}),
    "composed-codes": ("cccf", {"epochs": 1}),
    "codebooks": ("lightrec", {"epochs": 1}),
    "shortlist": ("dsiml", {**_RAW, "bits": 70, "shortlist": 10}),
    "shortlist-int8": ("dsiml", {**_RAW, "bits": 16, "shortlist": 10, "vector_dtype": "int8"}),
    "blend": ("blend", {"bits": 16, "start": {"epochs": 1}, "per_item": 2, "neighbours": 4}),
}
INDEXED = ("codes", "masked-codes", "shortlist", "blend")


def write_files(folder: Path) -> list[Path]:
    """One of each, in this folder; codes also with the tables of multi-index hashing."""
    data, paths = planted(50, 40), []
    for case, (name, settings) in SMALL.items():
        model = model_class(name)(**settings).fit(data)
        shop = Recommender.from_model(model, data)
        shop.save(folder / f"{case}.xorec", index=case in INDEXED)
        paths.append(folder / f"{case}.xorec")
        if case == "codes":
            paths.append(_with_tables(shop, folder / "tables.xorec"))
    return [*paths, _with_text(data, folder / "text.xorec")]


def rewrite(path: Path, tensors: Mapping[str, Any], to: Path | None = None) -> None:
    """Write a model file with other tensors, None to leave one out, and a digest that fits.

    The digest shows accidents alone; an attacker writes a new one.
    """
    known, metadata = storage.read(path)
    changed = {name: np.array(one) for name, one in known.items()} | dict(tensors)
    about = {key: fact for key, fact in metadata.items() if key not in ("format", "digest")}
    kept = {name: one for name, one in changed.items() if one is not None}
    storage.write(to or path, kept, about)


def _with_tables(shop: Recommender, path: Path) -> Path:
    """The same codes, searched by tables: so few items would be scanned otherwise."""
    codes: Any = shop.representation
    index = HammingIndex(codes.item_codes, codes.bits, shop.tie_rank, method="mih")
    model_file.save(path, shop, index.tensors())
    return path


def _with_text(data: Interactions, path: Path) -> Path:
    """Ids that are text, names, categories and a map."""
    rows = zip(data.user_rows.tolist(), data.indices.tolist(), strict=True)
    pairs = Interactions.from_pairs((str(user), str(item)) for user, item in rows)
    labels = [["odd", "all"] if row % 2 else ["all"] for row in range(pairs.n_items)]
    named = replace(
        pairs,
        names=Text.pack(f"item {name}" for name in pairs.items),
        categories=categories_of(labels),
    )
    made = Recommender.from_model(model_class("item-knn")().fit(named), named)
    with_map(made, "pca")[0].save(path)
    return path
