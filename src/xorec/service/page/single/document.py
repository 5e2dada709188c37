"""The HTML of one file: script, style and data inside, and a policy that allows nothing else.

Its script is one plain script made of ES modules: a file has nothing to import from.
"""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from xorec.core.errors import OptionError
from xorec.service.page.files import static_files

_ENTRY = "single/main.js"
_STYLES = (
    "static/css/base.css",
    "static/css/explore.css",
    "static/css/map.css",
    "single/single.css",
)
_LARGEST = 8_000_000
"""Bytes of a picture."""
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.M)
_LEFT = re.compile(r"^(?:import|export)\b.*|\bimport\(", re.M)


def document(data: dict[str, Any], title: str, picture: Path | None = None) -> str:
    """The whole page. What comes from a model is data: it stands in no script and in no markup."""
    page = files("xorec.service.page")
    script = bundle(_ENTRY, _modules(page))
    style = "".join(_text(page, name) for name in _STYLES)
    assert "</" + "script" not in script
    assert "</" + "style" not in style
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    frontier = "" if picture is None else f'<img id="frontier" alt="" src="{_inline(picture)}">\n'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<header id="head"></header>\n<main id="main" tabindex="-1">\n'
        "<noscript><p>This page needs JavaScript; all of it stands in this file.</p></noscript>\n"
        f"</main>\n{frontier}"
        f'<script type="application/json" id="data">{as_data({**data, "title": title})}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def as_data(value: Any) -> str:
    """JSON that cannot end the element it stands in: no "<", and no letter beyond ASCII.

    >>> as_data("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _modules(page: Traversable) -> dict[str, str]:
    """The scripts of the served page, and the one that puts them together here."""
    served = {f"static/{path}": content.decode() for path, content in static_files().items()}
    return {**served, _ENTRY: _text(page, _ENTRY)}


def _text(page: Traversable, name: str) -> str:
    return page.joinpath(*name.split("/")).read_text(encoding="utf-8")


def _inline(path: Path) -> str:
    """A picture as an address that holds all of it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OptionError(f"cannot read the picture {path}: {error.strerror}.") from None
    head = content[:1000].lstrip()
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        kind = "png"
    elif head.startswith(b"<svg") or (head.startswith(b"<?xml") and b"<svg" in content[:5000]):
        kind = "svg+xml"
    else:
        raise OptionError(f"{path} is neither a PNG nor an SVG picture.")
    if len(content) > _LARGEST:
        raise OptionError(
            f"{path} has {len(content):,} bytes, and {_LARGEST:,} are the most: take a smaller one."
        )
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def bundle(entry: str, files: Mapping[str, str]) -> str:
    """The module at `entry` and all that it imports, each once, in a scope of its own.

    files: text by path. Understood are `import { a, b as c } from "./x.js";` and `export` before
    const, function and class; anything else of the kind is a ValueError.

    >>> files = {"a.js": 'import { one } from "./b.js";\\none();\\n',
    ...          "b.js": "export function one() {}\\n"}
    >>> print(bundle("a.js", files))
    "use strict";
    const $b = (() => {
    function one() {}
    return { one };
    })();
    const $a = (() => {
    const { one } = $b;
    one();
    return {  };
    })();
    <BLANKLINE>
    """
    parts: dict[str, str] = {}
    _add(entry, files, parts, ())
    return '"use strict";\n' + "".join(parts.values())


def _exports(text: str) -> list[str]:
    return [found[2] for found in _EXPORT.finditer(text)]


def _add(
    path: str, files: Mapping[str, str], parts: dict[str, str], above: tuple[str, ...]
) -> None:
    if path in above:
        raise ValueError(f"{path} imports itself, by {' and '.join(above)}")
    text = files[path]

    def taken(found: re.Match[str]) -> str:
        other = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if other not in parts:
            _add(other, files, parts, (*above, path))
        wanted = [name.split(" as ")[0].strip() for name in found[1].split(",") if name.strip()]
        if missing := set(wanted) - set(_exports(files[other])):
            raise ValueError(
                f"{path} takes {', '.join(sorted(missing))} from {other}: none is there"
            )
        return f"const {{{found[1].replace(' as ', ': ')}}} = {_name(other)};\n"

    text = _IMPORT.sub(taken, text)
    names = ", ".join(_exports(text))
    text = _EXPORT.sub(r"\1", text)
    if left := _LEFT.search(text):
        raise ValueError(f"{path} has {left[0]!r}, which cannot be put into one script")
    parts[path] = f"const {_name(path)} = (() => {{\n{text}return {{ {names} }};\n}})();\n"


def _name(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path.removesuffix(".js"))
