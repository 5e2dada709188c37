"""deploy/: the unit and the container file say what the project says."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from xorec.service.config import Config

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy" / "xorec.service").read_text()
CONTAINER = (ROOT / "deploy" / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def options_of_serve() -> set[str]:
    words = [sys.executable, "-m", "xorec", "serve", "--help"]
    return set(re.findall(r"--[\w-]+", subprocess.check_output(words, text=True)))


def check_command(words: list[str]) -> None:
    assert words[0].rsplit("/", 1)[-1] in PROJECT["scripts"]
    assert words[1] == "serve"
    given = {word for word in words[2:] if word.startswith("--")}
    assert given <= options_of_serve()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    there = shutil.which("true")
    assert there is not None
    unit = tmp_path / "xorec.service"
    unit.write_text(UNIT.replace("/opt/xorec/bin/xorec", there))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "xorec.service" not in done.stderr, done.stderr


def test_the_unit_starts_what_there_is() -> None:
    (start,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.M)
    check_command(shlex.split(start))
    (stop,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.M)
    assert int(stop) > 10, "the service may take 10 seconds"


def test_the_container_installs_and_starts_what_there_is() -> None:
    (command,) = re.findall(r"^CMD (\[.*\])$", CONTAINER, re.M)
    words = json.loads(command)
    check_command(words)
    assert f"EXPOSE {words[words.index('--port') + 1]}" in CONTAINER
    (extra,) = re.findall(r"pip install .*'/build\[(\w+)\]'", CONTAINER)
    assert extra in PROJECT["optional-dependencies"]
    for line in re.findall(r"^COPY (.*) /build", CONTAINER, re.M):
        for name in line.split():
            assert (ROOT / name).exists(), name
    (image,) = re.findall(r"^FROM python:(\d+\.\d+)-slim$", CONTAINER, re.M)
    assert PROJECT["requires-python"] == f">={image}"


def test_environment_variables_are_settings() -> None:
    for name in set(re.findall(r"XOREC_SERVE__KEYS__([A-Z]+)", UNIT + CONTAINER)):
        assert name.lower() in type(Config().keys).model_fields
