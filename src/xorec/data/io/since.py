"""`since`: a moment as people write it, as the number that times are compared with."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

from xorec.core.errors import OptionError
from xorec.core.printable import quoted


def parse_since(value: Any) -> int:
    """A number as it is, without its fraction; a date or date-time as seconds since 1970 (UTC).

    >>> parse_since("2026-11-17"), parse_since("2026-11-17T10:00:00+02:00"), parse_since("17")
    (1794873600, 1794902400, 17)
    """
    if isinstance(value, datetime.datetime):
        return _seconds(value)
    if isinstance(value, datetime.date):
        return _seconds(datetime.datetime(value.year, value.month, value.day))
    text = str(value).strip()
    if re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]*)?", text):
        return math.floor(float(text)) if "." in text else int(text)
    try:
        return _seconds(datetime.datetime.fromisoformat(text))
    except ValueError:
        raise OptionError(
            f"since is {quoted(value)}: give a date or a time, as 2026-11-17 or "
            "2026-11-17T08:00:00Z, or the number that the column of times has."
        ) from None


def _seconds(moment: datetime.datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return math.floor(moment.timestamp())
