"""Codes of ids against a dictionary; two ids with one hash are noticed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.data.io import id_encoder
from xorec.data.io.encode import sorted_ids
from xorec.data.io.id_encoder import GrowingArray, HashCollision, IdEncoder, IdKeys, hash_keys
from xorec.data.io.read import read


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=30), min_size=1, max_size=40), max_size=5))
def test_codes_lead_back_to_the_ids(batches: list[list[str]]) -> None:
    encoder = IdEncoder(seed=1)
    codes = []
    for batch in batches:
        series = pl.Series(batch, dtype=pl.String)
        codes.append(encoder.add(series))
    ids, rows = sorted_ids(encoder.known(), whole_numbers=False)
    decoded = [ids[int(rows[code])] for piece in codes for code in piece]
    assert decoded == [value for batch in batches for value in batch]
    assert list(ids) == sorted({value for batch in batches for value in batch})


def test_the_table_grows() -> None:
    encoder = IdEncoder()
    for start in range(0, 100_000, 10_000):
        series = pl.Series(range(start, start + 20_000))
        codes = encoder.add(series)
        assert codes.tolist() == list(range(start, start + 20_000))


IDS = [
    pl.Series([0, -1, 2**63 - 1, -(2**63), 0]),
    pl.Series([0, 2**64 - 1, 2**63, 0], dtype=pl.UInt64),
    pl.Series([2**100, -1, 0, 2**100], dtype=pl.Int128),
    pl.Series([0.5, -0.5, 1e300, 0.5]),
    pl.Series([0.5, -0.5, 0.5], dtype=pl.Float32),
    pl.Series([True, False, True]),
    pl.Series([date(2020, 1, 2), date(1960, 1, 1), date(2020, 1, 2)]),
    pl.Series([b"", b"\0", b"\0\0", b"more than twelve bytes", b"\0"]),
    pl.Series(["a", "a\0", "a\0\0", "a"]),
    pl.Series(["x" * size for size in range(40)]),
    pl.Series(["twelve bytes" + end for end in ("", "a", "b", "\0", "aa", "a")]),
    pl.Series(["eight by" * 3 + end for end in ("abcdefgh", "abcdefgi", "bbcdefgh", "abcdefgh")]),
]


@pytest.mark.parametrize("ids", IDS, ids=lambda ids: f"{ids.dtype}-{ids[0]!r:.12}")
def test_equal_ids_of_any_type_and_no_others_share_a_code(ids: pl.Series) -> None:
    encoder = IdEncoder()
    values = ids.to_list()
    first = list(dict.fromkeys(values))
    wanted = [first.index(value) for value in values]
    for start in (0, 1, 2):  # slices, as polars cuts them, and pieces that were put together
        assert encoder.add(ids.slice(start)).tolist() == wanted[start:]
    assert encoder.add(pl.concat([ids, ids])).tolist() == wanted * 2


def test_zero_has_one_code() -> None:
    assert IdEncoder().add(pl.Series([0.0, -0.0])).tolist() == [0, 0]


def same_hash(keys: IdKeys, seed: int) -> npt.NDArray[np.uint64]:
    """The hash of everything is 7 if the seed is 0."""
    hashes: npt.NDArray[np.uint64] = hash_keys(keys, seed)
    return np.full_like(hashes, 7) if seed == 0 else hashes


LONG = "longer than twelve bytes: "


@pytest.mark.parametrize("ids", [["a", "b"], [LONG + "a", LONG + "b"], ["a", LONG], [1, 2]])
def test_a_collision_is_noticed(ids: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_encoder, "hash_keys", same_hash)
    assert IdEncoder(seed=1).add(pl.Series(ids)).tolist() == [0, 1]
    encoder = IdEncoder()
    assert encoder.add(pl.Series([ids[0]] * 2)).tolist() == [0, 0]
    with pytest.raises(HashCollision):
        encoder.add(pl.Series(ids))


def test_after_a_collision_the_file_is_read_with_another_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_text("user,item\na,1\nb,2\n")
    seeds = []

    def colliding(keys: IdKeys, seed: int) -> npt.NDArray[np.uint64]:
        seeds.append(seed)
        return same_hash(keys, seed)

    monkeypatch.setattr(id_encoder, "hash_keys", colliding)
    assert list(read(tmp_path / "x.csv").users) == ["a", "b"]
    assert seeds == [0, 1, 1]


def test_a_growing_array_holds_what_was_added() -> None:
    array = GrowingArray(np.int64)
    pieces = [np.arange(start, start + 700_000) for start in range(0, 2_100_000, 700_000)]
    for piece in pieces:
        array.extend(piece)
    assert len(array) == 2_100_000
    assert np.array_equal(array.finish(), np.arange(2_100_000))
