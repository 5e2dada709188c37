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
import yaml

from xorec.service.config import Config
from xorec.service.metrics import Metrics

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "xorec.service").read_text()
CONTAINER = (DEPLOY / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
KUBERNETES = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
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
    (extras,) = re.findall(r"pip install .*\"xorec\[([\w,]+)\]", CONTAINER)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert re.findall(r"^COPY (.*) /build/$", CONTAINER, re.M) == ["constraints.txt dist/*.whl"]
    (image,) = re.findall(r"^FROM python:(\d+\.\d+)-slim$", CONTAINER, re.M)
    assert PROJECT["requires-python"] == f">={image}"


def test_environment_variables_are_settings() -> None:
    others = (DEPLOY / name for name in ("compose.yaml", "kubernetes.yaml"))
    texts = (UNIT, CONTAINER, *(path.read_text() for path in others))
    for name in set(re.findall(r"XOREC_SERVE__KEYS__([A-Z]+)", "".join(texts))):
        assert name.lower() in type(Config().keys).model_fields


def test_compose_mounts_what_there_is() -> None:
    for service in COMPOSE.values():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if source.startswith("./") and source != "./shop.xorec":
                assert (DEPLOY / source).exists(), mount
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), port


def test_kubernetes_starts_what_there_is_and_asks_for_health() -> None:
    (service, pods) = KUBERNETES
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    check_command(container["command"])
    assert service["spec"]["selector"] == pods["spec"]["template"]["metadata"]["labels"]
    assert {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("readiness", "liveness")} == {
        "/readyz",
        "/livez",
    }


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    text = (DEPLOY / "grafana" / "dashboards" / "xorec.json").read_text()
    asked = {t["expr"] for panel in json.loads(text)["panels"] for t in panel["targets"]}
    names = {name for one in asked for name in re.findall(r"xorec_\w+", one)}
    kinds = [metric for metric in Metrics().registry.collect() if metric.name.startswith("xorec_")]
    known = {
        f"{metric.name}{end}"
        for metric in kinds
        for end in {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",)}.get(
            metric.type, ("",)
        )
    }
    assert names <= known, names - known
