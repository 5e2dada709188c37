from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.holding import held_command
from tests.support.report_pages import without_times

from .conftest import Run, refused
from .test_processes import XOREC

CONFIG = """
[bpr]
epochs = 2
[siml]
epochs = 2
[cml]
epochs = 2
[sml]
epochs = 2
[dsiml]
epochs = 1
[dsiml.start]
epochs = 1
dimensions = 16
"""
SMALL = ("--seeds", 2, "--trials", 2, "--bits", 16, "--dimensions", 8, "--threads", 1)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "short.toml"
    path.write_text(CONFIG)
    return path


def words(config: Path, out: Path, *more: object) -> list[str]:
    own = ("--config", config, "--continuous", "popularity,bpr,siml", "--out", out, *SMALL, *more)
    return [str(word) for word in own]


@pytest.mark.exhaustive
def test_a_report_and_the_same_from_its_own_run_file(
    run: Run, ratings: Path, config: Path, tmp_path: Path
) -> None:
    out, again = tmp_path / "report", tmp_path / "again"
    facts = run.json("reproduce", "rq2,rq5", "--data", ratings, *words(config, out))
    assert [one["question"] for one in facts["sections"]] == ["rq2", "rq5"]
    rows = facts["sections"][0]["tables"][0]["rows"]
    assert [row["method"] for row in rows] == ["popularity", "bpr", "siml"]
    assert rows[0]["ndcg@10"] < rows[1]["ndcg@10"]
    assert all(Path(path).exists() for path in facts["files"])
    settings = json.loads((out / "run.json").read_text())["plan"]["chosen"]
    assert [(one["method"], one["trials"]) for one in settings] == [
        ("popularity", 0),
        ("bpr", 2),
        ("siml", 2),
        ("dsiml", 2),
    ]
    words_of_it = ("reproduce", "--from", out / "run.json", "--threads", 2)
    second = run.ok(*words_of_it, "--out", again, "-q")
    assert not list((again / "cache").glob("choice-*"))
    assert same(out, again)
    assert "RQ2" in second.stdout
    assert max(map(len, second.stdout.splitlines()[:-1])) <= 80


def same(one: Path, other: Path) -> bool:
    """The same bytes, times aside."""
    for path in sorted((one / "figures").iterdir()):
        assert path.read_bytes() == (other / "figures" / path.name).read_bytes(), path
    pages = [(folder / "report.html").read_text() for folder in (one, other)]
    return without_times(pages[0]) == without_times(pages[1])


@pytest.mark.process
def test_kill_9_and_start_again(ratings: Path, config: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"

    def own(out: Path) -> list[str]:
        return ["reproduce", "rq2", "--data", str(ratings), *words(config, out, "-q")]

    def start(out: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*XOREC, *own(out)], stdout=subprocess.DEVNULL)

    assert start(whole).wait(timeout=300) == 0
    killed = held_command(own(broken), broken / "cache" / "test-*.json", count=3)
    killed.kill()
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert not (broken / "report.html").exists()
    before = {path: path.stat().st_mtime_ns for path in (broken / "cache").glob("*.json")}
    assert start(broken).wait(timeout=300) == 0
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    done = [len(list((folder / "cache").glob("*.json"))) for folder in (whole, broken)]
    assert len(before) < done[0] == done[1]
    assert same(whole, broken)


def test_bad_requests_are_one_line(run: Run, ratings: Path, config: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "r")
    refused(run("reproduce", *out), "rq1", "all")
    refused(run("reproduce", "rq7", *out), "rq7")
    refused(run("reproduce", "rq1", "--data", ratings, "--core", 1, "--core", 2, *out), "--core")
    refused(run("reproduce", "rq1", "--data", tmp_path / "no.csv", *out), "no.csv")
    refused(run("reproduce", "rq1", "--hashing", "dsiml,dcff", *out), "dcff")
    refused(run("reproduce", "rq4", "--data", ratings, *out), "categories", "--item-info")
    refused(run("reproduce", "--from", tmp_path / "run.json", *out), "run.json")
    (tmp_path / "run.json").write_text("{}")
    refused(run("reproduce", "--from", tmp_path / "run.json", *out), "run.json", "format")
    refused(run("reproduce", "rq1", "--from", tmp_path / "run.json", *out), "--from", "QUESTION")
    extra = ("--quick", "--grid-seeds", 2, "--user-column", "u")
    words_of_it = ("--quick", "--grid-seeds", "--user-column")
    refused(run("reproduce", "--from", tmp_path / "run.json", *extra, *out), *words_of_it)
    assert not (tmp_path / "r" / "report.html").exists()


def test_changed_data_are_noticed(run: Run, ratings: Path, config: Path, tmp_path: Path) -> None:
    copy, out = tmp_path / "copy.csv", tmp_path / "r"
    copy.write_text(ratings.read_text())
    small = ("--continuous", "popularity", "--out", out, "-q")
    run.ok("reproduce", "rq2", "--data", copy, *small)
    copy.write_text("\n".join(ratings.read_text().splitlines()[:-1]) + "\n")
    result = run("reproduce", "--from", out / "run.json", "--out", out, "-q")
    refused(result, "copy.csv", "digest")
