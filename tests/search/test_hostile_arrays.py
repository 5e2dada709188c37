"""Arrays that a caller hands in: refused with a XorecError, or taken for what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.altered_files import ANSWERED, outcome
from xorec.core.errors import DataError, XorecError
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.representations.codes import Codes
from xorec.representations.vectors import Distances, Vectors
from xorec.search.filters import check_lists, check_rows
from xorec.search.hamming.index import HammingIndex
from xorec.search.index import ScoreIndex

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 2**20, (300, 1), dtype=np.uint64)
QUERIES = CODES[:4]
LISTS = np.arange(5) * 2, np.array([1, 2, 5, 9, 0, 3, 7, 8])
ROWS = np.array([0, 0, 1, 2])
FLOATS = RNG.normal(size=(300, 3)).astype(np.float32)
TABLES = HammingIndex(CODES, 20, method="mih", threads=1)
SCORES = ScoreIndex(Vectors(FLOATS[:4], FLOATS), np.arange(300, dtype=np.int32))
USERS, ITEMS = Ids.of(range(3)), Ids.of(range(300))


@pytest.mark.parametrize(
    "call",
    [
        lambda: Interactions.from_rows(USERS, ITEMS, ROWS, ROWS[:3]),
        lambda: Interactions.from_rows(USERS, ITEMS, ROWS[None], ROWS[None]),
        lambda: Interactions.from_rows(USERS, ITEMS, ROWS, np.array([0, 1, 2, np.nan])),
        lambda: Interactions.from_rows(USERS, ITEMS, ROWS, np.array(["a", "b", "c", "d"])),
        lambda: Interactions.from_rows(USERS, ITEMS, ROWS, ROWS, times=np.arange(3)),
        lambda: Vectors(FLOATS, FLOATS[:, :2]),
        lambda: Vectors(FLOATS[0], FLOATS),
        lambda: Vectors(FLOATS, FLOATS.astype(object)),
        lambda: Vectors(FLOATS, FLOATS, FLOATS[:5, 0]),
        lambda: Distances(FLOATS, FLOATS[:, :2]),
        lambda: Codes(CODES, CODES.astype(np.int64), 20),
        lambda: Codes(CODES[:, 0], CODES, 20),
        lambda: Codes(CODES, CODES, 20.5),  # type: ignore[arg-type]
        lambda: Codes(CODES, CODES, 0),
        lambda: HammingIndex(CODES.astype(np.float64), 20),
        lambda: HammingIndex(CODES, 20, np.arange(300.0)),  # type: ignore[arg-type]
        lambda: HammingIndex(CODES, "20"),  # type: ignore[arg-type]
        lambda: TABLES.search(QUERIES, 3, deny=np.array([1.5])),
        lambda: TABLES.search(QUERIES, 3, deny=np.array([[1]])),
        lambda: TABLES.search(QUERIES, 3, allow=np.array(["x"])),
        lambda: TABLES.search(QUERIES, 3, exclude=(LISTS[0], LISTS[1] * 0.5)),  # type: ignore[arg-type]
        lambda: TABLES.search(QUERIES, 3, exclude=(LISTS[0], LISTS[1] + 2**32)),
        lambda: TABLES.search(QUERIES, 3, exclude=(LISTS[0][:, None], LISTS[1])),
        lambda: TABLES.search(QUERIES, 3, exclude=LISTS[1]),  # type: ignore[arg-type]
        lambda: TABLES.search(QUERIES, 3, exclude=(LISTS[0][::-1], LISTS[1])),
        lambda: TABLES.search(QUERIES[:1], 3, exclude=(np.array([-5, 3]), LISTS[1])),
        lambda: TABLES.search(QUERIES, 3, allow=(LISTS[0] + 10**9, LISTS[1])),
        lambda: TABLES.search(QUERIES, 3, allow=(LISTS[0] - 10**9, LISTS[1])),
        lambda: TABLES.search(QUERIES, 3, allow=(LISTS[0], LISTS[1][:3])),
        lambda: SCORES.search(FLOATS[:1], 3, exclude=(np.array([0, 1]), np.array([300]))),
        lambda: SCORES.search(FLOATS[:4], 3, exclude=(LISTS[0], LISTS[1] - 5)),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(XorecError):
        call()


@pytest.mark.parametrize("rows", [[-1, 5], [-(10**9), 3], [-(2**31), 2**31 - 1], [7, 10**9]])
def test_excluded_rows_out_of_range_lead_no_kernel_astray(rows: list[int], tmp_path: Path) -> None:
    """Rows that no item has hide nothing: the answer is that without them."""
    inside = np.array([row for row in rows if 0 <= row < 300], dtype=np.int32)

    def ask(path: Path) -> None:
        for count in (1, 4):
            spans = np.arange(count + 1) * len(rows), np.arange(count + 1) * len(inside)
            lists = [np.tile(one, count).astype(np.int32) for one in (rows, inside)]
            found, expected = (
                TABLES.search(QUERIES[:count], 5, exclude=(indptr, indices))
                for indptr, indices in zip(spans, lists, strict=True)
            )
            assert found.items.tolist() == expected.items.tolist()

    assert outcome(tmp_path, ask) == (ANSWERED, "")


def test_rows_in_other_shapes_of_the_same_numbers() -> None:
    expected = TABLES.search(QUERIES, 5, deny=np.array([1, 2]), exclude=LISTS).items.tolist()
    read_only = LISTS[1].astype(np.int32)
    read_only.flags.writeable = False
    for deny in ([1, 2], np.array([2, 9, 1, 9])[::2], np.array([1, 2], dtype=">i2")):
        for exclude in (LISTS, (list(LISTS[0]), read_only), (LISTS[0], LISTS[1].astype(np.uint8))):
            found = TABLES.search(QUERIES, 5, deny=deny, exclude=exclude)  # type: ignore[arg-type]
            assert found.items.tolist() == expected
    assert TABLES.search(QUERIES, 5, deny=[]).items.shape == (4, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_rows_from_the_first_to_the_last_item(kind: Any) -> None:
    """Also where -1 read without its sign is a small number."""
    assert check_rows(np.array([99, 0, 3], dtype=kind), 100, "deny").tolist() == [99, 0, 3]
    assert not len(check_rows(np.zeros(0, dtype=kind), 0, "deny"))
    for items, bad in ((100, 100), (100_000, -1), (100, -100)):
        with pytest.raises(DataError, match=f"deny has the row {bad} but"):
            check_rows(np.array([5, bad, 3], dtype=kind), items, "deny")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_list_of_one_query(kind: Any) -> None:
    """int32 rows are taken as they are, others made so; what leads beyond the rows is refused."""
    rows = np.array([7, 8, 9], dtype=kind)
    for begin, end in ((0, 3), (1, 2), (3, 3)):
        indptr, indices = check_lists((np.array([begin, end]), rows), 1, "exclude")
        assert indices[indptr[0] : indptr[1]].tolist() == [7, 8, 9][begin:end]
        assert indices.dtype == np.int32
        assert (indices is rows) == (kind is np.int32)
    for begin, end in ((0, 4), (2, 1), (-1, 2), (4, 4)):
        with pytest.raises(DataError, match="do not rise from 0 to its 3 rows"):
            check_lists((np.array([begin, end]), rows), 1, "exclude")
    with pytest.raises(DataError, match="has 2 lists but there are 1 queries"):
        check_lists((np.array([0, 1, 2]), rows), 1, "exclude")
    with pytest.raises(DataError, match="give whole numbers"):
        check_lists((np.array([0, 1]), rows.astype(np.float32)), 1, "exclude")
