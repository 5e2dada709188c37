"""The registry: a format is one entry, and everything that lists formats follows it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.data.io import registry
from xorec.data.io.base import FileFormat, Source
from xorec.data.io.data_file import DataFile
from xorec.data.io.read import read
from xorec.data.io.registry import ENDINGS, FILE_FORMATS, OBJECT_FORMATS, open_file

DOCS = Path(__file__).parents[3] / "docs" / "data.md"


def test_no_ending_means_two_formats() -> None:
    endings = [ending for one in FILE_FORMATS.values() for ending in one.endings]
    assert len(set(endings)) == len(endings)
    assert all(ending.startswith(".") and ending == ending.lower() for ending in endings)
    assert set(ENDINGS) == {*endings, ".txt"}


def test_the_documents_list_every_format() -> None:
    text = DOCS.read_text()
    for one in FILE_FORMATS.values():
        ways = [f"`{ending}`" for ending in one.endings]
        ways += ["content"] if one.recognises else []
        assert f"| `{one.name}` | {one.title} | {', '.join(ways)} |" in text
    for kind in OBJECT_FORMATS:
        assert f"| | {kind.title} | type |" in text


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_a_missing_or_empty_file_is_said_to_be_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="there is no file"):
        open_file(DataFile(tmp_path / "x"), name)
    (tmp_path / "x").write_bytes(b" \n")
    with pytest.raises(DataError, match="is empty"):
        open_file(DataFile(tmp_path / "x"), name)


def test_a_new_format_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_dots(file: DataFile) -> Source:
        rows = [line.split(".") for line in file.lines[1:]]
        frame = pl.DataFrame(rows, schema=["user", "item"], orient="row").lazy()
        return Source(str(file.path), frame, ("user", "item"), text=True)

    dots = FileFormat(
        "dots",
        "dots between fields",
        open_dots,
        recognises=lambda file: file.lines[0] == "dots",
    )
    path = tmp_path / "data"
    path.write_text("dots\na.1\nb.2\n")
    monkeypatch.setitem(FILE_FORMATS, "dots", dots)
    monkeypatch.setattr(registry, "_BY_PRECEDENCE", [dots, *registry._BY_PRECEDENCE])
    assert list(read(path).users) == ["a", "b"]
    assert open_file(DataFile(path)).format == open_file(DataFile(path), "dots").format == "dots"
    with pytest.raises(OptionError, match=", dots"):
        open_file(DataFile(path), "stripes")


def test_what_takes_any_text_is_asked_last() -> None:
    """Wherever a new format stands in the list."""
    order = [one.name for one in registry._BY_PRECEDENCE]
    assert order[-2:] == ["list", "dat"]
    assert [one.is_text for one in registry._BY_PRECEDENCE] == sorted(
        one.is_text for one in registry._BY_PRECEDENCE
    )
