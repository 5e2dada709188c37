"""`codes.hex`: the items' codes as text, a line each, with the tables beside it."""

from __future__ import annotations

from pathlib import Path

from xorec.stores.code_files import CodeFile, items_of
from xorec.stores.contents import Contents


class HexFile(CodeFile):
    """Row by row, 16 hexadecimal digits for each word of 64 bits."""

    kind = "hex"

    def write_codes(self, contents: Contents, path: Path) -> None:
        lines = [""] * contents.about.items
        for batch in items_of(contents):
            for row, words in zip(batch["item_row"], batch["code"], strict=True):
                lines[row] = "".join(f"{word:016x}" for word in words.tolist())
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
