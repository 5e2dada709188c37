"""`.npy`: the items' codes as one array, memory-mapped. numpy.load(path) has words (items, W)."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from xorec.core.bits import Words, words_for
from xorec.stores.code_files import CodeFile, items_of
from xorec.stores.contents import Contents


class NpyStore(CodeFile):
    """uint64 (items, words) by item_row: bit k of a code is bit k % 64 of word k // 64."""

    kind = "npy"

    def write_codes(self, contents: Contents, path: Path) -> None:
        about = contents.about
        shape = (about.items, words_for(about.bits))
        words = np.lib.format.open_memmap(path, mode="w+", dtype="<u8", shape=shape)
        for batch in items_of(contents):
            words[batch["item_row"]] = batch["code"]
        words.flush()

    def forget(self) -> None:
        super().forget()
        vars(self).pop("item_codes", None)

    @cached_property
    def item_codes(self) -> Words:
        if not self.is_current:
            words: Words = self.items["code"]
            return words
        with self.telling("ask"):
            return np.asarray(np.load(self.path, mmap_mode="r"), dtype=np.uint64)
