"""What a browser would fetch from other hosts by itself; links that a person follows are none."""

from __future__ import annotations

import re
from pathlib import Path

_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|image)\b[^>]*?\b(?:src|srcset|xlink:href)=["']?
        (?P<source>(?:https?:)?//[^"'\s>]+)
      | <link\b(?=[^>]*rel=["']?(?:stylesheet|icon|\w*-?prefetch|preconnect|(?:module)?preload))
        [^>]*?\bhref=["']?(?P<link>(?:https?:)?//[^"'\s>]+)
      | (?:url\(|@import\s+)["']?(?P<style>(?:https?:)?//[^"')\s]+)""",
    re.I | re.X,
)
_COMMENT = re.compile(r"<!--.*?-->|/\*.*?\*/", re.S)


def addresses_in(text: str) -> list[str]:
    """Foreign addresses of scripts, pictures, style sheets and fonts.

    >>> addresses_in('<a href="https://a.example">a</a> <img src="https://b.example/x.png">')
    ['https://b.example/x.png']
    """
    found = _FETCHED.finditer(_COMMENT.sub("", text))
    return [next(filter(None, one.groups())) for one in found]


def foreign_addresses(folder: Path) -> list[str]:
    """`file: address` of every page, style sheet and picture under the folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in (".html", ".css", ".svg"))
    return [
        f"{path.relative_to(folder)}: {address}"
        for path in files
        for address in addresses_in(path.read_text("utf-8"))
    ]
