"""The one logger, `xorec`: silent until somebody listens.

Records carry their figures as attributes (`record.event`, `record.seconds`, `record.items`, ...),
so that a handler can write them as JSON without reading the message.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xorec.core.printable import printable

logger = logging.getLogger("xorec")
logger.addHandler(logging.NullHandler())


@contextmanager
def logged(event: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """Log the block: that it began (debug), and when it is done (info) its seconds and `fields`.

    The block may add fields to the dictionary that it gets. A block that fails logs no end.

    >>> import sys
    >>> handler = logging.StreamHandler(sys.stdout)
    >>> handler.setFormatter(logging.Formatter("%(event)s of %(items)d items"))
    >>> logger.addHandler(handler)
    >>> logger.setLevel(logging.INFO)
    >>> with logged("load", path="shop.xorec") as fields:
    ...     fields["items"] = 3
    load of 3 items
    >>> logger.removeHandler(handler)
    >>> logger.setLevel(logging.NOTSET)
    """
    logger.debug("%s begins", event, extra={"event": event, **fields})
    began = time.perf_counter()
    yield fields
    seconds = time.perf_counter() - began
    if logger.isEnabledFor(logging.INFO):
        figures = ", ".join(f"{name} {value}" for name, value in fields.items())
        extra = {"event": event, "seconds": seconds, **fields}
        logger.info("%s: %.3f s, %s", event, seconds, printable(figures), extra=extra)
