"""xorec plan; docs/scale.md: its plans are what is printed, and its commands are known."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xorec.cli.main import app
from xorec.selection.plan import constants
from xorec.selection.plan.constants import Constants

from .conftest import Run, refused, width_of

SIZES = ("--users", "1M", "--items", "50k", "--pairs", "20M")
STEP = {
    "step", "seconds", "cpu_seconds", "driver_seconds", "core_seconds", "tasks", "spark_jobs",
    "spark_stages", "shared_bytes", "sent_bytes", "exchanged_bytes", "result_bytes",
    "shuffle_bytes",
}  # fmt: skip
TOTAL = {
    "seconds", "cpu_seconds", "driver_bytes", "jvm_bytes", "worker_bytes", "machine_bytes",
    "disk_bytes", "scratch_bytes", "shuffle_bytes", "spark_jobs", "spark_stages",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_constants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test depends on what was measured on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def planned(run: Run, *words: object) -> dict[str, Any]:
    return dict(run.json("plan", *words))


@pytest.mark.parametrize("engine", ["local", "spark:local[2]", "spark:yarn"])
@pytest.mark.parametrize("job", ["fit", "lists", "similar", "evaluate"])
def test_json_is_one_object_with_flat_rows(run: Run, engine: str, job: str) -> None:
    found = planned(run, *SIZES, "--engine", engine, "--job", job)
    assert set(found) == {
        "job", "model", "data", "engine", "rows", "memory", "total", "fits", "advice", "machine",
    }  # fmt: skip
    assert found["data"]["pairs"] == 20_000_000
    assert all(set(row) == STEP for row in found["rows"])
    assert all(set(row) == {"where", "part", "bytes", "phase"} for row in found["memory"])
    assert set(found["total"]) == TOTAL
    for name in ("seconds", "cpu_seconds", "shuffle_bytes", "spark_jobs", "spark_stages"):
        assert found["total"][name] == pytest.approx(sum(row[name] for row in found["rows"]))
    assert (found["total"]["spark_jobs"] > 0) == (engine != "local")
    assert found["machine"]["measured"] is False


def test_a_plan_without_a_model_says_what_it_assumes(run: Run) -> None:
    told = " ".join(run("plan", *SIZES).stdout.split())
    assert told.startswith("no model named: dsiml is assumed; fit without --model compares several")
    assert "30 minutes" in told
    named = run("plan", *SIZES, "--model", "dsiml").stdout
    assert named.startswith("fit dsiml: ")
    assert told.endswith(" ".join(named.split()))
    assert not run("plan", *SIZES, "--job", "lists").stdout.startswith("no model")


def test_data_are_counted(run: Run, ratings: Path) -> None:
    found = planned(run, ratings, "--model", "als", "-q")
    assert found["data"]["users"] == 120
    assert found["data"]["pairs"] == 120 * 15


def test_settings_of_the_model_with_and_without_data(run: Run, ratings: Path) -> None:
    few = planned(run, ratings, "--model", "als", "--epochs", 2, "-q")
    many = planned(run, ratings, "--model", "als", "--epochs", 20, "-q")
    assert many["total"]["cpu_seconds"] > few["total"]["cpu_seconds"]
    sweeps = ("--optimizer", "flip", "--start.model", "als", "--engine", "spark:local[2]")
    found = planned(run, *SIZES, "--model", "dsiml", *sweeps, "--epochs", 3)
    (items,) = [row for row in found["rows"] if "blocks of items" in row["step"]]
    assert items["spark_jobs"] == 3 * 32
    first = planned(run, *sweeps[:4], *SIZES)  # a setting that comes first is no DATA
    assert first["data"]["pairs"] == 20_000_000


def test_the_table_fits_80_columns(run: Run) -> None:
    huge = ("--users", "100M", "--items", "10M", "--pairs", "10G")
    cluster = ("--engine", "spark:yarn", "--executors", 100, "--cores", 8, "--memory", "64G")
    result = run.ok("plan", *huge, "--optimizer", "flip", "--start.model", "als", *cluster)
    assert "10,000,000,000 pairs" in result.stdout
    words = " ".join(result.stdout.split())
    assert "are needed and the driver has 64.0" in words
    assert "xorec bench engine" in words
    assert width_of(result.stdout) <= 80


def test_measured_constants_are_taken(run: Run) -> None:
    before = planned(run, *SIZES, "--model", "als")
    constants.keep_constants({"ns_flop": 100.0}, "a slow one")
    after = planned(run, *SIZES, "--model", "als")
    assert after["machine"] == {"measured": True, "cpu": "a slow one", "note": ""}
    assert after["total"]["cpu_seconds"] > 2 * before["total"]["cpu_seconds"]
    constants.constants_file().write_text('{"cpu": 1, "constants": {"ns_flop": "x"}}')
    assert planned(run, *SIZES, "--model", "als") == before


def test_refusals_are_one_line(run: Run, ratings: Path) -> None:
    refused(run("plan"), "--users, --items and --pairs")
    refused(run("plan", ratings, "--users", 5), "leave out")
    refused(run("plan", "--users", "5Q", "--items", 1, "--pairs", 1), "'5Q'", "250k")
    refused(run("plan", "--users", 2, "--items", 2, "--pairs", 5), "at most 4 pairs")
    refused(run("plan", *SIZES, "--job", "dream"), "'dream'", "evaluate")
    refused(run("plan", *SIZES, "--engine", "spork"), "spark:local[2]")
    refused(run("plan", *SIZES, "--engine", "spark:local[2]", "--cores", 4), "leave out")
    refused(run("plan", *SIZES, "--executors", 4), "for Spark")
    refused(run("plan", *SIZES, "--engine", "spark:yarn", "--executors", 0), "--executors is 0")
    refused(run("plan", *SIZES, "--model", "alz"), "alz")
    refused(run("plan", *SIZES, "--model", "als", "--epochz", 4), "epochz")
    refused(run("plan", *SIZES, "--memory", "much"), "--memory")
    refused(run("plan", "no-such.parquet"), "no-such.parquet")


PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```text\n\$ xorec (plan .*)\n((?:.|\n)*?)^```$", PAGE, re.M)
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    for line in block.splitlines()
    if line.startswith("xorec ")
]


@pytest.mark.parametrize(("words", "printed"), SHOWN, ids=[words for words, _ in SHOWN])
def test_a_plan_is_printed_as_it_stands(run: Run, words: str, printed: str) -> None:
    found = [line.rstrip() for line in run.ok(*shlex.split(words)).stdout.splitlines()]
    assert found == [line.rstrip() for line in printed.splitlines()]
    assert max(map(len, found)) <= 80


def test_there_are_plans_to_test() -> None:
    assert len(SHOWN) >= 2
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_every_command_are_known(command: str) -> None:
    _, name, *words = shlex.split(command)
    told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).stdout
    known = {*re.findall(r"--[a-z-]+", told), "-o", "-k"}
    if name in ("plan", "fit"):
        known |= {"--epochs", "--optimizer", "--start.model"}
    assert {word for word in words if word.startswith("-")} <= known, command


def test_the_constants_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.,]+) ", PAGE, re.M))
    expected = Constants().row()
    assert rows.keys() == expected.keys()
    for name, value in rows.items():
        assert float(value.replace(",", "")) == pytest.approx(expected[name]), name
