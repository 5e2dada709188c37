"""What a terminal would obey is shown as an escape; what is too long is cut."""

from __future__ import annotations

import json
import unicodedata

import pytest

from xorec.core.errors import DataError, OptionError, UnknownIdError, XorecError
from xorec.core.printable import LONGEST_MESSAGE, json_text, listed, printable, quoted, shortened

SAFE = "Grüße, 茶, 😀👩‍👩‍👧, e\u0301, עברית"


def test_no_control_is_left_and_ordinary_text_stays() -> None:
    every = "".join(map(chr, range(0x11000)))
    left = printable(every)
    kinds = {unicodedata.category(sign) for sign in left}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not set("\u202a\u202e\u2066\u2069\u200e\u200f\u061c\ufeff") & set(left)
    assert printable(SAFE) == SAFE


def test_escapes_are_those_of_python() -> None:
    assert printable("\x1b[2J\x9b31m\x7f\t") == "\\x1b[2J\\x9b31m\\x7f\\t"
    assert printable("\ud800\u202e\U000e0041") == "\\ud800\\u202e\\U000e0041"
    assert printable("a\nb\r", lines=True) == "a\nb\\r"


def test_json_says_the_same_and_can_be_encoded() -> None:
    value = {"\x1b": ["\x9b", "\x7f", "\ud800", "\u2028", "\U000e0041", SAFE, '"\\']}
    text = json_text(value)
    assert json.loads(text) == value
    assert printable(text) == text
    assert SAFE in text
    text.encode()


@pytest.mark.parametrize("kind", [XorecError, DataError, OptionError, UnknownIdError])
def test_every_error_is_bounded_and_safe(kind: type[XorecError]) -> None:
    error = kind("file \x1b[31m " + "a" * 50_000_000 + ": mend it.")
    assert len(str(error)) <= LONGEST_MESSAGE
    assert str(error).startswith("file \\x1b[31m aaa")
    assert str(error).endswith("aaa: mend it.")
    assert "50,000,0" in str(error)
    assert len(str(kind("\x1b" * 10_000))) <= LONGEST_MESSAGE


def test_values_and_lists_are_cut() -> None:
    assert quoted("tea") == "'tea'"
    assert len(quoted("a" * 10**6)) == 200
    assert "bits" in quoted(10**5000)
    assert listed(["a", "b"]) == "a, b"
    assert len(listed(["a" * 10**6] * 10**4)) < 5000
    assert shortened("abc", 3) == "abc"
