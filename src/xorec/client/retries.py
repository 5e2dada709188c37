"""When to try again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

REFUSED = 503
"""The service did not do it: any request may come again."""
PASSING = (502, 503, 504)
"""Statuses that pass."""


@dataclass(frozen=True)
class Retries:
    """count: further tries. The wait doubles from `first` to `most` seconds and is cut by up to a
    half at random, so that clients do not come back together; the service's Retry-After counts
    instead, up to `patience` seconds.

    >>> Retries(first=0.1).wait(0, {"retry-after": "3"})
    3.0
    >>> 0.4 <= Retries(first=0.1).wait(3, {}) <= 0.8
    True
    """

    count: int = 4
    first: float = 0.1
    most: float = 5.0
    patience: float = 30.0

    def wait(self, attempt: int, headers: Mapping[str, str]) -> float | None:
        """Seconds before the next try; None where there is none. attempt: tries before this."""
        if attempt >= self.count:
            return None
        told = retry_after(headers.get("retry-after", ""))
        if told is not None:
            return told if told <= self.patience else None
        return min(self.most, self.first * 2.0**attempt) * random.uniform(0.5, 1.0)


def retry_after(value: str, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date.

    >>> retry_after("2"), retry_after("soon")
    (2.0, None)
    >>> noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    >>> retry_after("Mon, 16 Nov 2026 12:00:05 GMT", noon)
    5.0
    """
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
