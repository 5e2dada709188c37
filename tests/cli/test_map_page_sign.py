"""xorec map, page and sign: a layout in the model file, a model as one page, signatures."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from xorec.recommender.recommender import Recommender
from xorec.testing.examples import shop

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


def _data(path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8")
    found: dict[str, object] = json.loads(text.split('id="data">')[1].split("</script>")[0])
    return found


def test_it_writes_one_file_and_says_how_large(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = run.ok("page", model, "-o", out, "--users", 7, "-k", 4, "--title", "My <shop>")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    text = out.read_text()
    assert "<title>My &lt;shop&gt;</title>" in text
    size = f"{out.stat().st_size / 1000:.1f} kB"
    assert result.stdout == f"{out}: 7 users, 80 items on the map, {size}.\n"
    data = _data(out)
    users = data["users"]
    assert isinstance(users, list)
    assert len(users) == 7
    assert all(len(user["list"]) == 4 for user in users)
    facts = data["facts"]
    assert isinstance(facts, dict)
    assert facts["model"] == "item-knn"
    assert facts["digest"].startswith("blake3:")


def test_json_and_the_same_bytes_again(run: Run, model: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        told = run.json("page", model, "-o", tmp_path / name, "--title", "x")
    assert told["bytes"] == (tmp_path / "b").stat().st_size
    assert (told["users"], told["points"], told["items"]) == (40, 80, 80)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_users_nobody_is_in_it(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    run.ok("page", model, "-o", out, "--users", 0)
    assert _data(out)["users"] == []
    users = [str(user) for user in Recommender.load(model).user_ids]
    assert not any(f'"{user}"' in out.read_text() for user in users)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--frontier", "none.png"), "cannot read the picture none.png"),
        (("--users", 5000), "--users"),
        (("-k", 0), "k is 0"),
    ],
)
def test_what_is_refused_writes_nothing(
    run: Run, model: Path, tmp_path: Path, words: tuple[object, ...], said: str
) -> None:
    out = tmp_path / "page.html"
    out.write_text("old")
    refused(run("page", model, "-o", out, *words), said)
    refused(run("page", tmp_path / "no.xorec", "-o", out), "there is no model file")
    assert out.read_text() == "old"


def test_sign_and_verify(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shop().save("m.xorec")
    run.ok("sign", "--new-key", "ann")
    verify = ("verify", "m.xorec", "--key", "ann.pub")
    refused(run(*verify), "is not signed")
    assert run.ok("sign", "m.xorec", "--key", "ann.key").stdout == "m.xorec.sig signs m.xorec.\n"
    assert run.ok(*verify).stdout.startswith("m.xorec is signed by ann.pub")
    with Path("m.xorec").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    assert run(*verify).exit_code == 2


def test_what_to_sign_must_be_said(run: Run) -> None:
    for words in ([], ["m.xorec"], ["m.xorec", "--new-key", "ann"]):
        refused(run("sign", *words), "say what to sign")
