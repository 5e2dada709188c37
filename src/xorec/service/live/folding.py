"""Letters as people compare them: without regard to case, accents and forms of a letter."""

from __future__ import annotations

import unicodedata

import numpy as np

from xorec.core.arrays import as_contiguous
from xorec.data.text import Text
from xorec.service.live.letters_kernels import Strings, replace_rows, rows_beyond_ascii

_BLANK = {"Zs": " ", "Zl": " ", "Zp": " ", "Cc": " ", "Cf": "", "Pd": "-"}
"""What stands for characters of these kinds: blanks, what nobody sees, dashes."""
_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")


class _Folded(dict[int, str]):
    """What stands for a character, by its number; made when it is first met."""

    def __missing__(self, code: int) -> str:
        made = self[code] = _fold_character(chr(code))
        return made


_FOLDED = _Folded()


def fold(text: str) -> str:
    r"""Letters without case and accents; each character for itself.

    >>> fold("Crème Brûlée"), fold("STRASSE") == fold("Straße"), fold("\uff21\u2013\u2460")
    ('creme brulee', True, 'a-1')
    """
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def folded_bytes(text: str) -> bytes:
    """`fold` as bytes to be compared; halves of pairs, which are no text, are as any other."""
    return fold(text).encode("utf-8", "surrogatepass")


def fold_all(texts: Text) -> Text:
    """Every text folded, but for capital letters of ASCII: `letters_kernels.pack` sees to those."""
    strings = Strings(as_contiguous(texts.data), as_contiguous(texts.offsets))
    rows = np.empty(len(texts), dtype=np.int32)
    rows = rows[: rows_beyond_ascii(strings, rows)]
    if not len(rows):
        return texts
    others = joined([folded_bytes(texts[row]) for row in rows.tolist()])
    sizes = np.diff(texts.offsets)
    sizes[rows] = np.diff(others.offsets)
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    made = Strings(np.empty(int(offsets[-1]), dtype=np.uint8), offsets)
    replace_rows(strings, rows, Strings(others.data, others.offsets), made)
    return Text(*made)


def joined(pieces: list[bytes]) -> Text:
    """Pieces of bytes as a Text."""
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return Text(np.frombuffer(bytearray().join(pieces), dtype=np.uint8), offsets)


def _fold_character(character: str) -> str:
    if character.isascii():
        return character.lower()
    plain = _QUOTES.get(character) or unicodedata.normalize("NFKD", character)
    plain = unicodedata.normalize("NFKD", plain.casefold())
    kept = (one for one in plain if not unicodedata.combining(one))
    return "".join(
        one if one.isascii() else _BLANK.get(unicodedata.category(one), one) for one in kept
    )
