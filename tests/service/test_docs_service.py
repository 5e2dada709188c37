"""docs/service.md: every line of curl runs as printed, and there is one for every endpoint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.load import Caller
from xorec.data.ids import Ids
from xorec.lab.bench.serve_requests import drawn_recommender
from xorec.lab.bench.server_process import ServerProcess, xorec_serve

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)
SHELL = [text for language, text in BLOCKS if language == "sh"]
USERS = ["bash", "zsh", "dash", "mksh"]
ITEMS = ["flex", "bison", "gawk"]
ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """What the page has: a shop of packages, a second model, and the settings of the page."""
    folder = tmp_path_factory.mktemp("docs")
    for seed, name in enumerate(("shop.xorec", "other.xorec")):
        drawn = drawn_recommender(40, 12, seed=seed, seen=5)
        users = Ids.of([*USERS, *(f"u{n}" for n in range(8))])
        items = Ids.of([*ITEMS, *(f"lib{n}" for n in range(37))])
        replace(drawn, user_ids=users, item_ids=items).save(folder / name)
    (settings,) = [text for language, text in BLOCKS if language == "toml"]
    assert tomllib.loads(settings)["models"] == {"b": "other.xorec"}
    config = folder / "serve.toml"
    config.write_text(settings.replace("other.xorec", str(folder / "other.xorec")))
    command = xorec_serve(folder / "shop.xorec", folder / "data", "--config", str(config))
    with ServerProcess(command, folder / "log") as process, Caller(process.port) as caller:
        status, answer = caller.call("PUT", "/v1/items", {"id": "lib36", "categories": ["doc"]})
        assert status == 200, answer
        yield process


def run(block: str, service: ServerProcess) -> str:
    """Each line as it stands, but for the port; an HTTP error is an error."""
    script = (
        'set -e\ncurl() { command curl --fail-with-body -sS --max-time 30 "$@"; }\n'
        f"{block.replace(ADDRESS, service.url)}"
    )
    environment = {**os.environ, "XOREC_KEY": "a-key-where-none-is-needed"}
    words = ["bash", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_example_runs_in_the_order_of_the_page(service: ServerProcess) -> None:
    for block in SHELL:
        curls = block[block.index("curl") :]
        out = run(curls, service)
        assert out, block


def test_the_lines_of_the_readme(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"(?s)## Serve it\n\n```sh\n(.*?)```", readme)
    assert re.search(r"(?m)^xorec serve shop\.xorec +#", lines)
    drawn_recommender(50, 4712).save(tmp_path / "shop.xorec")
    command = xorec_serve(tmp_path / "shop.xorec", tmp_path / "data")
    with ServerProcess(command, tmp_path / "log") as process:
        out = run(lines[lines.index("curl") :], process)
    assert '"accepted":1' in out


def test_from_zero_in_five_commands() -> None:
    commands = [line.split("#")[0].split() for line in SHELL[0].splitlines()]
    assert [words[0] for words in commands] == ["pip", "xorec", "xorec", "curl", "curl"]
    assert commands[0] == ["pip", "install", "'xorec[serve]'"]
    assert commands[1][1] == "fit"
    assert commands[2] == ["xorec", "serve", commands[1][-1]]


def test_there_is_an_example_of_every_endpoint(service: ServerProcess) -> None:
    with Caller(service.port) as caller:
        _, document = caller.get("/openapi.json")
    offered = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method in methods
        if method in ("get", "put", "post", "patch", "delete")
    }
    shown = set()
    lines = "".join(SHELL).replace("\\\n", " ").splitlines()
    for line in lines:
        for part in re.findall(r"curl[^|]*", line):
            found = re.search(re.escape(ADDRESS) + r"(/[\w./-]*)", part)
            if found is None:
                continue
            method = re.search(r"-X (\w+)", part)
            sends = re.search(r" -d | --data", part)
            shown.add((method[1] if method else "POST" if sends else "GET", found[1]))
    assert offered - shown == set()
    assert {path for _, path in shown} <= {path for _, path in offered} | {"/", "/openapi.json"}


def test_the_python_of_the_page(service: ServerProcess) -> None:
    code = next(text for language, text in BLOCKS if language == "python")
    words = [sys.executable, "-c", code.replace(ADDRESS, service.url)]
    out = subprocess.check_output(words, text=True, timeout=60)
    assert len(out.split(",")) == 3, out


def test_the_settings_of_the_page_are_all_there_and_the_defaults() -> None:
    from xorec.service.config import Config

    (settings,) = [text for language, text in BLOCKS if language == "toml"]
    given = tomllib.loads(settings)
    given.pop("models")
    assert Config.model_validate(given) == Config()


def test_the_metrics_of_the_page_are_there(service: ServerProcess) -> None:
    with Caller(service.port) as caller:
        status, text = caller.get("/metrics")
    assert status == 200
    for name in re.findall(r"`(xorec_\w+)`", PAGE):
        assert f"# HELP {name}" in text, name


def test_the_promises_are_commands() -> None:
    named = set(re.findall(r"benchmarks/(\w+/\w+\.py)", PAGE))
    folders = [ROOT / "benchmarks" / name for name in ("service", "attack")]
    there = {f"{one.name}/{path.name}" for one in folders for path in one.glob("*.py")}
    assert named == there - {"service/peer_faiss.py"}
