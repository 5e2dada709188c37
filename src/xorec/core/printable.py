"""Text that is safe to show, values as JSON, and names that a wrong name may have meant.

Ids, names, columns and paths come from outside. A terminal obeys ESC and other control characters,
and marks of direction turn a line around: these are escaped. CJK, emoji and accents stay.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any


def jsonable(value: Any) -> Any:
    """Dictionaries, lists, text, numbers, booleans and None only; NaN and infinity become None.

    Anything else (a date, a UUID) becomes its text.

    >>> import numpy as np
    >>> jsonable({"id": np.int64(3), "scores": (0.5, float("nan"))})
    {'id': 3, 'scores': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): jsonable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(one) for one in value]
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


LONGEST_VALUE = 200
"""Characters of one value in a message."""
LONGEST_MESSAGE = 2000
"""Characters of one message."""

_CONTROLS = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction: marks, embeddings, isolates
    "\u2028\u2029\ufeff\ufff9-\ufffb"  # ends of lines, a mark of byte order, annotations
    "\ud800-\udfff"  # halves of a pair, which cannot be encoded
    "\U000e0000-\U000e007f"  # tags, which are invisible
)
_UNSAFE = re.compile(f"[{_CONTROLS}]")
_UNSAFE_IN_LINES = re.compile(f"[{_CONTROLS}]".replace("\x00-\x1f", "\x00-\x09\x0b-\x1f"))


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with Python's escapes for control characters; lines: `\n` stays."""
    unsafe = _UNSAFE_IN_LINES if lines else _UNSAFE
    return unsafe.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """A long text without its middle: the end of a message says what to do.

    >>> shortened("a" * 5000 + ": mend it.", 60)
    'aaaaaaaaaaaaaaaaaaaaaaa ... (5,010 characters) ...  mend it.'
    """
    if len(text) <= longest:
        return text
    gap = f" ... ({len(text):,} characters) ... "
    room = max(longest - len(gap), 0)
    end = room * 3 // 10
    return text[: room - end] + gap + text[len(text) - end :]


def message_text(text: str) -> str:
    """A message of at most `LONGEST_MESSAGE` characters that is safe to show."""
    for part in (1, 2, 4, 10):  # an escape has up to ten characters
        safe = printable(shortened(text, LONGEST_MESSAGE // part), lines=True)
        if len(safe) <= LONGEST_MESSAGE:
            break
    return safe


def quoted(value: Any) -> str:
    """A value from outside as messages show it: its `repr`, shortened."""
    if isinstance(value, int) and value.bit_length() > 4096:
        return f"<a whole number of {value.bit_length():,} bits>"
    try:
        return shortened(repr(value), LONGEST_VALUE)
    except ValueError:  # such a number is inside it
        return f"<a {type(value).__name__} that cannot be shown>"


def listed(names: Any) -> str:
    """Names for a message, the first of them where there are many."""
    first = ", ".join(shortened(str(name), LONGEST_VALUE) for name in list(names)[:20])
    return first if len(names) <= 20 else f"{first}, and {len(names) - 20:,} more"


def html_table(rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table for a notebook, the first row its header; everything is escaped.

    >>> html_table([["item"], ["tea & milk"]])
    '<table><tr><th>item</th></tr><tr><td>tea &amp; milk</td></tr></table>'
    """
    from html import escape

    tags = chain(["th"], repeat("td"))
    body = (
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for tag, row in zip(tags, rows, strict=False)
    )
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}{''.join(body)}</table>"


def json_text(value: Any) -> str:
    r"""JSON for people and pipes: not only ASCII, with escapes for control characters."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)


def closest(name: str, names: Iterable[str], count: int = 1) -> list[str]:
    """At most `count` of `names` that `name` may have meant, the likeliest first.

    A name that differs only by case and punctuation; else names that begin with it, names that are
    spelled alike, and names that it abbreviates.

    >>> closest("SIML", ["siml", "dsiml"]), closest("dsmil", ["siml", "dsiml"])
    (['siml'], ['dsiml'])
    >>> closest("dims", ["epochs", "dimensions"]), closest("lr", ["learning_rate"])
    (['dimensions'], ['learning_rate'])
    >>> closest("zzz", ["siml"])
    []
    """
    wanted, plain = _letters(name), {known: _letters(known) for known in names}
    same = [known for known, text in plain.items() if text == wanted]
    if same or not wanted:
        return same[:count]
    begun = [known for known, text in plain.items() if len(wanted) > 2 and text.startswith(wanted)]
    spelled = difflib.get_close_matches(wanted, plain.values(), n=count)
    alike = [known for one in spelled for known, text in plain.items() if text == one]
    longer = [known for known, text in plain.items() if _is_short_for(wanted, text)]
    return list(dict.fromkeys([*begun, *alike, *longer]))[:count]


def did_you_mean(name: str, names: Iterable[str], count: int = 1, sign: str = "") -> str:
    """ " Did you mean 'siml'?" with a blank before it, or ""; sign: text before each name."""
    near = closest(name, names, count)
    return f" Did you mean {' or '.join(f'{sign + one!r}' for one in near)}?" if near else ""


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _is_short_for(short: str, long: str) -> bool:
    """Whether all letters of `short` come in `long`, in their order, the first one first."""
    if len(short) < 2 or not long.startswith(short[0]):
        return False
    rest = iter(long)
    return all(letter in rest for letter in short)
