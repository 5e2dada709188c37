"""xorec page: a model as one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xorec.recommender.recommender import Recommender

from .conftest import Run, refused


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
