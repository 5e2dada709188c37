"""Model files written before the rooms were built answer as they did then.

tests/recommender/files: 40 users, 30 items, text ids and names. NAME.json has what the program that
wrote NAME.xorec answered; files with codes keep their index.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import ModelFileError
from xorec.data.interactions import Interactions
from xorec.recommender import storage
from xorec.recommender.recommender import Recommender
from xorec.recommender.results import Recommendations

pytestmark = pytest.mark.filterwarnings("ignore:old names of settings")
FILES = Path(__file__).parent / "files"
NEW = [
    ("user-00", "item-07"),
    ("somebody", "item-01"),
    ("somebody", "item-04"),
    ("user-05", "new-item"),
    ("user-06", "new-item"),
]


@pytest.fixture(params=["bpr", "dsiml", "dsiml-shortlist"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shop(name: str) -> Recommender:
    return Recommender.load(FILES / f"{name}.xorec", verify=True)


@pytest.fixture
def answers(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FILES / f"{name}.json").read_text())
    return found


def agree(best: Recommendations, rows: list[list[Any]]) -> None:
    """Ids, names and distances are equal; scores of vectors may round as this machine's BLAS."""
    assert [[one.id, one.name, one.distance] for one in best.items] == [
        [*row[:2], row[3]] for row in rows
    ]
    assert [one.score for one in best.items] == pytest.approx([row[2] for row in rows], 1e-5, 1e-6)


def test_the_lists_of_known_users(shop: Recommender, answers: dict[str, Any]) -> None:
    assert len(answers["recommend"]) == 10
    for user, rows in answers["recommend"].items():
        agree(shop.recommend(user, 5), rows)
    for best in shop.recommend_many(list(answers["recommend"]), 5):
        agree(best, answers["recommend"][best.query])


def test_similar_items(shop: Recommender, answers: dict[str, Any]) -> None:
    for item, rows in answers["similar"].items():
        agree(shop.similar(item, 4), rows)


def test_somebody_new(shop: Recommender, answers: dict[str, Any]) -> None:
    agree(shop.recommend_for(["item-01", "item-04", "item-07"], 5), answers["fold_in"])


def test_what_the_file_says_of_itself(
    name: str, shop: Recommender, answers: dict[str, Any], tmp_path: Path
) -> None:
    assert shop.metadata == answers["metadata"]
    assert ("index" in vars(shop)) == name.startswith("dsiml")
    shop.save(tmp_path / "again.xorec", index=name.startswith("dsiml"))
    (old, before), (new, after) = (
        storage.read(path) for path in (FILES / f"{name}.xorec", tmp_path / "again.xorec")
    )
    short = {f"representation.{side}_codes" for side in ("user", "item")} & old.keys()
    size, sources = (f"representation.{one}" for one in ("size", "sources"))
    added = set()
    if size in old:  # of a shortlist; now the first of the sources of two stages
        added = {sources, "representation.blend"}
        assert new[sources].tolist() == [*old.pop(size), 0, 0, 0]
    assert all(new[one].tobytes() == old[one].tobytes() for one in old.keys() - short)
    for one in short:  # 16 bits: whole words then, two bytes now
        assert (old[one].dtype.name, new[one].dtype.name) == ("uint64", "uint8")
        np.testing.assert_array_equal(old[one].view(np.uint8)[:, :2], new[one])
    tables = {f"{ids}_ids.table.{part}" for ids in ("user", "item") for part in ("starts", "rows")}
    assert set(new) - set(old) == tables | added
    assert (before["format"], after["format"]) == (1, storage.FORMAT)
    same = before.keys() - {"format", "digest"} - ({"representation"} if added else set())
    assert {key: before[key] for key in same} == {key: after[key] for key in same}


def test_a_turned_bit_in_an_old_file_is_noticed(name: str, tmp_path: Path) -> None:
    """Its digest is by BLAKE2b."""
    content = bytearray((FILES / f"{name}.xorec").read_bytes())
    content[-1] ^= 1
    (tmp_path / "m.xorec").write_bytes(content)
    with pytest.raises(ModelFileError, match="is corrupt: it has the digest"):
        Recommender.load(tmp_path / "m.xorec")


@pytest.mark.parametrize("name", ["dsiml", "dsiml-shortlist"])
def test_an_update(shop: Recommender, answers: dict[str, Any]) -> None:
    after = shop.update(Interactions.from_pairs(NEW))
    assert len(answers["updated"]) == 3
    for user, rows in answers["updated"].items():
        agree(after.recommend(user, 5), rows)
