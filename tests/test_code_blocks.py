"""Every code block of README.md and the guide is taken by a test; lines that no test runs as they
stand (they install, serve, or want a cluster) are checked here as far as that goes without."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
FENCE = re.compile(r"^( *)(```+|~~~+)([^\n]*)\n(.*?)^\1\2 *$", re.M | re.S)


class Block(NamedTuple):
    """page: its name. kind: what stands after the fence."""

    page: str
    kind: str
    code: str


BLOCKS = [
    Block(page.name, kind.strip(), code)
    for page in PAGES
    for _, _, kind, code in FENCE.findall(page.read_text("utf-8"))
]
TAKEN = {
    ("README.md", "python"): "tests/test_readme.py",
    ("plugins.md", "toml"): "tests/test_plugins.py",
    **{(page.name, "python"): "tests/test_guide.py" for page in PAGES[1:]},
}
"""(page, kind): the test that takes such blocks. Of `sh`, each line is looked at."""


def is_made(line: str) -> None:
    """`make demo`: the Makefile has the target."""
    targets = re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text("utf-8"))
    assert shlex.split(line, comments=True)[1] in targets, line


def is_installed(line: str) -> None:
    """`pip install 'xorec[serve]'`: there is such an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra in re.findall(r"\[(\w+)\]", line):
        assert extra in project["optional-dependencies"], line
    assert re.match(r"pip install ('xorec\[\w+\]'|\.) *(#.*)?$", line), line


def is_parsed(line: str) -> None:
    """A line of xorec that would not end, or wants a cluster: its words are understood."""
    from typer.main import get_command

    from xorec.cli.main import app

    name, *words = shlex.split(line, comments=True)[1:]
    root = get_command(app)
    parent = root.context_class(root, info_name="xorec", **root.context_settings)
    command = root.get_command(parent, name)  # type: ignore[attr-defined]
    assert command is not None, line
    command.make_context(name, words, parent=parent)


def is_asked(line: str) -> None:
    """A line of curl: tests/service/test_docs_service.py runs those of this section."""
    served = (ROOT / "README.md").read_text("utf-8").split("## Serve it\n")[1].split("\n## ")[0]
    assert line in served, line


def is_run(line: str) -> None:
    """tests/test_readme.py and tests/test_guide.py run every other line of xorec."""


LINES: dict[str, Callable[[str], None]] = {
    r"make ": is_made,
    r"pip ": is_installed,
    r"curl ": is_asked,
    r"xorec serve |xorec .*spark://": is_parsed,
    r"xorec ": is_run,
}
"""How a line begins, and what takes it; the first that fits."""


def test_there_are_blocks() -> None:
    fences = sum(page.read_text("utf-8").count("\n```") for page in PAGES)
    assert 2 * len(BLOCKS) == fences >= 50


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}-{block.kind}")
def test_every_block_is_taken(block: Block) -> None:
    if block.kind != "sh":
        where = TAKEN.get((block.page, block.kind))
        assert where is not None, f"no test takes {block.kind} of {block.page}:\n{block.code}"
        assert (ROOT / where).exists()
        return
    for line in block.code.splitlines():
        check = next((one for start, one in LINES.items() if re.match(start, line)), None)
        assert check is not None, f"no test takes this line of {block.page}: {line}"
        check(line)
