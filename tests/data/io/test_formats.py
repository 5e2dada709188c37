"""The registry: everything that lists formats follows it. `tests/test_recipes.py` adds an entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from xorec.core.errors import DataError
from xorec.data.io.read import read
from xorec.data.io.registry import ENDINGS, FILE_FORMATS, OBJECT_FORMATS


def test_no_ending_means_two_formats() -> None:
    endings = [ending for one in FILE_FORMATS.values() for ending in one.endings]
    assert len(set(endings)) == len(endings)
    assert all(ending.startswith(".") and ending == ending.lower() for ending in endings)
    assert set(ENDINGS) == {*endings, ".txt"}


def test_the_documents_list_every_format() -> None:
    text = (Path(__file__).parents[3] / "docs" / "data.md").read_text()
    for one in FILE_FORMATS.values():
        ways = [f"`{ending}`" for ending in one.endings]
        ways += ["content"] if one.recognises else []
        assert f"| `{one.name}` | {one.title} | {', '.join(ways)} |" in text
    for kind in OBJECT_FORMATS:
        assert f"| | {kind.title} | type |" in text


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_a_missing_or_empty_file_is_said_to_be_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read(tmp_path / "x", format=name)
    (tmp_path / "x").write_bytes(b" \n")
    with pytest.raises(DataError, match="is empty"):
        read(tmp_path / "x", format=name)
