"""What a folder holds: the interactions, in one file or already split, and what tells of items."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xorec.core.errors import DataError
from xorec.core.paths import reason
from xorec.data.io.formats.registry import ENDINGS

_ONE_FILE = ("interactions", "ratings", "reviews")
_PARTS = {"train": ("train",), "validation": ("validation", "valid", "val"), "test": ("test",)}
_ITEM_FILES = ("items", "item_categories", "item_info", "movies")


@dataclass(frozen=True)
class Folder:
    """The files of a folder; `parts` runs parallel to `files`, "" where there is one file only."""

    files: tuple[Path, ...]
    parts: tuple[str, ...]
    item_info: tuple[Path, ...]


def discover(folder: Path) -> Folder:
    """Find the data of a folder by the names that data sets use."""
    try:
        return _discover(folder)
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be read: {reason(error)}.") from None


def _discover(folder: Path) -> Folder:
    whole = _find(folder, _ONE_FILE) or _only(folder, ".inter") or _named(folder, "u.data")
    item_info = tuple(found for name in _ITEM_FILES if (found := _find(folder, (name,))))
    recbole = _only(folder, ".item")
    item_info += (recbole,) if recbole else ()
    if whole:
        return Folder((whole,), ("",), item_info)
    looked_for = {part: _find(folder, names) for part, names in _PARTS.items()}
    parts = {part: file for part, file in looked_for.items() if file is not None}
    if "train" in parts and "test" in parts:
        return Folder(tuple(parts.values()), tuple(parts), item_info)
    raise DataError(
        f"the folder {folder} holds no data: it needs interactions{ENDINGS[0]} (or ratings, or "
        f"{', '.join(ENDINGS[1:])}), one .inter file, or train.txt and test.txt; or name a file."
    )


def _find(folder: Path, stems: tuple[str, ...]) -> Path | None:
    for stem in stems:
        for ending in ENDINGS:
            for name in (f"{stem}{ending}", f"{stem}{ending}.gz"):
                if (folder / name).is_file():
                    return folder / name
    return None


def _only(folder: Path, suffix: str) -> Path | None:
    found = [path for path in folder.iterdir() if path.suffix == suffix and path.is_file()]
    return found[0] if len(found) == 1 else None


def _named(folder: Path, name: str) -> Path | None:
    return folder / name if (folder / name).is_file() else None
