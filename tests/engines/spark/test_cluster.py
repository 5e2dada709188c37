"""A real cluster, in a network namespace of its own: files of the same bytes, though a worker dies.

The long forms are benchmarks/cluster/same_bytes.py and lost_workers.py.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.spark_cluster import MASTER, Cluster, busiest, missing, running_cluster
from xorec.cli.main import app

FIT = "fit debian --model als --dimensions 32 --seed 5"
LONG, SHORT = ("--epochs", "8"), ("--epochs", "2")
"""Somebody is killed while the long one runs."""


def command(output: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "xorec", *FIT.split(), "-o", str(output), *more]


def fitted_here(output: Path, *more: str) -> bytes:
    """What the same command writes without a cluster."""
    done = CliRunner().invoke(app, [*FIT.split(), "-o", str(output), *more, "-q"])
    assert done.exit_code == 0, done.output
    return output.read_bytes()


@pytest.fixture(scope="module")
def cluster(quick_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if why := missing():
        pytest.skip(why)
    with running_cluster(tmp_path_factory.mktemp("cluster"), workers=2) as running:
        yield running


def test_a_worker_killed_in_the_middle_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    output, said = tmp_path / "m.xorec", tmp_path / "said"
    engine = ("--engine", f"spark:{MASTER}", "--partitions", "3")
    with said.open("w", encoding="utf-8") as log:
        process = cluster.start(command(output, *LONG, *engine), stdout=log, stderr=log)
    until = time.monotonic() + 240
    while "als " not in said.read_text(encoding="utf-8"):
        assert process.poll() is None, said.read_text(encoding="utf-8")
        assert time.monotonic() < until
        time.sleep(0.05)
    cluster.kill_worker(busiest(cluster))
    assert process.poll() is None, "it was to be killed in the middle"
    assert process.wait(240) == 0, said.read_text(encoding="utf-8")
    assert output.read_bytes() == fitted_here(tmp_path / "here.xorec", *LONG)
    assert not list(tmp_path.glob("*.checkpoint*"))


def test_spark_connect(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed (pip install 'pyspark[connect]')")
    output = tmp_path / "m.xorec"
    engine = ("--engine", f"spark:{cluster.add_connect_server()}", "--partitions", "2")
    done = cluster.run(command(output, *SHORT, *engine, "-q"), 300)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == fitted_here(tmp_path / "here.xorec", *SHORT)
    assert done.stderr == ""
