"""What mkdocs asks while it builds the site (`make docs`).

The site is the repository's root and docs/ laid over each other: README.md is its first page, and a
link from docs/ to ../CONTRIBUTING.md or ../deploy/Dockerfile goes where it goes on GitHub. Pages of
the API and of the commands are made here and kept nowhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from commands import all_commands, as_markdown
from foreign import foreign_addresses
from lists import as_python_markdown
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from reference import pages, without_docstring, without_example

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/plugin/README.md")
ROOT_FILES = ("LICENSE", "CITATION.cff", "deploy/*.*", "deploy/Dockerfile", "notebooks/*.ipynb")
_LINK = re.compile(r"(\]\()((?:\.\./)*)(docs/)?(?=[^)\s])")


def on_files(files: Files, *, config: Any) -> Files:
    """Add what is not in docs/."""
    if silent := without_docstring():
        raise PluginError(f"public names without a docstring: {', '.join(silent)}")
    if unshown := without_example():
        raise PluginError(f"public names without an example: {', '.join(unshown)}")
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text("utf-8")))
    for pattern in ROOT_FILES:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, text in {**pages(), "commands.md": as_markdown(all_commands())}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links as they are in the site, and lists as Python-Markdown wants them."""
    uri = page.file.src_uri
    if not uri.startswith("api/"):
        markdown = as_python_markdown(markdown)
    return _LINK.sub(lambda found: _moved(found, uri), markdown)


def _moved(link: re.Match[str], uri: str) -> str:
    """docs/x from the root is x; one `../` too many from docs/ is the root, which is here, too."""
    begin, up, docs = link.groups(default="")
    above = up.count("../") - uri.count("/")
    if uri in ROOT_PAGES:
        return begin + up
    return begin + ("../" * (up.count("../") - 1) if above == 1 else up) + docs


def on_post_build(*, config: Any) -> None:
    """Nothing on any page comes from another host."""
    if found := foreign_addresses(Path(config.site_dir)):
        raise PluginError("the site asks other hosts:\n" + "\n".join(found))
