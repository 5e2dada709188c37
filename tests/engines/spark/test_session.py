"""What Spark says in a hundred lines is told in one; another machine refuses its first block."""

from __future__ import annotations

import pytest

from xorec.core.errors import DataError, OptionError, XorecError
from xorec.core.options import RunOptions
from xorec.engines.registry import on_engine
from xorec.engines.spark.session import error_of
from xorec.engines.spark.tasks import machine_facts, refuse_other_machine

TRACE = """\
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/x/tasks.py", line 57, in __call__
    made = function(arrays, shared)
{last}

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:583)
Caused by: java.lang.Exception: nothing of interest
"""


def test_an_error_of_ours_comes_back_as_it_was() -> None:
    found = error_of(TRACE.format(last="xorec.core.errors.DataError: no pairs: check the file."))
    assert isinstance(found, DataError)
    assert str(found) == "no pairs: check the file."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACE.format(last="MemoryError: Unable to allocate 9 GiB"), "MemoryError: Unable to allo"),
        (
            "org.apache.spark.SparkException: All masters are unresponsive! Giving up.",
            "All masters",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03", "Path does not exist"),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited", "needs Java 17"),
        ("", "Spark: it failed"),
    ],
)
def test_others_are_one_line(text: str, line: str) -> None:
    found = error_of(text)
    assert type(found) is XorecError
    assert line in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize(
    ("name", "partitions", "kind", "words"),
    [
        ("ray", None, OptionError, "engine 'ray' is not known: give local or spark:MASTER"),
        ("local[2]", None, OptionError, "is not known"),
        ("local:2", None, OptionError, "is not known"),
        ("spark", None, OptionError, "spark: names no master: give spark:local"),
        ("local", 2, OptionError, "--partitions is for Spark"),
        ("spark:spark://127.0.0.1:x", None, OptionError, "'x' in spark://127.0.0.1:x is no port"),
        *(
            (
                f"spark:{master}",
                None,
                XorecError,
                rf"^no Spark answers at {master} \(.+\): start it",
            )
            for master in ("sc://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2")
        ),
    ],
)
def test_a_wrong_engine_is_refused(
    name: str, partitions: int | None, kind: type[XorecError], words: str
) -> None:
    with (
        pytest.raises(kind, match=words),
        on_engine(name, RunOptions(), partitions=partitions),
    ):
        pass


SUMS = ("sums of kernels", "sums of BLAS", "sums of LAPACK", "functions of numpy")


def test_this_machine_is_like_itself() -> None:
    refuse_other_machine(dict(machine_facts()))
    assert {"code", "numpy", "scipy", "numba", "cpu", *SUMS} == set(machine_facts())


@pytest.mark.parametrize("name", ["code", "numba", "cpu", *SUMS])
def test_what_differs_is_named(name: str) -> None:
    other = {**machine_facts(), name: "another"}
    with pytest.raises(XorecError, match=rf"\({name}: .* here, another there\).*NUMBA_CPU_NAME"):
        refuse_other_machine(other)
