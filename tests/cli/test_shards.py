"""`xorec recommend --shards`: the same lists, searched in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xorec.recommender.recommender import Recommender
from xorec.testing.store_models import codes, recommender_of


@pytest.mark.parametrize("shards", [2, 7])
def test_the_file_of_everybody_is_the_same(run: Any, tmp_path: Path, shards: int) -> None:
    recommender_of(codes(20, distinct=9)).save(tmp_path / "m.xorec")
    written = []
    for words in ((), ("--shards", shards)):
        lists = tmp_path / f"{len(words)}.csv"
        done = run("recommend", tmp_path / "m.xorec", "--all-users", "-o", lists, *words, "-q")
        assert done.exit_code == 0, done.output
        written.append(lists.read_bytes())
    assert written[0] == written[1]


def test_shards_are_really_searched(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommender_of(codes(20)).save(tmp_path / "m.xorec")
    asked: list[int] = []
    sharded = Recommender.sharded

    def counted(self: Recommender, shards: Any) -> Recommender:
        asked.append(shards)
        return sharded(self, shards)

    monkeypatch.setattr(Recommender, "sharded", counted)
    whole, parts = (
        run("recommend", tmp_path / "m.xorec", "--user", 7, "--json", *words).stdout
        for words in ((), ("--shards", 3))
    )
    assert whole == parts
    assert asked == [3]


def test_what_cannot_be_cut_is_refused_in_one_line(run: Any, tmp_path: Path, ratings: Path) -> None:
    model = tmp_path / "bpr.xorec"
    run("fit", ratings, "--model", "bpr", "--epochs", 1, "-o", model, "-q")
    done = run("recommend", model, "--user", "u7", "--shards", 2)
    assert done.exit_code == 2
    assert "is not searched in shards" in done.stderr
