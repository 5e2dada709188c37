"""The pictures of docs/guide/pictures.md, from the embedded data: a minute or two.

python tools/site/pictures.py docs/images
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import xorec
from xorec import plots
from xorec.recommender.item_map import with_map
from xorec.selection.comparison import compare_models

SETTINGS: dict[str, dict[str, Any]] = {
    "bpr": {"epochs": 20},
    "signs": {"start": {"model": "als"}},
}


def main(folder: Path) -> None:
    """Write plot-NAME.svg, or .png where dots are many."""
    parts = xorec.split("debian", test=0.2, validation=0.1)
    rows = compare_models(
        parts, ["popularity", "item-knn", "slim", "als", "bpr"], settings=SETTINGS
    )
    codes = compare_models(parts, ["signs"], settings=SETTINGS, bits=[16, 32, 64, 128, 256])
    both = [*rows, *codes]
    plots.frontier(both, title="debian").save(folder / "plot-frontier.svg")
    plots.bits([*rows, *codes]).save(folder / "plot-bits.svg")
    bpr = xorec.BPR(epochs=40, validate_every=2, patience=20).fit(parts.train, parts.validation)
    plots.training_curves(bpr).save(folder / "plot-training.svg")
    (signs,) = [one.model for one in codes if one.model.config.bits == 64]
    shop = xorec.Recommender.from_model(signs, parts.train)
    plots.distances(shop).save(folder / "plot-distances.svg")
    plots.item_map(with_map(shop)[0]).save(folder / "plot-map.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
