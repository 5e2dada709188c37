"""What a release says of itself agrees, before anything is built (`make dist` does the rest)."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import xorec

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def test_code_changelog_and_citation_have_one_version() -> None:
    assert (
        runpy.run_path(str(ROOT / "tools" / "check_release.py"))["versions"]() == xorec.__version__
    )


def test_the_oldest_versions_are_those_that_are_allowed() -> None:
    allowed = dict(re.split(">=|==", one) for one in PROJECT["project"]["dependencies"])
    oldest = pins("constraints-oldest.txt")
    assert oldest.keys() == allowed.keys()
    for name, version in allowed.items():
        assert re.fullmatch(rf"{re.escape(version)}(\.0)*", oldest[name]), name


def test_everything_of_the_sdist_is_there() -> None:
    for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name


def test_the_workflow_runs_our_own_commands_on_every_python_that_is_named() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    named = [
        one.rpartition(" ")[2]
        for one in PROJECT["project"]["classifiers"]
        if re.search(r":: 3\.\d+$", one)
    ]
    jobs = workflow["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == named
    assert jobs["docs"]["strategy"]["matrix"]["python"] == named
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"))
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert [run.split()[:2] for run in runs] == [
        ["make", target] for target in ("lint", "test", "docs", "dist")
    ]
    assert {run.split()[1] for run in runs} <= {*targets}


@pytest.mark.parametrize("command", [["xorec"], [sys.executable, "-m", "xorec"]])
def test_the_version_by_both_names(command: list[str]) -> None:
    if command == ["xorec"]:
        command = [str(Path(sys.executable).with_name("xorec"))]
    shown = subprocess.check_output([*command, "--version"], text=True)
    assert shown == f"xorec {xorec.__version__}\n"


def test_completion_knows_commands_and_options() -> None:
    script = str(Path(sys.executable).with_name("xorec"))

    def complete(words: str, at: int) -> list[str]:
        env = {"_XOREC_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return subprocess.run(
            [script], env={**os.environ, **env}, capture_output=True, text=True, check=False
        ).stdout.split()

    assert complete("xorec fi", 1) == ["fit"]
    assert complete("xorec fit --targ", 2) == ["--target"]


def test_no_colour_where_it_is_not_wanted() -> None:
    code = (
        "from xorec.core.progress import TerminalProgress\n"
        "with TerminalProgress().task('fit', 3) as task: task.advance(1)"
    )

    def shown(**env: str) -> str:
        env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", **env}
        words = [sys.executable, "-c", code]
        return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stderr

    colour = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|38;5;\d+|9\d)m")
    assert colour.search(shown(NO_COLOR=""))
    assert not colour.search(shown(NO_COLOR="1"))
