"""A process that asks once: the same answers without numba as with the kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_files import SMALL, write_files
from xorec.recommender.recommender import Recommender

pytestmark = pytest.mark.process

_ASK = """
import json, sys
from pathlib import Path
from xorec.recommender.recommender import Recommender

def ask(path):
    shop = Recommender.load(path)
    user, item, other = shop.user_ids[3], shop.item_ids[5], shop.item_ids[6]
    best = shop.recommend(user, 7, deny=[item], allow=list(shop.item_ids)[:20]).to_dict()
    alike = shop.similar(item, 4).to_dict() if shop.representation.compares_items else None
    return best, alike, shop.explain(user, other).to_dict()

found = {path.stem: ask(path) for path in sorted(Path(sys.argv[1]).glob("*.xorec"))}
print(json.dumps({"found": found, "numba": "numba" in sys.modules}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    write_files(made)
    return made


@pytest.fixture(scope="module")
def answers(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of a process whose kernels would all have to be compiled."""
    places = {"NUMBA_CACHE_DIR": tmp_path_factory.mktemp("kernels")}
    places["XDG_CACHE_HOME"] = tmp_path_factory.mktemp("stamps")
    done = subprocess.run(
        [sys.executable, "-c", _ASK, str(folder)],
        env={**os.environ, **{name: str(path) for name, path in places.items()}},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not any(places["NUMBA_CACHE_DIR"].iterdir())
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_it_never_loads_the_compiler(answers: dict[str, Any]) -> None:
    assert not answers["numba"]
    assert answers["found"].keys() >= SMALL.keys()


@pytest.mark.parametrize("case", [*SMALL, "tables", "text"])
def test_kernels_say_the_same(case: str, folder: Path, answers: dict[str, Any]) -> None:
    shop = Recommender.load(folder / f"{case}.xorec").warm_up()
    user, item, other = shop.user_ids[3], shop.item_ids[5], shop.item_ids[6]
    best, alike, why = answers["found"][case]
    allow = shop.item_filter(list(shop.item_ids)[:20])
    assert shop.recommend(user, 7, deny=[item], allow=allow).to_dict() == best
    many = shop.recommend_many([user, user], 7, deny=[item], allow=allow)
    assert many[1].ids() == [one["id"] for one in best["items"]]
    if alike is not None:
        assert shop.similar(item, 4).to_dict() == alike
    assert shop.explain(user, other).to_dict() == why
