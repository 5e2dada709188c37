"""Pictures say what they are given: labels, levels and shares, and refuse what they cannot draw."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xorec
from xorec import plots
from xorec.core.errors import OptionError
from xorec.plots.figures import Figure
from xorec.plots.pictures import Picture
from xorec.testing.data import planted

DATA = planted(60, 40, per_user=8)


def texts(picture: Picture) -> set[str]:
    return {text.strip() for text in re.findall(r">([^<>]+)</text>", picture.svg)}


def test_the_best_without_codes_is_the_level_of_bits() -> None:
    rows = [{"model": "dsiml", "bits": n, "ndcg@10": n / 100} for n in (16, 32)]
    rows += [{"model": "bpr", "ndcg@10": 0.2}, {"model": "slim", "ndcg@10": 0.4}]
    shown = texts(plots.bits(rows))
    assert {"slim", "16", "32", "NDCG@10 of dsiml"} <= shown
    assert "bpr" not in shown


def test_curves_have_the_loss_and_the_validation_metric() -> None:
    parts = xorec.split(DATA, validation=0.2)
    one, other = (xorec.BPR(epochs=4, validate_every=2, dimensions=n) for n in (4, 8))
    shown = texts(plots.training_curves(one.fit(parts.train, parts.validation)))
    assert {"loss", "validation ndcg@20"} <= shown
    both = texts(plots.training_curves(one, other.fit(parts.train, parts.validation)))
    assert {"bpr 4", "bpr 8"} <= both


def test_distances_are_shares_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    from xorec.plots import models

    kept = []

    def keep(figure: Figure) -> Picture:
        kept.append(figure)
        return Picture("", b"")

    monkeypatch.setattr(models, "draw", keep)
    shop = xorec.Recommender.from_model(xorec.Signs(bits=16).fit(DATA), DATA)
    plots.distances(shop)
    own, every = kept[0].panels[0].lines
    codes = np.asarray(shop.user_codes), np.asarray(shop.item_codes)
    apart = np.bitwise_count(codes[0][DATA.user_rows] ^ codes[1][DATA.indices]).sum(axis=1)
    assert own.y == pytest.approx(np.bincount(apart, minlength=17) / len(DATA))
    assert sum(every.y) == pytest.approx(1)


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    shop = xorec.Recommender.from_model(xorec.Popularity().fit(DATA), DATA)
    with pytest.raises(OptionError, match="no codes"):
        plots.distances(shop)
    with pytest.raises(OptionError, match="no epochs"):
        plots.training_curves(xorec.Popularity().fit(DATA))
    with pytest.raises(OptionError, match="no 'ndcg@10'"):
        plots.frontier([{"label": "a"}])
    with pytest.raises(OptionError, match="no row has bits"):
        plots.bits([{"model": "bpr", "ndcg@10": 0.1}])
    with pytest.raises(OptionError, match="ends in"):
        Picture("<svg/>", b"").save(tmp_path / "a.gif")


def test_a_picture_is_shown_and_saved(tmp_path: Path) -> None:
    shop = xorec.Recommender.from_model(xorec.ALS(dimensions=4).fit(DATA), DATA)
    picture = plots.item_map(shop)
    picture.save(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes() == picture.png == picture._repr_png_()
    assert picture.png.startswith(b"\x89PNG")
    assert picture == plots.item_map(shop)


@pytest.mark.process
def test_importing_plots_imports_no_matplotlib() -> None:
    code = "import sys, xorec; xorec.plots.frontier; print('matplotlib' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
