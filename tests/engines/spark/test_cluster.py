"""A real cluster, in a network namespace of its own: files of the same bytes, though a worker dies.

The long forms are benchmarks/cluster/same_bytes.py and lost_workers.py.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from xorec.testing.spark_cluster import MASTER, Cluster, busiest, missing, running_cluster

FIT = "fit debian --model als --epochs 16 --dimensions 32 --seed 5 -o"


def command(output: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "xorec", *FIT.split(), str(output), *more]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if why := missing():
        pytest.skip(why)
    with running_cluster(tmp_path_factory.mktemp("cluster"), workers=2) as running:
        yield running


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    output = tmp_path_factory.mktemp("here") / "m.xorec"
    subprocess.run(command(output, "-q"), check=True, capture_output=True, timeout=300)
    return output.read_bytes()


def test_a_worker_killed_in_the_middle_changes_nothing(
    cluster: Cluster, expected: bytes, tmp_path: Path
) -> None:
    output, said = tmp_path / "m.xorec", tmp_path / "said"
    engine = ("--engine", f"spark:{MASTER}", "--partitions", "3")
    with said.open("w", encoding="utf-8") as log:
        process = cluster.start(command(output, *engine), stdout=log, stderr=log)
    until = time.monotonic() + 240
    while "als " not in said.read_text(encoding="utf-8"):
        assert process.poll() is None, said.read_text(encoding="utf-8")
        assert time.monotonic() < until
        time.sleep(0.05)
    cluster.kill_worker(busiest(cluster))
    assert process.poll() is None, "it was to be killed in the middle"
    assert process.wait(240) == 0, said.read_text(encoding="utf-8")
    assert output.read_bytes() == expected
    assert not list(tmp_path.glob("*.checkpoint*"))


def test_spark_connect(cluster: Cluster, expected: bytes, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed (pip install 'pyspark[connect]')")
    output = tmp_path / "m.xorec"
    engine = ("--engine", f"spark:{cluster.add_connect_server()}", "--partitions", "2")
    done = cluster.run(command(output, *engine, "-q"), 300)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == expected
    assert done.stderr == ""
