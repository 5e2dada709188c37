"""xorec map: a layout in the model file, said in words or JSON, and drawn."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from xorec.recommender.recommender import Recommender

from .conftest import Run, refused


def test_the_layout_is_kept_in_the_file(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.xorec"
    shutil.copy(model, path)
    before = Recommender.load(path)
    result = run.ok("map", path, "-q")
    assert "80 items, layout neighbours" in result.stdout
    assert "10 nearest on the map" in result.stdout
    after = Recommender.load(path)
    assert after.map_xy is not None
    assert after.map_xy.shape == (80, 2)
    assert after.recommend(after.user_ids[0]) == before.recommend(before.user_ids[0])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.xorec"]


def test_equal_files_for_any_number_of_threads(run: Run, model: Path, tmp_path: Path) -> None:
    outs = [tmp_path / f"{threads}.xorec" for threads in (1, 2)]
    for threads, out in enumerate(outs, 1):
        report = run.json("map", model, "-o", out, "--threads", threads, "--seed", 5)
        assert report["layout"] == "neighbours"
        assert 0 < report["kept_10"] <= report["kept_50"] <= 1
        assert report["seed"] == 5
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert Recommender.load(model).map_xy is None
    refused(run("map", model, "--layout", "tsne", "-q"), "give pca or neighbours")
    refused(run("map", tmp_path / "none.xorec", "-q"), "there is no model file")


def test_a_picture(run: Run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out, plot = tmp_path / "m.xorec", tmp_path / "map.png"
    pictures = []
    for _ in range(2):
        words = ("map", model, "-o", out, "--layout", "pca", "--plot", plot, "-q")
        run.ok(*words)
        pictures.append(plot.read_bytes())
    assert Recommender.load(out).metadata["map"]["layout"] == "pca"
    assert pictures[0].startswith(b"\x89PNG")
    assert pictures[0] == pictures[1]
    refused(
        run("map", model, "-o", tmp_path / "n.xorec", "--plot", tmp_path / "map.jpg", "-q"), ".png"
    )
    assert not (tmp_path / "n.xorec").exists()
