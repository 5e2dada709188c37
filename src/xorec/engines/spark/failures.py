"""What went wrong on Spark, in one line: the error of ours that a task raised, or Spark's own."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from xorec.core import errors
from xorec.core.errors import XorecError

_OURS = re.compile(r"^(?:xorec\.core\.errors\.)(\w+): (.+)$", re.MULTILINE)
_PYTHON = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)
_JAVA = re.compile(r"^(?:: |Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", re.MULTILINE)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors of Spark inside the block become a `XorecError` of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)  # a page of JSON of each error
    try:
        with warnings.catch_warnings():  # pyspark warns of every pandas that is newer than itself
            warnings.filterwarnings("ignore", category=FutureWarning, message="PySpark does not")
            yield
    except (PySparkException, Py4JError) as error:
        raise error_of(str(error)) from None
    except (ConnectionError, EOFError) as error:
        raise XorecError(f"Spark's driver process is gone ({error}): start anew.") from None


def error_of(text: str) -> XorecError:
    """The error that a trace of Spark tells of.

    >>> error_of("Job aborted\\n  at x\\nxorec.core.errors.DataError: no pairs.\\n\\n\\tat y")
    DataError('no pairs.')
    >>> error_of("Job aborted.\\nValueError: bad\\n at y")
    XorecError('Spark: ValueError: bad')
    >>> error_of("An error occurred while calling o57.load.\\n: java.sql.SQLException: No driver")
    XorecError('Spark: No driver')
    """
    if "JAVA_GATEWAY_EXITED" in text:
        return XorecError(
            "Spark could not be started: it needs Java 17 or later (java -version; "
            "apt install openjdk-17-jre-headless) and a master that answers."
        )
    ours = _OURS.findall(text)
    if ours:
        kind, message = ours[-1]
        return _kind(kind)(message)
    for pattern in (_PYTHON, _JAVA):
        if found := pattern.findall(text):
            last = found[-1] if isinstance(found[-1], str) else ": ".join(found[-1])
            return XorecError(f"Spark: {last.strip()}")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "it failed")
    return XorecError(f"Spark: {first}")


def _kind(name: str) -> type[XorecError]:
    found = getattr(errors, name, XorecError)
    return found if isinstance(found, type) and issubclass(found, XorecError) else XorecError
