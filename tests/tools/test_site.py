"""The tools of `make docs`: what Markdown becomes, what the commands say, what is refused."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from xorec.cli.main import _COMMANDS

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "tools" / "site"


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    return runpy.run_path(str(SITE / "commands.py"))


def test_lists_nest_by_four_blanks_and_stand_apart() -> None:
    convert = runpy.run_path(str(SITE / "lists.py"))["as_python_markdown"]
    text = "So:\n1. one\n   more\n   - two\n\n     | a |\n     |---|\n     | b |\n2. three\n"
    assert convert(text) == (
        "So:\n\n1. one\n    more\n    - two\n\n        | a |\n        |---|\n        | b |\n"
        "2. three\n"
    )
    assert convert("a line\n| a |\n|---|\n") == "a line\n\n| a |\n|---|\n"
    kept = "# Head\n\n    - code, no list\n\ntext - no list\n"
    assert convert(kept) == kept


def test_the_page_of_commands_has_every_option_that_the_help_has(commands: dict[str, Any]) -> None:
    made = commands["all_commands"]()
    page = commands["as_markdown"](made)
    headings = re.findall(r"(?m)^## (xorec.*)$", page)
    assert [head for head in headings if head.count(" ") == 1] == [f"xorec {c}" for c in _COMMANDS]
    assert "xorec data fetch" in headings
    help_ = subprocess.check_output([sys.executable, "-m", "xorec", "fit", "--help"], text=True)
    fit = page.split("## xorec fit\n")[1].split("\n## ")[0]
    for option in re.findall(r"(?m)^  +(?:-\w, )?(--[\w-]+)", help_):
        assert option in fit, option


def test_the_manual_page_is_one_that_man_reads(commands: dict[str, Any], tmp_path: Path) -> None:
    text = commands["as_manual"](commands["all_commands"]())
    assert text.startswith(".TH XOREC 1 ")
    assert all(f".SS xorec {name.replace('-', chr(92) + '-')}" in text for name in _COMMANDS)
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("no groff to read it with")
    (tmp_path / "xorec.1").write_text(text)
    done = subprocess.run(
        [groff, "-man", "-Tascii", "-ww", str(tmp_path / "xorec.1")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    assert "a bug in xorec" in done.stdout


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<script src="https://cdn.example/a.js"></script>', ["https://cdn.example/a.js"]),
        ('<link rel="stylesheet" href="//f.example/a.css">', ["//f.example/a.css"]),
        ("<style>@import url('https://f.example/b.css')</style>", ["https://f.example/b.css"]),
        ('<a href="https://a.example">a</a><img src="images/a.png">', []),
        ('<link rel="canonical" href="https://a.example/">', []),
    ],
)
def test_what_a_browser_would_fetch_from_elsewhere(page: str, found: list[str]) -> None:
    assert runpy.run_path(str(SITE / "foreign.py"))["addresses_in"](page) == found


def test_public_names_without_a_docstring_or_an_example_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from xorec.data.interactions import Interactions
    from xorec.evaluation.protocol import evaluate

    reference = runpy.run_path(str(SITE / "reference.py"))
    silent, unshown = reference["without_docstring"], reference["without_example"]
    assert silent() == unshown() == []
    monkeypatch.setattr(Interactions.digest, "__doc__", None)
    assert silent() == ["xorec.data.interactions.Interactions.digest"]
    monkeypatch.setattr(Interactions.digest, "__doc__", "A fingerprint.")
    monkeypatch.setattr(evaluate, "__doc__", "Measures.")
    assert unshown() == [
        "xorec.data.interactions.Interactions.digest",
        "xorec.evaluation.protocol.evaluate",
    ]


@pytest.mark.parametrize(
    ("link", "said"), [("other.md", "not found"), ("#nowhere", "no such anchor"), ("#here", "")]
)
def test_a_broken_link_ends_the_build(tmp_path: Path, link: str, said: str) -> None:
    pytest.importorskip("mkdocs", reason="needs xorec[docs]")
    pytest.importorskip("material", reason="needs xorec[docs]")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Here\n\n[a link]({link})\n")
    (tmp_path / "mkdocs.yml").write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [index.md]\nhooks: []\nplugins: []\n"
        "extra_css: []\ndocs_dir: docs\nsite_dir: site\n"
    )
    (words,) = re.findall(r"python -m (mkdocs build.*)", (ROOT / "Makefile").read_text())
    done = subprocess.run(
        [sys.executable, "-m", *words.split()],  # as make docs does: --quiet would hear of nothing
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == bool(said), done.stderr
    assert said in done.stderr
