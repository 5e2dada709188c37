"""Stores that are files and no databases: a Parquet folder, a faiss file, an array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import StoreError
from xorec.stores.code_files import CodeFile
from xorec.stores.contents import contents_of
from xorec.stores.registry import open_store
from xorec.testing.store_models import codes, recommender_of
from xorec.testing.stores import StoreTests


class TestParquetFolder(StoreTests):
    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.parquet")


class TestNpy(StoreTests):
    variant = True
    holds_lists_alone = False

    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.npy")


class TestFaiss(StoreTests):
    variant = True
    holds_lists_alone = False

    @pytest.fixture(autouse=True)
    def _needs_faiss(self) -> None:
        pytest.importorskip("faiss", reason="no faiss: pip install 'xorec[faiss]'")

    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.faiss")


@pytest.mark.parametrize("ending", ["npy", "faiss"])
@pytest.mark.parametrize("kind", ["codes", "offsets"])
def test_a_file_of_another_export_is_not_asked(tmp_path: Path, ending: str, kind: str) -> None:
    """A process died after it had swapped the folder: the folder is right."""
    pytest.importorskip("faiss", reason="no faiss: pip install 'xorec[faiss]'")
    path, other = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    shop = recommender_of(codes(64, offsets=kind == "offsets", distinct=20))
    with open_store(str(path)) as store, open_store(str(other)) as second:
        store.write(contents_of(shop, users=True))
        second.write(contents_of(recommender_of(codes(64, seed=1)), users=True))
        assert isinstance(store, CodeFile)
        assert store.is_current
    path.write_bytes(other.read_bytes())
    with open_store(str(path)) as store:
        assert isinstance(store, CodeFile)
        assert not store.is_current
        assert [store.recommend(u) for u in shop.user_ids] == [
            shop.recommend(u) for u in shop.user_ids
        ]
    path.unlink()
    with open_store(str(path)) as store:
        assert store.recommend(3) == shop.recommend(3)


def test_the_array_is_what_numpy_loads(tmp_path: Path) -> None:
    learned = codes(128)
    with open_store(str(tmp_path / "a.npy")) as store:
        store.write(contents_of(recommender_of(learned)))
    assert (np.load(tmp_path / "a.npy") == learned.item_codes).all()


def test_the_faiss_file_is_in_tie_order(tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss", reason="no faiss: pip install 'xorec[faiss]'")
    learned = codes(20, distinct=4)
    shop = recommender_of(learned)
    with open_store(str(tmp_path / "a.faiss")) as store:
        store.write(contents_of(shop))
    index = faiss.read_index_binary(str(tmp_path / "a.faiss"))
    item_at = np.argsort(shop.tie_rank)
    _, labels = index.search(learned.user_rows.bytes, 50)
    for user in range(learned.n_users):
        expected = shop.recommend(shop.user_ids[user], 50, seen=True).ids()
        assert shop.item_ids.take(item_at[labels[user]]) == expected


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").mkdir()
    (tmp_path / "a.parquet" / "mine.txt").write_text("mine")
    store = open_store(str(tmp_path / "a.parquet"))
    with pytest.raises(StoreError, match="xorec did not make: choose another name"):
        store.write(contents_of(recommender_of(codes(64))))
    assert (tmp_path / "a.parquet" / "mine.txt").read_text() == "mine"
