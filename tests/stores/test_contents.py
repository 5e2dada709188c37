"""What is exported of a model: batches are bounded, and what no store can rank is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import MissingExtraError, OptionError, StoreError
from xorec.data.text import Text
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes
from xorec.stores import tables
from xorec.stores.contents import contents_of
from xorec.stores.registry import open_store
from xorec.stores.schema import About
from xorec.stores.sqlite import SqliteStore
from xorec.stores.tables import rows_of
from xorec.testing.store_models import codes, recommender_of, two_stage


def test_batches_are_bounded_and_have_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH_ROWS", 7)
    shop = recommender_of(two_stage(per_item=3), categories=True, names=["x"] * 300)
    for table in contents_of(shop, users=True, lists=4).tables:
        batches = [*table.batches()]
        assert max(map(rows_of, batches)) <= 7
        found = sum(map(rows_of, batches))
        assert found == table.rows if table.name != "lists" else 0 < found <= table.rows
        for batch in batches:
            assert {len(values) for values in batch.values()} == {rows_of(batch)}
            assert [*batch] == [column.name for column in table.schema.columns]


def float_users() -> Recommender:
    """Codes of items under vectors of users: no Hamming distance ranks them."""
    rng = np.random.default_rng(0)
    users, items = rng.standard_normal((9, 20)), rng.standard_normal((30, 20))
    return recommender_of(Codes.from_signs(users, items, asymmetric=True))


def test_float_users_have_lists_only(tmp_path: Path) -> None:
    shop = float_users()
    with pytest.raises(OptionError, match=r"added where the item's bit is set.*--lists K"):
        contents_of(shop, users=True)
    contents = contents_of(shop, lists=5)
    assert (contents.about.ranking, contents.about.bits) == ("lists", 0)
    with open_store(str(tmp_path / "a.sqlite")) as store:
        store.write(contents)
        for user in shop.user_ids:
            found, expected = store.recommend(user, 5), shop.recommend(user, 5)
            assert found.ids() == expected.ids()


def test_a_history_that_is_not_what_users_have_is_not_looked_at() -> None:
    """Item weights would be summed over the wrong items: only lists are right then."""
    shop = recommender_of(two_stage())
    indptr, items = shop.seen
    other = replace(shop, seen=(indptr, np.roll(items, 1)))
    with pytest.raises(OptionError, match="--lists K"):
        contents_of(other, users=True)


def test_a_name_that_is_no_text_is_refused() -> None:
    wrong = Text(np.frombuffer(b"\xff" * 300, np.uint8), np.arange(301))
    shop = replace(recommender_of(codes(20)), names=wrong)
    items = contents_of(shop).tables[1]
    with pytest.raises(StoreError, match=r"the name of an item is .*udcff.* no UTF-8"):
        next(iter(items.batches()))


def test_what_an_export_says_of_itself_is_checked() -> None:
    about = contents_of(recommender_of(two_stage()), users=True).about
    assert About.of_rows(about.rows(), "x") == about
    newer = [(name, "99" if name == "format" else value) for name, value in about.rows()]
    with pytest.raises(StoreError, match="format 99, this xorec knows 1"):
        About.of_rows(newer, "x")
    for broken in ([], [("format", "1")], [("format", "{")], [("format", "1"), ("sources", "7")]):
        with pytest.raises(StoreError, match="x says nothing that xorec understands"):
            About.of_rows(broken, "x")


@pytest.mark.parametrize(("ending", "module"), [("duckdb", "duckdb"), ("faiss", "faiss")])
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with (
        open_store(str(tmp_path / f"a.{ending}")) as store,
        pytest.raises(MissingExtraError, match=rf"pip install 'xorec\[{ending}\]'"),
    ):
        store.write(contents_of(recommender_of(codes(20))))


def test_sqlite_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    shop = recommender_of(codes(20))
    with open_store(str(tmp_path / "a.sqlite")) as store:
        assert isinstance(store, SqliteStore)
        store.write(contents_of(shop, users=True))
        assert "hamming(i.code, u.code)" in store.query(store.about)
        assert store.recommend(3) == shop.recommend(3)
