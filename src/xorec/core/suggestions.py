"""Did you mean ...? The names that are most like one that does not exist."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def closest(name: str, names: Iterable[str], count: int = 1) -> list[str]:
    """At most `count` of `names` that may have been meant by `name`, the likeliest first.

    The same but for case and punctuation; else what it begins, what is spelled alike, and what it
    is short for.

    >>> closest("SIML", ["siml", "dsiml"]), closest("dsmil", ["siml", "dsiml"])
    (['siml'], ['dsiml'])
    >>> closest("dims", ["epochs", "dimensions"]), closest("lr", ["learning_rate"])
    (['dimensions'], ['learning_rate'])
    >>> closest("zzz", ["siml"])
    []
    """
    wanted, plain = _plain(name), {known: _plain(known) for known in names}
    same = [known for known, text in plain.items() if text == wanted]
    if same or not wanted:
        return same[:count]
    begun = [known for known, text in plain.items() if len(wanted) > 2 and text.startswith(wanted)]
    spelled = difflib.get_close_matches(wanted, plain.values(), n=count)
    alike = [known for one in spelled for known, text in plain.items() if text == one]
    longer = [known for known, text in plain.items() if _is_short_for(wanted, text)]
    return list(dict.fromkeys([*begun, *alike, *longer]))[:count]


def did_you_mean(name: str, names: Iterable[str], count: int = 1, sign: str = "") -> str:
    """ " Did you mean 'siml'?", with a blank before it, or nothing; `sign` goes before each name.

    >>> did_you_mean("SIML", ["siml"])
    " Did you mean 'siml'?"
    """
    near = closest(name, names, count)
    return f" Did you mean {' or '.join(f'{sign + one!r}' for one in near)}?" if near else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _is_short_for(short: str, long: str) -> bool:
    """Whether all letters of `short` come in `long`, in their order, the first one first."""
    if len(short) < 2 or not long.startswith(short[0]):
        return False
    rest = iter(long)
    return all(letter in rest for letter in short)
