"""One Spark session for all tests of a process: starting one takes ten seconds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xorec.engines.spark.engine import SparkEngine


@pytest.fixture(scope="session")
def quick_java() -> Iterator[None]:
    """JVMs that start in here have the quick compiler alone: what the other one makes pays off
    after minutes, and they live for less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        yield


@pytest.fixture(scope="session")
def spark(quick_java: None) -> Iterator[SparkEngine]:
    """An engine on two threads of one JVM."""
    pytest.importorskip("pyspark", reason="pyspark is not installed (pip install 'xorec[spark]')")
    if shutil.which("java") is None:
        pytest.skip("there is no Java here (apt install openjdk-17-jre-headless)")
    from xorec.engines.spark.engine import open_spark

    with open_spark("local[2]") as engine:
        yield engine
