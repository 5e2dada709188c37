"""What raw ids become, by all the distinct ones of a column: sorted, typed, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.io.id_kernels import Codes

if TYPE_CHECKING:
    import polars as pl

WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is an integer's own way of writing itself: not 007, not +7, not 7.0."""

NEVER_AN_ID = ("nan", "NaN")
NOT_AN_INTEGER = ("NA", "N/A", "na", "n/a", "null", "NULL", "None", "none", "#N/A", "-")
"""Words for "missing": the second kind counts as missing where every other id is an integer."""

EXACT_BELOW = 2.0**53
"""From here on a float is several whole numbers at once."""
LONGEST_ID = 1_000_000
"""Bytes."""


def sorted_ids(known: pl.Series, *, whole_numbers: bool) -> tuple[Ids, Codes]:
    """The ids sorted, and the row of each among them.

    known: distinct ids. whole_numbers: text ids that all are whole numbers become integers.
    """
    import polars as pl

    if whole_numbers and len(known) and known.str.contains(WHOLE_NUMBER).all():
        numbers = known.cast(pl.Int64, strict=False)
        known = known if numbers.null_count() else numbers
    known = known + 0.0 if known.dtype.is_float() else known  # -0.0 is 0.0, whichever came first
    order = known.arg_sort().to_numpy()
    rows = np.empty(len(known), dtype=np.int32)
    rows[order] = np.arange(len(known), dtype=np.int32)
    return Ids.from_series(known.gather(order)), rows


def missing_word(known: pl.Series, *, text: bool) -> tuple[int, str] | None:
    """The place and the id of one that is empty, or a word for "missing" if ids come as text."""
    import polars as pl

    if known.dtype != pl.String:
        return None
    words = [*NEVER_AN_ID, *NOT_AN_INTEGER] if text else []
    suspects = known.is_in(["", *words])
    for code in suspects.arg_true():
        word = known[int(code)]
        others = known.filter(~suspects)
        if word in ("", *NEVER_AN_ID) or (len(others) and others.str.contains(WHOLE_NUMBER).all()):
            return int(code), word
    return None


def no_id(known: pl.Series, *, text_file: bool) -> tuple[int, str] | None:
    """The place of an id that would be mixed up with others, or is no id, and why.

    text_file: a zero byte is what JSON's half of a surrogate pair becomes, or no text at all.
    """
    import polars as pl

    if known.dtype.is_float():
        beyond = known.abs() >= EXACT_BELOW
        if beyond.any():
            code = int(beyond.arg_true()[0])
            return code, (
                f"is {known[code]!r}, among numbers with fractions, where whole ones from "
                "2**53 on are mixed up; give all as integers, or as text"
            )
    if known.dtype in (pl.String, pl.Binary):
        text = known.dtype == pl.String
        lengths = known.str.len_bytes() if text else known.bin.size()
        if (lengths > LONGEST_ID).any():
            code = int((lengths > LONGEST_ID).arg_true()[0])
            return code, f"has {lengths[code]:,} bytes: an id has at most {LONGEST_ID:,}"
        if text and text_file:
            zero = known.str.contains("\0", literal=True)
            if zero.any():
                code = int(zero.arg_true()[0])
                why = "has a zero byte, or half of a surrogate pair such as \\ud800"
                return code, f"{quoted(known[code])} {why}: mend that row"
    return None
